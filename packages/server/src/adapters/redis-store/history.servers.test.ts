import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DURABLE } from "../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../tools/services/start-redis.ts";
import { birth, nodeEnds, runEnds, started } from "../../ports/conformance/runs-scene.conformance.ts";
import { Scene, TENANT } from "../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../ports/redis-address.ts";
import type { NewJob } from "../../ports/store.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { openRedisStore, type RedisStore } from "./redis-store.ts";

const runtime = systemRuntime();
const AGE = { days: 1, deadDays: 90 };
const SOON_MS = 60_000;

describe("the bound of final executions on Redis", () => {
  let redis: TestRedis;
  let stores = 0;
  let store: RedisStore;
  let scene: Scene;
  before(async () => {
    redis = await startRedis({ settings: DURABLE });
  });
  after(() => redis?.stop());

  const opened = async () => {
    const address = { ...(redisAddress(redis.url) as RedisAddress), prefix: `history-${stores++}` };
    store = await openRedisStore({ address, runtime, node: runtime.uuid() });
    scene = await Scene.open({ store, runtime, close: () => store.close() });
  };
  const trimmed = (most: number) => store.trim(runtime.now() + SOON_MS, { ...AGE, most });
  const kept = async () => (await store.figures()).historyRows;
  const left = async () => {
    const { items } = await store.queries.listExecutions(TENANT, {}, { after: null, limit: 100 });
    return items.map(({ executionId }) => executionId).sort();
  };
  const ended = async (fields: Parameters<Scene["succeeded"]>[1] = {}, job: Parameters<Scene["job"]>[0] = {}) => {
    const made = await scene.submitted(job);
    await scene.applied(made.shard, { changes: [scene.succeeded(made, fields)] });
    return made;
  };
  const idsOf = (jobs: readonly NewJob[]) => jobs.map(({ executionId }) => executionId).sort();

  it("removes the oldest beyond it with all that belongs to them, and neither open ones nor dead letters", async () => {
    await opened();
    const open = await scene.submitted();
    const dead = await ended({ state: "DEAD" });
    const jobs: NewJob[] = [];
    for (let n = 0; n < 6; n++) jobs.push(await ended({ result: Buffer.alloc(5_000) }, { labels: { a: "b" } }));
    assert.equal(await kept(), 6);
    await trimmed(6);
    assert.equal((await left()).length, 8, "as many as the bound stay");
    await trimmed(4);
    assert.deepEqual(await left(), idsOf([open, dead, ...jobs.slice(2)]));
    assert.equal(await kept(), 4);
    assert.equal(await store.queries.getJob(TENANT, (jobs[0] as NewJob).jobId), null);
    const bodies = await redis.ask("EVAL", "return #redis.call('KEYS', ARGV[1])", "0", `history-${stores - 1}:b*r*`);
    assert.equal(Number(bodies), 4, "results go with their executions");
    await trimmed(0);
    assert.deepEqual(await left(), idsOf([open, dead]));
    await store.close();
  });

  it("removes executions that ended after the bound was met, and then removes by age as before", async () => {
    await opened();
    const late = await scene.submitted();
    const jobs = [await ended(), await ended(), await ended()];
    await trimmed(1);
    assert.deepEqual(await left(), idsOf([late, ...jobs.slice(2)]));
    await scene.applied(late.shard, { changes: [scene.succeeded(late)] });
    // The hourly upkeep makes the next round look at all rows again.
    await store.maintain(runtime.now(), AGE);
    await trimmed(1);
    assert.deepEqual(await left(), idsOf(jobs.slice(2)));
    await store.maintain(runtime.now() + 2 * 86_400_000, AGE);
    assert.deepEqual([await left(), await kept()], [[], 0]);
    await store.close();
  });

  it("counts nodes of workflows, and removes a run with its nodes", async () => {
    await opened();
    const run = await started(scene);
    await scene.applied(run.shard, { changes: [nodeEnds(scene, run, 0)], births: [birth(scene, run, 2, [0])] });
    await scene.applied(run.shard, { changes: [runEnds(scene, run)] });
    const before = await kept();
    assert.ok(before >= 2, `${before} final rows`);
    const job = await ended();
    await trimmed(before);
    assert.deepEqual([await left(), await kept()], [[job.executionId], 1]);
    await store.close();
  });

  it("is kept by one node at a time", async () => {
    await opened();
    await ended();
    await redis.ask("SET", `history-${stores - 1}:hl`, "another node");
    await trimmed(0);
    assert.equal(await kept(), 1);
    await redis.ask("DEL", `history-${stores - 1}:hl`);
    await trimmed(0);
    assert.equal(await kept(), 0);
    assert.equal(await redis.ask("EXISTS", `history-${stores - 1}:hl`), "0");
    await store.close();
  });
});
