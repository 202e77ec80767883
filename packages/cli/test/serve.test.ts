import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { mainspring } from "./testing/command.ts";
import { serveOn, startServer } from "./testing/server.ts";

describe("mainspring serve", () => {
  it("prints where it is and a line to try that works, and stops when it is told to", async (t) => {
    const server = await startServer();
    t.after(() => server.stop());
    const [, body = ""] = await server.command.says(/curl .*\/v1\/jobs .*-d '(.*)'/);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.httpUrl}/v1/jobs`, { method: "POST", headers, body });
    assert.equal(answer.status, 201);
    assert.equal((await fetch(`${server.httpUrl}/docs`)).status, 200);

    server.command.signal("SIGINT");
    const { code, stderr } = await server.command.done;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    await assert.rejects(fetch(server.httpUrl));
  });

  it("refuses a second server on its data folder, and one on its port, in a sentence each", async (t) => {
    const server = await startServer();
    t.after(() => server.stop());
    const inUse = await serveOn(server.dataDir).done;
    assert.match(inUse.stderr, /^mainspring: .*in use/);
    assert.equal(inUse.code, 1);

    const port = new URL(server.httpUrl).port;
    const elsewhere = await mkdtemp(join(tmpdir(), "mainspring-cli-"));
    t.after(() => rm(elsewhere, { recursive: true }));
    const taken = await serveOn(elsewhere, { MAINSPRING_HTTP: `127.0.0.1:${port}` }).done;
    assert.match(taken.stderr, new RegExp(`^mainspring: .*127\\.0\\.0\\.1:${port}.*MAINSPRING_HTTP`));
    assert.equal(taken.code, 1);

    for (const { stderr } of [inUse, taken]) assert.doesNotMatch(stderr, /^ +at /m);
  });

  it("names the settings that are wrong", async () => {
    const { code, stderr } = await mainspring(["serve"], { env: { MAINSPRING_HTTP: "everywhere" } });
    assert.match(stderr, /^mainspring: MAINSPRING_HTTP /);
    assert.equal(code, 78);
  });
});
