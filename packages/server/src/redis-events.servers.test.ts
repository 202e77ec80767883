import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, TerminalError, task, Worker } from "@mainspring/sdk";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";
import { Receiver, SECRET } from "./webhooks.fixture.ts";

const SETTINGS = {
  ...{ MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" },
  ...{ MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_STOP_DELAY_SEC: "0", MAINSPRING_EVENTS: "api,webhook" },
  ...{ MAINSPRING_WEBHOOK_SECRET: SECRET, MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8" },
};

describe("a node with events and Redis as its store", () => {
  let redis: TestRedis;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  let receiver: Receiver;
  let isBroken = true;
  const fragile = task({
    name: "fragile",
    run: () => {
      if (isBroken) throw new TerminalError("broken");
      return "whole";
    },
  });

  before(async () => {
    [redis, receiver] = await Promise.all([startRedis({ settings: DURABLE }), new Receiver().start()]);
    node = await startNode(loadConfig({ ...SETTINGS, MAINSPRING_STORE: redis.url }));
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, slots: 4, tasks: [fragile], warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop({ timeoutMs: 0 });
    await node?.stop();
    await Promise.all([redis?.stop(), receiver?.stop()]);
  });

  it("tells the life of a job and of the replay of its dead letter, and delivers both ends", async () => {
    const onFinish = { url: `${receiver.url}/ends` };
    const { executionId, jobId } = await client.submit({ target: { handler: "fragile" }, onFinish });
    assert.equal((await client.getExecution(executionId, { waitSec: 30 })).state, "DEAD");
    isBroken = false;
    const [letter] = await client.deadLetters.replay([executionId]);
    assert.equal(letter?.outcome, "REPLAYED");
    const again = letter.newExecutionId as string;
    assert.equal((await client.getExecution(again, { waitSec: 30 })).state, "SUCCEEDED");
    await receiver.until((all) => all.length >= 2);
    assert.deepEqual(
      receiver.received.map(({ type, data }) => [type, data.executionId]).sort(),
      [
        ["JobCompleted", again],
        ["JobDeadLettered", executionId],
      ].sort(),
    );
    const asked = ["JobAssigned", "JobCreated", "JobDeadLettered", "JobFailed", "JobStarted"];
    const missing = new Set([...asked.map((kind) => `${executionId} ${kind}`), `${again} JobCreated`]);
    await until(async () => {
      const events = client.events({ after: "oldest", until: "now", jobId });
      for await (const { type, subject } of events) missing.delete(`${subject} ${type}`);
      return missing.size === 0 ? true : null;
    });
  });
});
