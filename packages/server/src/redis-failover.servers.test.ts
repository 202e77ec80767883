import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";

const LOCAL = {
  ...{ MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" },
  ...{ MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_STOP_DELAY_SEC: "0" },
};
/** Number of times that Redis is killed. */
const KILLS = Number(process.env["REDIS_KILLS"] ?? "3");
/** Jobs that are accepted before Redis is killed, and again after it has come back. */
const PER_KILL = 30;

/** Attempts of executions that handlers have begun, with the workers. */
const begun = new Map<string, string[]>();
const workers = ["first", "second"].map((name) => ({
  name,
  square: task({
    name: "square",
    run: (payload: number, { executionId, attempt }) => {
      const key = `${executionId}:${attempt}`;
      begun.set(key, [...(begun.get(key) ?? []), name]);
      return payload * payload;
    },
  }),
}));

describe("a node and workers under load whose Redis fails", () => {
  let redis: TestRedis;
  let node: RunningNode;
  let client: Client;
  const connected: Worker[] = [];
  const accepted: { payload: number; executionId: string }[] = [];

  before(async () => {
    redis = await startRedis({ settings: DURABLE });
    node = await startNode(loadConfig({ ...LOCAL, MAINSPRING_STORE: redis.url }));
    client = new Client({ url: node.httpUrl });
    for (const { name, square } of workers) {
      const worker = new Worker({ url: node.grpcAddress, name, slots: 20, tasks: [square], warn: () => undefined });
      connected.push(worker);
      await worker.start();
    }
  });
  after(async () => {
    for (const worker of connected) await worker.stop({ timeoutMs: 0 });
    await node?.stop();
    await redis?.stop();
  });

  /** Submits a job again and again, until this many more have been accepted. */
  async function load(more: number): Promise<void> {
    const enough = accepted.length + more;
    while (accepted.length < enough) {
      const payload = accepted.length;
      const submits = Array.from({ length: 5 }, () => client.submit({ target: { handler: "square" }, payload }));
      for (const answer of await Promise.allSettled(submits))
        if (answer.status === "fulfilled") accepted.push({ payload, executionId: answer.value.executionId });
    }
  }

  /** Every accepted job has succeeded once, and no attempt has begun twice. */
  async function judge(): Promise<void> {
    for (const { payload, executionId } of accepted) {
      const ended = await until(async () => {
        const execution = await client.getExecution(executionId, { waitSec: 10 }).catch(() => null);
        return execution?.finishedAt == null ? null : execution;
      });
      assert.deepEqual([ended.state, ended.result], ["SUCCEEDED", payload * payload]);
      const successes = ended.attempts.filter(({ state }) => state === "SUCCEEDED");
      assert.equal(successes.length, 1);
    }
    for (const [attempt, at] of begun) assert.equal(at.length, 1, `${attempt} began at ${at}`);
  }

  it(`ends every accepted job once, though Redis is killed ${KILLS} times`, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await load(PER_KILL);
      const during = load(PER_KILL);
      await redis.kill();
      await redis.restart();
      await during;
    }
    await judge();
  });
});
