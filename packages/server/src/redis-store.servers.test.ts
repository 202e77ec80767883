import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { until, untilDone } from "./adapters/system/until.fixture.ts";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";

const LOCAL = {
  ...{ MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" },
  ...{ MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_STOP_DELAY_SEC: "0" },
};
/** Jobs of the load, and the one before which Redis is killed. */
const LOAD = 200;
const KILLED_AT = 100;

describe("a node with Redis as its store", () => {
  let redis: TestRedis;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  /** Number of attempts of the load, by payload. */
  const attempts = new Map<number, number>();
  const square = task({
    name: "square",
    run: (payload: number) => {
      attempts.set(payload, (attempts.get(payload) ?? 0) + 1);
      return { squared: payload * payload };
    },
  });
  /** Failures of the task `flaky`, by the name in its payload. */
  const failures = new Map<string, number>();
  const flaky = task({
    name: "flaky",
    run: ({ name, fails }: { name: string; fails: number }) => {
      const before = failures.get(name) ?? 0;
      if (before === fails) return before;
      failures.set(name, before + 1);
      throw new Error("not yet");
    },
  });

  before(async () => {
    redis = await startRedis({ settings: DURABLE });
    node = await startNode(loadConfig({ ...LOCAL, MAINSPRING_STORE: redis.url }));
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, slots: 50, tasks: [square, flaky], warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop({ timeoutMs: 0 });
    await node?.stop();
    await redis?.stop();
  });

  it("runs jobs now and later, tries again, gives up, and shows them", async () => {
    const now = await client.submit({ target: { handler: "square" }, payload: -7 });
    const later = await client.submit({ target: { handler: "square" }, payload: -8, delayMs: 300 });
    const retryPolicy = { maxAttempts: 3, backoff: "FIXED", initialDelayMs: 10, jitter: false } as const;
    const again = await client.submit({
      target: { handler: "flaky" },
      payload: { name: "again", fails: 1 },
      retryPolicy,
    });
    const never = await client.submit({
      target: { handler: "flaky" },
      payload: { name: "never", fails: 9 },
      retryPolicy,
    });
    const ends = await Promise.all([now, later, again, never].map((job) => ended(job.executionId)));
    // A stall of this machine may add attempts whose worker seemed lost.
    const failed = ends.map(({ attempts: all }) => all.filter(({ state }) => state === "FAILED").length);
    assert.deepEqual(failed, [0, 0, 1, 3]);
    assert.deepEqual(
      ends.map(({ state, result }) => [state, result]),
      [
        ["SUCCEEDED", { squared: 49 }],
        ["SUCCEEDED", { squared: 64 }],
        ["SUCCEEDED", 1],
        ["DEAD", null],
      ],
    );
    assert.equal((await client.getJob(later.jobId)).state, "FINISHED");
  });

  it("cancels a job that waits, and gives the answer of before to a repeated key", async () => {
    const asked = { target: { handler: "square" }, payload: -9, delayMs: 3_600_000 };
    const first = await client.submit(asked, { idempotencyKey: "once" });
    const second = await client.submit(asked, { idempotencyKey: "once" });
    assert.equal(second.executionId, first.executionId);
    await client.cancelExecution(first.executionId);
    assert.equal((await ended(first.executionId)).state, "CANCELLED");
  });

  it("runs a job by the definition that replaced the one it was submitted with, and once more on request", async () => {
    const target = { handler: "square" };
    const { jobId, executionId } = await client.submit({ target, payload: -10, delayMs: 3_600_000 });
    await client.replaceJob(jobId, { target, payload: -11 });
    assert.deepEqual((await ended(executionId)).result, { squared: 121 });
    const again = await client.retryExecution(executionId);
    assert.deepEqual((await ended(again)).result, { squared: 121 });
    assert.deepEqual((await client.getJob(jobId)).state, "FINISHED");
  });

  it("fires a recurring job before and after Redis is killed, by its present definition, and until it is deleted", async () => {
    const target = { handler: "square" };
    const { jobId } = await client.jobs.upsert("ticks", { target, everySec: 1, payload: -20 });
    const ran = async () => {
      const outcomes: string[] = [];
      for await (const { outcome } of client.jobs.ledger(jobId)) if (outcome === "RAN") outcomes.push(outcome);
      return outcomes;
    };
    const more = async (than: number) => await until(async () => ((await ran()).length > than ? await ran() : null));
    await more(1);
    await redis.kill();
    await redis.restart();
    const { length } = await untilDone(ran);
    await untilDone(() => more(length));
    await client.jobs.upsert("ticks", { target, everySec: 1, payload: -21 });
    await until(async () => (attempts.has(-21) ? true : null));
    await client.jobs.pause(jobId);
    assert.deepEqual((await ended(await client.jobs.trigger(jobId))).result, { squared: 441 });
    await client.deleteJob(jobId);
    assert.equal((await client.getJob(jobId)).state, "DELETED");
  });

  it("ends every job that it accepted, though Redis is killed in the middle of the load", async () => {
    const accepted: { payload: number; executionId: string }[] = [];
    let back: Promise<void> = Promise.resolve();
    for (let payload = 0; payload < LOAD; payload += 10) {
      if (payload === KILLED_AT) back = redis.kill().then(() => redis.restart());
      const answers = Array.from({ length: 10 }, async (_, i) => {
        const { executionId } = await client.submit({ target: { handler: "square" }, payload: payload + i });
        accepted.push({ payload: payload + i, executionId });
      });
      await Promise.allSettled(answers);
    }
    await back;
    assert.ok(accepted.length >= KILLED_AT, `${accepted.length} jobs were accepted`);
    for (const { payload, executionId } of accepted) {
      const { state, result } = await until(() => ended(executionId).catch(() => null));
      assert.deepEqual([state, result], ["SUCCEEDED", { squared: payload * payload }]);
      assert.ok((attempts.get(payload) ?? 0) >= 1);
    }
    const again = await untilDone(() => client.submit({ target: { handler: "square" }, payload: LOAD }));
    assert.equal((await ended(again.executionId)).state, "SUCCEEDED");
  });

  async function ended(executionId: string) {
    const execution = await client.getExecution(executionId, { waitSec: 30 });
    assert.ok(execution.finishedAt !== null, execution.state);
    return execution;
  }
});
