import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LongCommand, mainspring } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const KEY = "k3y-that-nobody-may-read";

describe("a server with an API key", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAINSPRING_API_KEY: KEY, MAINSPRING_LOG_LEVEL: "trace" });
  });
  after(() => server.stop());

  const run = (args: readonly string[], apiKey: string) =>
    mainspring(args, { env: { ...server.clientEnv, MAINSPRING_API_KEY: apiKey } });

  it("serves commands and workers that send it, and nobody else", async (t) => {
    const done = await run(["submit", "echo", "--payload", '"yes"', "--wait"], KEY);
    assert.match(done.stdout, /result +"yes"/);
    for (const wrong of ["", "another-key-altogether"]) {
      const { code, stdout, stderr } = await run(["submit", "echo"], wrong);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /Authorization: Bearer <key>/);
    }

    const env = { ...server.clientEnv, MAINSPRING_API_KEY: KEY };
    const worker = new LongCommand(["worker", "--pool", "extra"], env);
    t.after(() => worker.signal("SIGKILL"));
    await worker.says(/connected to/);
    worker.signal("SIGTERM");
    assert.equal((await worker.done).code, 0);
    const stranger = await run(["worker"], "another-key-altogether");
    assert.equal(stranger.code, 1);
    assert.match(stranger.stderr, /Authorization: Bearer <key>/);
  });

  it("tells whether it is well without it, and how to ask otherwise", async () => {
    for (const path of ["/healthz", "/readyz"]) assert.equal((await fetch(server.httpUrl + path)).status, 200);
    const refused = await fetch(`${server.httpUrl}/v1/jobs`);
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("www-authenticate"), "Bearer");
    assert.equal(((await refused.json()) as { type: string }).type, "/problems/unauthorized");
  });

  it("has never written it down", async () => {
    for (const authorization of [`Bearer ${KEY}`, `Basic ${KEY}`, KEY]) {
      const headers = { authorization, "content-type": "application/json" };
      const answer = await fetch(`${server.httpUrl}/v1/jobs`, { method: "POST", headers, body: `{"${KEY}` });
      assert.doesNotMatch(await answer.text(), new RegExp(KEY));
    }
    server.command.signal("SIGTERM");
    const { stdout, stderr } = await server.command.done;
    assert.match(stdout, /"level":"(trace|debug|info)"/);
    assert.doesNotMatch(stdout + stderr, new RegExp(KEY));
  });
});

describe("a server without an API key", () => {
  it("does not start where others could reach it, and says what to set", async () => {
    for (const key of ["MAINSPRING_HTTP", "MAINSPRING_GRPC"]) {
      const { code, stdout, stderr } = await mainspring(["serve"], { env: { [key]: "0.0.0.0:0" } });
      assert.deepEqual([code, stdout], [78, ""]);
      assert.match(stderr, new RegExp(`^mainspring: ${key} must be a loopback address .* MAINSPRING_API_KEY`));
    }
  });
});
