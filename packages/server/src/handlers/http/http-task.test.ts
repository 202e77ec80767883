import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { RetryAtError, TerminalError } from "@mainspring/sdk";
import { EXECUTION_ID, invoke, NOW_MS } from "../handlers.fixture.ts";
import { httpScene } from "./http-scene.fixture.ts";
import { webhookHeaders } from "./webhook-signature.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const MIB = 1024 * 1024;

describe("http", () => {
  it("sends what the payload says, and its result is the answer", async (test) => {
    const { received, call } = await httpScene(test, (response) => {
      response.writeHead(201, { "X-Answer": "yes", "set-cookie": "session=secret" }).end("made it");
    });
    const headers = { "X-Question": "why", Authorization: "Bearer mine" };
    const {
      status,
      body,
      encoding,
      truncated,
      headers: answered,
    } = await call({ method: "PUT", headers, body: { a: [1] } }).result;
    assert.deepEqual(
      { status, body, encoding, truncated },
      { status: 201, body: "made it", encoding: "utf8", truncated: false },
    );
    assert.equal(answered["x-answer"], "yes");
    assert.equal("set-cookie" in answered, false);
    const [{ request, body: sent } = assert.fail()] = received;
    assert.deepEqual([request.method, request.url, sent], ["PUT", "/path?query=secret", '{"a":[1]}']);
    assert.equal(request.headers["content-type"], "application/json");
    assert.equal(request.headers["x-question"], "why");
    assert.equal(request.headers.authorization, "Bearer mine");
  });

  it("is a GET without a body and a POST with one; a text is sent as it is", async (test) => {
    const { received, call } = await httpScene(test, (response) => response.end());
    await call().result;
    await call({ body: "a=1", headers: { "content-type": "application/x-www-form-urlencoded" } }).result;
    await call({ body: "plain" }).result;
    await call({ body: null }).result;
    await call({ method: "DELETE" }).result;
    const seen = received.map(({ request, body }) => [request.method, body, request.headers["content-type"]]);
    assert.deepEqual(seen, [
      ["GET", "", undefined],
      ["POST", "a=1", "application/x-www-form-urlencoded"],
      ["POST", "plain", "text/plain; charset=utf-8"],
      ["POST", "null", "application/json"],
      ["DELETE", "", undefined],
    ]);
  });

  it("tells the receiver which execution it is, and which attempt", async (test) => {
    const { received, call } = await httpScene(test, (response) => response.end());
    await call().result;
    const { headers } = received[0]?.request ?? assert.fail();
    assert.equal(headers["idempotency-key"], EXECUTION_ID);
    assert.equal(headers["mainspring-fence"], `${EXECUTION_ID}:3`);
    assert.equal("webhook-signature" in headers, false);
    assert.equal("traceparent" in headers, false);
  });

  it("hands its trace on to the receiver, unless the payload names another one", async (test) => {
    const { received, task, url } = await httpScene(test, (response) => response.end());
    const traceparentOf = (span: string) => `00-4bf92f3577b34da6a3ce929d0e0e4736-${span}-01`;
    const [own, other] = [traceparentOf("00f067aa0ba902b7"), traceparentOf("00f067aa0ba902b8")];
    await invoke(task, { url }, undefined, own).result;
    await invoke(task, { url, headers: { Traceparent: other } }, undefined, own).result;
    assert.deepEqual(
      received.map(({ request }) => request.headers.traceparent),
      [own, other],
    );
  });

  it("signs what it sends where there is a secret", async (test) => {
    const { received, call } = await httpScene(test, (response) => response.end(), { webhookSecret: SECRET });
    await call({ body: { paid: "12 €" } }).result;
    const [{ request, body } = assert.fail()] = received;
    const expected = webhookHeaders([SECRET], EXECUTION_ID, NOW_MS / 1_000, body);
    for (const [name, value] of Object.entries(expected)) assert.equal(request.headers[name], value);
  });

  it("fails for good where another attempt would get the same answer", async (test) => {
    for (const status of [301, 304, 400, 401, 404, 410, 422]) {
      const { call } = await httpScene(test, (response) => response.writeHead(status).end());
      await assert.rejects(call().result, TerminalError, String(status));
    }
  });

  it("fails until the next attempt where that may help", async (test) => {
    for (const status of [408, 425, 429, 500, 503, 599]) {
      const { call } = await httpScene(test, (response) => response.writeHead(status).end("try later"));
      await assert.rejects(call().result, (error: Error) => {
        assert.equal(error instanceof TerminalError || error instanceof RetryAtError, false);
        // Path and query of a URL may be secret.
        assert.match(error.message, new RegExp(`^GET http://127[.]0[.]0[.]1:\\d+ answered ${status}: try later$`));
        return true;
      });
    }
  });

  it("comes back when the server wants it to", async (test) => {
    const { call } = await httpScene(test, (response) => response.writeHead(503, { "retry-after": "120" }).end());
    await assert.rejects(call().result, (error: Error) => {
      assert.ok(error instanceof RetryAtError);
      const advice = Object.getOwnPropertySymbols(error).map(
        (symbol) => Reflect.get(error, symbol) as { atMs: number },
      );
      assert.deepEqual(advice, [{ kind: "AT", atMs: NOW_MS + 120_000 }]);
      return true;
    });
  });

  it("lets the payload say what is asked for again", async (test) => {
    const { call } = await httpScene(test, (response, { request }) =>
      response.writeHead(Number(request.headers.want)).end(),
    );
    const isRetried = async (want: number) =>
      !(
        (await call({ retryStatuses: [404, "3xx"], headers: { want: `${want}` } }).result.catch((e) => e)) instanceof
        TerminalError
      );
    assert.deepEqual(await Promise.all([404, 302, 503, 429].map(isRetried)), [true, true, false, false]);
  });

  it("does not follow redirects", async (test) => {
    const { received, call } = await httpScene(test, (response) => {
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    await assert.rejects(call().result, /answered 307 \(redirects are not followed\)/);
    assert.equal(received.length, 1);
  });

  it("keeps as much of the answer as a result may hold, and says that there was more", async (test) => {
    const { call } = await httpScene(test, (response, { body }) => {
      if (body === "binary") response.end(Buffer.alloc(2 * MIB, 0xff));
      else response.end('"'.repeat(2 * MIB));
    });
    for (const body of ["text", "binary"]) {
      const result = await call({ body }).result;
      assert.equal(result.truncated, true);
      const sizeBytes = Buffer.byteLength(JSON.stringify(result));
      assert.ok(sizeBytes <= MIB && sizeBytes > MIB - 10, `${sizeBytes}`);
    }
  });

  it("unpacks nothing: a small answer cannot become a large one", async (test) => {
    const packed = gzipSync(Buffer.alloc(MIB));
    const { call } = await httpScene(test, (response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(packed),
    );
    const { body, encoding } = await call().result;
    assert.deepEqual([body, encoding], [packed.toString("base64"), "base64"]);
  });

  it("gives up the request when the execution is cancelled or times out", async (test) => {
    for (const cause of ["CANCELLED", "TIMED_OUT"] as const) {
      const { server, call, clock } = await httpScene(test, () => undefined);
      const { result, abort } = call();
      const [, response] = await once(server, "request");
      abort(cause);
      await assert.rejects(result, { name: "AbortError", reason: cause });
      await once(response, "close");
      assert.equal(clock.timers.size, 0);
    }
  });

  it("waits no longer than its own timeout, for the end of the answer neither", async (test) => {
    const { server, call, clock } = await httpScene(test, (response) => response.write("the first half"));
    for (const [payload, timeoutMs] of [
      [{}, 30_000],
      [{ timeoutSec: 2.5 }, 2_500],
    ] as const) {
      const { result } = call(payload);
      await once(server, "request");
      clock.fire(timeoutMs);
      await assert.rejects(result, (error: Error) => {
        assert.match(error.message, new RegExp(`no whole answer within ${timeoutMs / 1_000} s`));
        return !(error instanceof TerminalError);
      });
    }
  });

  it("says what the network said, and tries again", async (test) => {
    const { server, call } = await httpScene(test, (response) => response.destroy());
    await assert.rejects(call().result, /^Error: GET http:\/\/127[.]0[.]0[.]1:\d+ failed: other side closed/);
    await new Promise((resolve) => server.close(resolve));
    const refused = (error: Error) => /failed: .*ECONNREFUSED/.test(error.message) && !(error instanceof TerminalError);
    await assert.rejects(call().result, refused);
  });

  it("refuses for good a payload that says something else, and says what would be right", async (test) => {
    const { received, call } = await httpScene(test, (response) => response.end());
    const wrong: [object, RegExp][] = [
      [{ url: "/relative" }, /url: must be an http or https URL/],
      [{ url: "file:///etc/passwd" }, /url: must be an http or https URL/],
      [{ url: "http://[fe80::1%25eth0]/" }, /url: must be an http or https URL/],
      [{ url: "http://me:hunter2@127.0.0.1/" }, /url: must not hold a user or password/],
      [{ url: 5 }, /url: must be an http or https URL/],
      [{ method: "CONNECT" }, /method: must be one of GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE/],
      [{ method: "GET", body: "" }, /body: must not be there: GET sends none/],
      [{ headers: { "a b": "c" } }, /headers: must be an object of up to 64 header names and values/],
      [{ headers: { a: "b\r\nc: d" } }, /headers: must be .* without line breaks/],
      [{ headers: { Host: "other", "Webhook-Signature": "v1,x" } }, /headers: must not hold host, webhook-signature/],
      [{ headers: { a: "1", A: "2" } }, /headers: must hold each name once/],
      [{ timeoutSec: 0 }, /timeoutSec: must be a number of seconds from 0.001 to 3600/],
      [{ retryStatuses: [200] }, /retryStatuses: must be a list of statuses from 300 to 599/],
      [{ retries: 3 }, /retries: is no field here: the fields are url, method, headers/],
    ];
    for (const [payload, message] of wrong) {
      await assert.rejects(call(payload).result, (error: Error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /hunter2/);
        return error instanceof TerminalError;
      });
    }
    assert.equal(received.length, 0);
  });
});
