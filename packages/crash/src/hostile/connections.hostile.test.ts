import assert from "node:assert/strict";
import { once } from "node:events";
import { after, afterEach, before, describe, it, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import { Client } from "@mainspring/sdk";
import { LoopProbe } from "../../../../tools/loop-probe.ts";
import { Attacker } from "./attacker.ts";
import { FloodThread } from "./flood.ts";
import { holdsBriefly } from "./holds-briefly.ts";
import { startTarget, type Target } from "./target.ts";

const MIB = 1024 * 1024;
const PEER_MAX = 3_000;
const HOST = "HTTP/1.1\r\nHost: localhost\r\n";
const JSON_BODY = "Content-Type: application/json\r\n";
const JOB = '{"target":{"handler":"none"}}';
/** Number of the server's other connections, such as those to the store. */
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
  const serves = async (paths = [...HEALTH, "/v1/stats"]) => {
    for (const path of paths) assert.equal(await statusOf(path), 200, path);
  };
  /** Runs an attack and closes its connections, which is work for the server too. */
  const standsBriefly = (t: TestContext, attack: () => Promise<void>) => {
    const whole = async () => {
      await attack();
      await flood.end();
      await fallsTo(OWN_MAX);
    };
    return holdsBriefly(t, probe, whole);
  };
  /** Connections of the server, which runs in this thread. */
  const connections = () => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  const fallsTo = async (count: number) => {
    while (connections() > count) await flood.look();
  };

  it("serves others while one address holds silent connections, and answers health checks", (t) =>
    standsBriefly(t, async () => {
      const { open: held } = await open(PEER_MAX + 500, "");
      assert.ok(held > PEER_MAX - 1, `${held} are open`);
      // Beyond the limit, a hundred connections may wait for a health check; the rest are the server's own.
      await fallsTo(PEER_MAX + 100 + OWN_MAX);
      await serves();
    }));

  it("cuts off connections that were refused, though they never close", (t) =>
    standsBriefly(t, async () => {
      await open(1_000, `POST /v1/jobs ${HOST}${JSON_BODY}Content-Length: 2000000\r\n\r\n{`);
      await fallsTo(OWN_MAX);
      await serves();
    }));

  const BURSTS: Record<string, string> = {
    "a refused request": `POST /v1/jobs ${HOST}${JSON_BODY}Content-Length: 10\r\n\r\n{"x":1234}`,
    "a submit": `POST /v1/jobs ${HOST}${JSON_BODY}Content-Length: ${JOB.length}\r\n\r\n${JOB}`,
    "a read of the store": `GET /v1/stats ${HOST}\r\n`,
    "bytes that are no request": "\u0001\u0002\r\n\r\n",
  };
  for (const [name, text] of Object.entries(BURSTS)) {
    it(`handles thousands of connections in turns that bring ${name} at the same moment`, (t) =>
      standsBriefly(t, async () => {
        await open(PEER_MAX - 100, text, true);
        await serves(HEALTH);
      }));
  }

  const upload = `{"target":{"handler":"none"},"payload":[1${",[]".repeat(300_000)}]}`;
  const preview = '{"schedule":"0 0 29 2 */7","timezone":"America/New_York","count":1000}';
  const post = (path: string, body: string) =>
    `POST ${path} ${HOST}${JSON_BODY}Content-Length: ${body.length}\r\n\r\n${body}`;
  const CROWDS: Record<string, [count: number, text: string]> = {
    "200 bodies of a megabyte": [200, post("/v1/jobs", upload)],
    "a thousand previews of the rarest schedule": [32, post("/v1/schedules/preview", preview).repeat(32)],
    "thousands of requests for the metrics": [100, `GET /metrics ${HOST}\r\n`.repeat(32)],
    "thousands of requests for the description of the API": [100, `GET /openapi.json ${HOST}\r\n`.repeat(32)],
    "thousands of requests for paths of 5,000 parts": [100, `GET ${"/v1".repeat(5_000)} ${HOST}\r\n`.repeat(32)],
  };
  for (const [name, [count, text]] of Object.entries(CROWDS)) {
    it(`works through ${name} that come at the same moment in turns`, (t) =>
      standsBriefly(t, async () => {
        await open(count, text, true);
        await serves(HEALTH);
      }));
  }

  it("gathers the pieces of bodies that come in chunks of one byte", (t) => {
    const chunked = `POST /v1/jobs ${HOST}${JSON_BODY}Transfer-Encoding: chunked\r\n\r\n`;
    return standsBriefly(t, async () => {
      await open(10, chunked + "1\r\n \r\n".repeat(50_000), true);
      await serves(HEALTH);
    });
  });

  it("reads no further on a connection that sends thousands of requests at once", (t) =>
    standsBriefly(t, async () => {
      await open(1, "GET / HTTP/1.1\r\n\r\n".repeat(36_000), true);
      await fallsTo(OWN_MAX);
      await serves(HEALTH);
    }));

  it("takes no memory for announced bodies that do not come", (t) =>
    standsBriefly(t, async () => {
      const before = process.memoryUsage().arrayBuffers;
      await open(500, `POST /v1/jobs/batch ${HOST}${JSON_BODY}Content-Length: 33000000\r\n\r\n{`);
      assert.ok(process.memoryUsage().arrayBuffers - before < 64 * MIB);
      const body = [
        ['{"jobs":[{"target":{"handler":"none"}}', 1],
        [" ", 100_000],
        ["]}", 1],
      ] as const;
      const batch = { port: target.port, method: "POST", path: "/v1/jobs/batch", body };
      assert.equal((await attacker.send(batch)).status, 200);
      await serves();
    }));

  it("holds no more answers than a connection may wait for, where nobody reads them", async (t) => {
    const { jobId } = await client.submit({ target: { handler: "none" }, payload: "x".repeat(MIB - 64) });
    const before = process.memoryUsage().rss;
    await standsBriefly(t, async () => {
      await open(20, `GET /v1/jobs/${jobId} ${HOST}\r\n`.repeat(200));
      // Other reads wait for their turn at the store meanwhile.
      await serves(HEALTH);
    });
    const grown = process.memoryUsage().rss - before;
    t.diagnostic(`the process grew by ${Math.round(grown / MIB)} MiB`);
    assert.ok(grown < 20 * 32 * 4 * MIB, `grew by ${grown} bytes`);
  });

  it("keeps thousands of waits and streams, refuses what is beyond its bounds, and tells them the end in turns", (t) =>
    standsBriefly(t, async () => {
      const { jobId, executionId } = await client.submit({ target: { handler: "none" } });
      await open(1_500, `GET /v1/executions/${executionId}?waitSec=60 ${HOST}\r\n`, true);
      await open(1_200, `GET /v1/executions/${executionId}/events ${HOST}\r\n`, true);
      // Other reads wait for their turn at the store meanwhile.
      await serves(HEALTH);
      await client.cancelExecution(executionId);
      assert.equal((await client.waitForExecution(executionId)).state, "CANCELLED", jobId);
    }));

  it("stands a handler that says more than anybody hears", async (t) => {
    const thread = new Worker(new URL("chatty-thread.ts", import.meta.url), { workerData: target.node.grpcAddress });
    t.after(() => thread.terminate());
    await once(thread, "message");
    await standsBriefly(t, async () => {
      const { executionId } = await client.submit({ target: { handler: "chatty", pool: "chatty" } });
      await open(50, `GET /v1/executions/${executionId}/events ${HOST}\r\n`);
      assert.equal((await client.waitForExecution(executionId)).state, "SUCCEEDED");
      await serves();
    });
  });
});
