import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { DURABLE } from "../../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../../tools/services/start-redis.ts";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { openRedisStore } from "../redis-store.ts";

const runtime = systemRuntime();

let redis: TestRedis;
before(async () => {
  redis = await startRedis({ settings: DURABLE });
});
after(() => redis?.stop());

it("leaves the records of an execution alone whose id a further run would take", async () => {
  const address = { ...(redisAddress(redis.url) as RedisAddress), prefix: "kept" };
  const store = await openRedisStore({ address, runtime, node: runtime.uuid() });
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const job = await scene.submitted();
  const { jobId, shard } = job;
  const ended = async (executionId: string, attempt: number) => {
    const record = { executionId, name: "s", kind: "CHECKPOINT", attempt, number: 1, at: 5, data: null } as const;
    await scene.applied(shard, {
      changes: [scene.succeeded({ ...job, executionId }, { state: "DEAD" })],
      steps: [record],
    });
  };
  await ended(job.executionId, 1);
  const own = { ...scene.job({ jobId, shard }), executionId: runtime.uuid(), jobVersion: 1 };
  const again = { ...own, retryOf: job.executionId, keepsSteps: true };
  assert.deepEqual(await store.jobs.run(again), { kind: "ACCEPTED", steps: "RECORDED" });
  await ended(again.executionId, 7);
  await assert.rejects(store.jobs.run(again), /there is an execution with this id/);
  await store.maintain(runtime.now() + 2 * 3_600_000, { days: 30, deadDays: 30 });
  const records = (await store.steps.read([again.executionId])).get(again.executionId) ?? [];
  assert.deepEqual(
    records.map(({ attempt }) => attempt),
    [7],
  );
  await store.close();
});
