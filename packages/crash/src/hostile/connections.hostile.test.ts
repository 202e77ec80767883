import assert from "node:assert/strict";
import { once } from "node:events";
import { after, afterEach, before, describe, it, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import { Client } from "@mainspring/sdk";
import { Attacker } from "./attacker.ts";
import { FloodThread } from "./flood.ts";
import { HOLD_MAX_MS, LoopProbe } from "./loop-probe.ts";
import { startTarget, type Target } from "./target.ts";

const MIB = 1024 * 1024;
const PEER_MAX = 3_000;
const HOST = "HTTP/1.1\r\nHost: localhost\r\n";
/** Connections to the store, and the like. */
const OWN_MAX = 50;
const HEALTH = ["/healthz", "/readyz", "/metrics"];
const FLOODER = "127.0.0.2";

describe("connections of every kind", () => {
  let target: Target;
  let probe: LoopProbe;
  let client: Client;
  const attacker = new Attacker();
  const flood = new FloodThread();
  before(async () => {
    target = await startTarget({ MAINSPRING_HTTP_PEER_CONNECTIONS: String(PEER_MAX) });
    client = new Client({ url: target.node.httpUrl });
    await client.submit({ target: { handler: "echo" } });
    probe = new LoopProbe();
  });
  afterEach(async () => {
    await flood.end();
    await fallsTo(OWN_MAX);
  });
  after(async () => {
    probe.stop();
    await Promise.all([flood.stop(), attacker.stop()]);
    await target.stop();
  });

  const open = (count: number, text: string, reads = false) =>
    flood.open({ port: target.port, from: FLOODER, count, text, reads });
  const statusOf = async (path: string) => (await attacker.send({ port: target.port, method: "GET", path })).status;
  const serves = async (t: TestContext, paths = [...HEALTH, "/v1/stats"]) => {
    for (const path of paths) assert.equal(await statusOf(path), 200, path);
    const heldMs = probe.read();
    t.diagnostic(`the event loop was held for ${heldMs.toFixed(1)} ms at most`);
    assert.ok(heldMs < HOLD_MAX_MS, `held for ${heldMs} ms`);
  };
  /** Connections of the server, whose thread this is. */
  const connections = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  const fallsTo = async (count: number) => {
    while (connections() > count) await flood.look();
  };

  it("serves others while one address holds silent connections, and answers health checks", async (t) => {
    probe.read();
    const { open: held } = await open(PEER_MAX + 500, "");
    assert.ok(held > PEER_MAX - 1, `${held} are open`);
    // Beyond the bound a hundred may wait for a health check; the rest is the server's own.
    await fallsTo(PEER_MAX + 100 + OWN_MAX);
    await serves(t);
  });

  it("cuts off connections that were refused, though they never close", async (t) => {
    probe.read();
    await open(1_000, `POST /v1/jobs ${HOST}Content-Type: application/json\r\nContent-Length: 2000000\r\n\r\n{`);
    await fallsTo(OWN_MAX);
    await serves(t);
  });

  it("takes no memory for announced bodies that do not come", async (t) => {
    const before = process.memoryUsage().arrayBuffers;
    await open(500, `POST /v1/jobs/batch ${HOST}Content-Type: application/json\r\nContent-Length: 33000000\r\n\r\n{`);
    assert.ok(process.memoryUsage().arrayBuffers - before < 64 * MIB);
    const body = [
      ['{"jobs":[{"target":{"handler":"none"}}', 1],
      [" ", 100_000],
      ["]}", 1],
    ] as const;
    const batch = { port: target.port, method: "POST", path: "/v1/jobs/batch", body };
    assert.equal((await attacker.send(batch)).status, 200);
    await serves(t);
  });

  it("holds no more answers than a connection may wait for, where nobody reads them", async (t) => {
    const { jobId } = await client.submit({ target: { handler: "none" }, payload: "x".repeat(MIB - 64) });
    probe.read();
    const before = process.memoryUsage().rss;
    await open(20, `GET /v1/jobs/${jobId} ${HOST}\r\n`.repeat(200));
    // Other reads wait for their turn at the store meanwhile.
    await serves(t, HEALTH);
    const grown = process.memoryUsage().rss - before;
    t.diagnostic(`the process grew by ${Math.round(grown / MIB)} MiB`);
    assert.ok(grown < 20 * 32 * 4 * MIB, `grew by ${grown} bytes`);
  });

  it("keeps thousands of waits and streams, and refuses what is beyond its bounds", async (t) => {
    const { executionId } = await client.submit({ target: { handler: "none" } });
    probe.read();
    await open(1_500, `GET /v1/executions/${executionId}?waitSec=60 ${HOST}\r\n`, true);
    await open(1_200, `GET /v1/executions/${executionId}/events ${HOST}\r\n`, true);
    // Other reads wait for their turn at the store meanwhile.
    await serves(t, HEALTH);
  });

  it("stands a handler that says more than anybody hears", async (t) => {
    const thread = new Worker(new URL("chatty-thread.ts", import.meta.url), { workerData: target.node.grpcAddress });
    t.after(() => thread.terminate());
    await once(thread, "message");
    const { executionId } = await client.submit({ target: { handler: "chatty", pool: "chatty" } });
    probe.read();
    await open(50, `GET /v1/executions/${executionId}/events ${HOST}\r\n`);
    assert.equal((await client.waitForExecution(executionId)).state, "SUCCEEDED");
    await serves(t);
  });
});
