import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { AddressPolicy } from "./address-policy.ts";
import type { Lookup } from "./guarded-connector.ts";
import { webhookPost, webhookUrlFault } from "./webhook-post.ts";

const NOW = 1_700_000_000_000;
const SECRETS = [1, 2].map((n) => `whsec_${Buffer.alloc(32, n).toString("base64")}`);

async function scene(test: TestContext, listener: RequestListener, lookup?: Lookup, allowPrivate = ["127.0.0.0/8"]) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const post = webhookPost({ runtime: { now: () => NOW }, allowPrivate, ...(lookup && { lookup }) });
  const send = (url: string, signal = new AbortController().signal) =>
    post({ url, id: "e/1/JobCompleted", body: '{"a":1}', secrets: SECRETS, signal });
  return { send, port, url: `http://127.0.0.1:${port}` };
}

describe("a webhook", () => {
  it("is one POST with a signature by each secret", async (test) => {
    const heard: Record<string, unknown>[] = [];
    const { send, url } = await scene(test, (request, response) => {
      const { method, url: path, headers } = request;
      heard.push({ method, path, type: headers["content-type"], signatures: headers["webhook-signature"] });
      response.writeHead(200).end("thanks");
    });
    assert.deepEqual(await send(`${url}/a?b=c`), { status: 200, notBefore: null, excerpt: "" });
    const [{ signatures, ...rest } = assert.fail()] = heard;
    assert.deepEqual(rest, { method: "POST", path: "/a?b=c", type: "application/json" });
    assert.match(String(signatures), /^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
  });

  it("reads a bounded part of an answer, and the time that the receiver asks for", async (test) => {
    const { send, url } = await scene(test, (_, response) => {
      response.writeHead(503, { "retry-after": "60" });
      const more = () => {
        while (response.write("no\n".repeat(10_000)));
        response.once("drain", more);
      };
      more();
    });
    const { status, notBefore, excerpt } = await send(url);
    assert.deepEqual(
      [status, notBefore, excerpt.length <= 256, excerpt.startsWith("no no")],
      [503, NOW + 60_000, true, true],
    );
  });

  it("goes to no address that the policy refuses, whatever the name was a moment before", async (test) => {
    let address = "127.0.0.1";
    const lookup: Lookup = (_host, _options, done) => done(null, [{ address, family: 4 }]);
    const { send, port } = await scene(test, (_, response) => response.end(), lookup);
    assert.equal((await send(`http://hooks.example:${port}/`)).status, 200);
    address = "10.0.0.1";
    await assert.rejects(
      send(`http://other.example:${port}/`),
      /other.example is 10.0.0.1, which is a private address/,
    );
    const strict = await scene(test, (_, response) => response.end(), lookup, []);
    await assert.rejects(strict.send(strict.url), /127.0.0.1 is a loopback address/);
  });

  it("has errors without path and query, and ends when the caller gives up", async (test) => {
    const { send, url, port } = await scene(test, () => undefined);
    const stop = new AbortController();
    const sent = send(`${url}/secret`, stop.signal);
    stop.abort(new Error("too late"));
    await assert.rejects(sent, /^Error: too late$/);
    const lookup: Lookup = (_host, _options, done) => done(new Error("not found"), []);
    const lost = await scene(test, () => undefined, lookup);
    await assert.rejects(lost.send(`http://hooks.example:${port}/secret`), (error) => {
      assert.ok(error instanceof Error);
      return error.message.startsWith("no answer: ") && !error.message.includes("secret");
    });
  });
});

describe("the URL of a webhook", () => {
  const policy = new AddressPolicy([]);
  const local = new AddressPolicy(["127.0.0.0/8"]);

  it("is refused where it can never be allowed", () => {
    for (const url of ["https://hooks.example/", "http://8.8.8.8/x", "http://[2606:4700::1111]/"])
      assert.equal(webhookUrlFault(url, policy), null, url);
    for (const url of [
      ...["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://localhost/", "http://a.localhost:80/"],
      ...["http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://10.1.2.3/", "http://169.254.169.254/"],
    ])
      assert.match(webhookUrlFault(url, policy) ?? "", /^must not lead to a \w+ address/, url);
    for (const url of ["", "hooks.example", "file:///etc/passwd", "javascript:1"])
      assert.equal(webhookUrlFault(url, policy), "must be an http or https URL", url);
    assert.equal(webhookUrlFault("https://user@hooks.example/", policy), "must not hold a user or password");
  });

  it("is allowed where a setting says so", () => {
    for (const url of ["http://127.0.0.1:8090/", "http://localhost/"]) assert.equal(webhookUrlFault(url, local), null);
    assert.notEqual(webhookUrlFault("http://10.0.0.1/", local), null);
  });
});
