import assert from "node:assert/strict";
import { fire, planned } from "../../ports/conformance/recurring-scene.conformance.ts";
import { type Scene, TENANT } from "../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../ports/store.ts";
import type { RedisStore } from "./redis-store.ts";
import { type PlantedBug, plantedBugs } from "./testing/planted-bug.ts";

const SOON_MS = 60_000;

async function trimmed({ store, runtime }: Scene, most: number): Promise<void> {
  await (store as RedisStore).trim(runtime.now() + SOON_MS, { days: 1, deadDays: 90, most });
}

/** Trims, and asserts how many executions are left. */
async function leaves(scene: Scene, most: number, left: number): Promise<void> {
  await trimmed(scene, most);
  const { items } = await scene.store.queries.listExecutions(TENANT, {}, { after: null, limit: 100 });
  assert.equal(items.length, left);
}

/** Three jobs that have ended, whose ids have the same second. */
async function threeEnded(scene: Scene): Promise<void> {
  const time = scene.runtime.uuid().slice(0, 13);
  for (let n = 0; n < 3; n++) await ended(scene, "SUCCEEDED", { jobId: time + scene.runtime.uuid().slice(13) });
}

async function ended(
  scene: Scene,
  state: "SUCCEEDED" | "DEAD" = "SUCCEEDED",
  sample: Parameters<Scene["submitted"]>[0] = {},
): Promise<NewJob> {
  const job = await scene.submitted(sample);
  await scene.applied(job.shard, { changes: [scene.succeeded(job, { state })] });
  return job;
}

const BUGS: readonly PlantedBug[] = [
  {
    title: "executions that end are not counted",
    text: "if queue == 0 and byte(record, 2) ~= DEAD then queues.history = queues.history + by end",
    planted: "",
    story: async (scene) => {
      await threeEnded(scene);
      await leaves(scene, 1, 1);
    },
  },
  {
    title: "dead letters count as history",
    text: "if queue == 0 and byte(record, 2) ~= DEAD then",
    planted: "if queue == 0 then",
    story: async (scene) => {
      await ended(scene);
      await ended(scene, "DEAD");
      await leaves(scene, 1, 2);
    },
  },
  {
    title: "an execution that is removed stays counted",
    text: "enqueue(removal.queues, id, record, -1)",
    planted: "",
    story: async (scene) => {
      await threeEnded(scene);
      await trimmed(scene, 2);
      // The next round looks at all rows again.
      await scene.store.maintain(scene.runtime.now(), { days: 1, deadDays: 90 });
      await leaves(scene, 2, 2);
    },
  },
  {
    title: "a call removes more rows than it was asked to",
    text: "is_gone, left = true, left - 1",
    planted: "is_gone = true",
    story: async (scene) => {
      await threeEnded(scene);
      await leaves(scene, 2, 2);
    },
  },
  {
    title: "nothing tells that the execution of a planned instant is gone",
    text: "if gone_until > (call('GET', p .. 'hs') or '') then",
    planted: "if false then",
    story: async (scene) => {
      const job = await planned(scene);
      const fired = fire(scene, job);
      await scene.applied(job.shard, { plans: [fired] });
      const { id = "", scheduledAt = 0 } = fired.created[0]?.row ?? {};
      const ended = scene.succeeded({ ...scene.job({ shard: job.shard }), executionId: id });
      await scene.applied(job.shard, { changes: [ended] });
      await trimmed(scene, 0);
      const stretch = { jobId: job.jobId, since: scheduledAt, until: scheduledAt + 1 };
      const [traces] = await scene.store.queries.traces([stretch], 10);
      assert.deepEqual(traces, { fired: [], skipped: [{ from: scheduledAt, to: scheduledAt }] });
      const view = await scene.store.queries.getJob(TENANT, job.jobId);
      assert.equal(view?.historySince, scheduledAt + 1);
    },
  },
];

plantedBugs("planted bugs in the bound of final executions on Redis", BUGS);
