import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { type EmbeddedPostgres, startEmbedded, systemRuntime, until } from "@mainspring/server/testing";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { LongCommand, mainspring } from "./testing/command.ts";
import { FREE, startServer } from "./testing/server.ts";
import { ServerProcess } from "./testing/server-process.ts";

const log = { info: () => {}, warn: () => {}, error: () => {} };
const settings = { MAINSPRING_STOP_DELAY_SEC: "0" };
/** Jobs that make the copy take a while. */
const MANY = 1_000;
/** Pool of all jobs, which is paused before the move. */
const POOL = "default";

describe("mainspring migrate between PostgreSQL and Redis", () => {
  let folder: string;
  let redis: TestRedis;
  let postgres: EmbeddedPostgres;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-back-"));
    redis = await startRedis({ settings: DURABLE });
    postgres = await startEmbedded({ dataDir: join(folder, "data"), runtime: systemRuntime(), log });
  });
  after(async () => {
    await postgres?.stop();
    await redis?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("brings what a killed server left to Redis, also if it is killed itself, and back", async (t) => {
    const from = await startServer(settings);
    t.after(() => from.command.signal("SIGKILL"));
    const client = new Client({ url: from.httpUrl });
    const echo = { target: { handler: "echo" }, payload: 1 };
    const done = await client.submit(echo);
    await client.getExecution(done.executionId, { waitSec: 30 });
    const running = await client.submit({ target: { handler: "sleep" }, payload: { ms: 4_000 } });
    const later = await client.submit({ ...echo, delayMs: 3_600_000, uniqueKey: "once" });
    await until(async () => (await client.getExecution(running.executionId)).state === "RUNNING");
    await client.pools.pause(POOL);
    await client.submitBatch(Array.from({ length: MANY }, () => echo));
    const { jobId } = await client.jobs.upsert("ticks", { ...echo, everySec: 2 });
    from.command.signal("SIGKILL");
    await from.command.done;

    const to = `${redis.url}?prefix=moved`;
    const env = { MAINSPRING_DATA_DIR: from.dataDir };
    const killed = new LongCommand(["migrate", "--to", to], env);
    // Jobs are there, and executions come behind them.
    await until(async () => killed.hasEnded || (await redis.ask("EXISTS", "moved:xt")) === "1");
    killed.signal("SIGKILL");
    assert.notEqual((await killed.done).code, 0);
    await refused({ MAINSPRING_STORE: to }, /is being filled from/);
    const moved = await mainspring(["migrate", "--to", to], { env });
    assert.deepEqual([moved.stderr, moved.code], ["", 0]);
    assert.match(moved.stdout, /executions PENDING +10\d\d\n/);
    await refused(env, /was moved to Redis at/);

    const server = new ServerProcess({ ...settings, MAINSPRING_STORE: to });
    t.after(() => server.end("SIGKILL"));
    await server.start();
    const there = new Client({ url: server.httpUrl });
    assert.equal((await there.getExecution(done.executionId)).state, "SUCCEEDED");
    await there.pools.resume(POOL);
    assert.equal((await there.getExecution(running.executionId, { waitSec: 60 })).state, "SUCCEEDED");
    const [once, again] = ["SUCCEEDED in attempt 1", "SUCCEEDED in attempt 2"];
    const ends = { [once]: MANY + 1, [again]: 1, "PENDING in attempt 0": 1 };
    await until(async () => (await endsOf(there, jobId))[once] === MANY + 1);
    const startedAt = systemRuntime().now();
    await until(async () => {
      for await (const { scheduledAt } of there.listExecutions({ jobId, state: "SUCCEEDED" }))
        if (Date.parse(scheduledAt) > startedAt) return true;
      return false;
    });
    assert.equal((await there.submit({ ...echo, uniqueKey: "once" })).executionId, later.executionId);
    await server.end("SIGTERM");

    const { host, port, user, database } = postgres.connection;
    const back = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
    const returned = await mainspring(["migrate", "--from", to, "--to", back, "--without", "idempotencyKeys"], { env });
    assert.deepEqual([returned.stderr, returned.code], ["", 0]);
    await refused({ MAINSPRING_STORE: to }, /was moved to PostgreSQL at/);
    const last = new ServerProcess({ ...settings, MAINSPRING_STORE: back });
    t.after(() => last.end("SIGKILL"));
    await last.start();
    const home = new Client({ url: last.httpUrl });
    assert.deepEqual(await endsOf(home, jobId), ends);
    assert.equal((await home.getExecution(later.executionId)).state, "PENDING");
    assert.equal((await home.getExecution((await home.submit(echo)).executionId, { waitSec: 30 })).state, "SUCCEEDED");
    const undone = await mainspring(["migrate", "--undo", "--from", to]);
    assert.match(undone.stdout, /^Servers can open the store again/);
  });
});

/** Starts a server on a store that no server may open. */
async function refused(env: Record<string, string>, reason: RegExp): Promise<void> {
  const { code, stderr } = await mainspring(["serve"], { env: { ...FREE, ...settings, ...env } });
  assert.match(stderr, reason);
  assert.equal(code, 78);
}

/** Numbers of executions by state and attempt, apart from those of a job. */
async function endsOf(client: Client, without: string): Promise<Record<string, number>> {
  const ids = new Set<string>();
  const ends: Record<string, number> = {};
  for await (const { executionId, jobId, state, attempt } of client.listExecutions({ limit: 1_000 })) {
    assert.ok(!ids.has(executionId), `${executionId} is listed once`);
    ids.add(executionId);
    const end = `${state} in attempt ${attempt}`;
    if (jobId !== without) ends[end] = (ends[end] ?? 0) + 1;
  }
  return ends;
}
