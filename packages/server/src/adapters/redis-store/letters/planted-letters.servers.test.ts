import assert from "node:assert/strict";
import type { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { type JobSample, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { NewExecutionRun } from "../../../ports/store-execution-runs.ts";
import type { JobView } from "../../../ports/store-queries.ts";
import { type PlantedBug, plantedBugs } from "../testing/planted-bug.ts";

const DAY_MS = 86_400_000;

async function dead(scene: Scene, sample: JobSample = {}): Promise<NewJob> {
  const job = await scene.submitted(sample);
  const releaseUniqueKey = job.definition.uniqueKey !== null;
  await scene.applied(job.shard, { changes: [scene.succeeded(job, { state: "DEAD", releaseUniqueKey })] });
  return job;
}

async function replayed(scene: Scene, ...jobs: NewJob[]): Promise<string[]> {
  const newIds = jobs.map(() => scene.runtime.uuid());
  const executionIds = jobs.map(({ executionId }) => executionId);
  const asked = { tenant: TENANT, action: "REPLAY" as const, executionIds, newIds, at: scene.runtime.now() };
  return (await scene.store.deadLetters.settle(asked)).map(({ outcome }) => outcome);
}

/** Job of a dead letter with an open replay, once upkeep has removed the letter. */
async function viewBehindUpkeep(scene: Scene): Promise<JobView | null> {
  const job = await dead(scene, { payload: Buffer.alloc(5_000, "x") });
  await replayed(scene, job);
  await scene.store.maintain(scene.runtime.now() + 91 * DAY_MS, { days: 1, deadDays: 90 });
  return await scene.store.queries.getJob(TENANT, job.jobId);
}

function newRun(scene: Scene, more: Partial<NewExecutionRun> = {}): NewExecutionRun {
  return {
    ...{ runId: scene.runtime.uuid(), tenant: TENANT, action: "RETRY", filter: "{}", idempotencyKey: null },
    ...{ expected: null, createdAt: scene.runtime.now(), ...more },
  };
}

const BUGS: readonly PlantedBug[] = [
  {
    title: "a dead letter is replayed twice",
    text: "if not call('ZSCORE', p .. 'f' .. letter.flow .. char(DEAD), letter.id) then return 'N' end",
    planted: "",
    story: async (scene) => {
      const job = await dead(scene);
      assert.deepEqual(await replayed(scene, job), ["SETTLED"]);
      assert.deepEqual(await replayed(scene, job), ["NOT_A_DEAD_LETTER"]);
    },
  },
  {
    title: "two replays of one call take the same unique key",
    text: "if claimed[unique] or call('HEXISTS', p .. 'u', unique) == 1 then return 'K' end",
    planted: "if call('HEXISTS', p .. 'u', unique) == 1 then return 'K' end",
    story: async (scene) => {
      const jobs = [await dead(scene, { uniqueKey: "u" }), await dead(scene, { uniqueKey: "u" })];
      assert.deepEqual(await replayed(scene, ...jobs), ["SETTLED", "KEY_HELD"]);
    },
  },
  {
    title: "a settled letter stays in the count of dead letters",
    text: "count(writes.queues, letter.flow, LETTERS, -1)",
    planted: "",
    story: async (scene) => {
      await replayed(scene, await dead(scene));
      assert.equal((await scene.store.queries.countExecutions(TENANT, 10)).deadLetters, 0);
    },
  },
  {
    title: "upkeep removes the payload of a replay with its letter",
    text: "recurring.index(p, writes, letter.job, letter.fresh, letter.record, letter.tenant)",
    planted: "",
    story: async (scene) => {
      const view = await viewBehindUpkeep(scene);
      assert.equal(view?.payload?.length, 5_000);
    },
  },
  {
    title: "a replay leaves its job without a row when upkeep removes the letter",
    text: "append(writes.values, 1, p .. 'j' .. job, letter.row)",
    planted: "",
    story: async (scene) => {
      const view = await viewBehindUpkeep(scene);
      assert.equal(view?.state, "ACTIVE");
    },
  },
  {
    title: "a run over dead letters passes its marker again after its end",
    text: "if marker ~= args[2] or finished ~= '' then return false end",
    planted: "",
    story: async (scene) => {
      const { deadLetters } = scene.store;
      await Promise.all([dead(scene, { uniqueKey: "u" }), dead(scene)]);
      await scene.submitted({ uniqueKey: "u" });
      const runId = scene.runtime.uuid();
      const createdAt = scene.runtime.now() + 1;
      await deadLetters.begin({ runId, tenant: TENANT, action: "REPLAY", filter: {}, createdAt });
      const advance = () => deadLetters.advance(runId, [scene.runtime.uuid(), scene.runtime.uuid()], createdAt);
      // Both calls read the same letters before one of them writes.
      await Promise.all([advance(), advance()]);
      assert.equal((await deadLetters.readRun(TENANT, runId))?.skipped, 1);
    },
  },
  {
    title: "two nodes take one run over executions",
    text: "if not known or sub(known, 17) ~= args[3] then return 0 end",
    planted: "if not known then return 0 end",
    story: async (scene) => {
      const { executionRuns } = scene.store;
      const run = newRun(scene);
      await executionRuns.begin(run);
      const taken = await Promise.all([1, 2].map(() => executionRuns.take(run.runId, 100, 200)));
      assert.equal(taken.filter((held) => held !== null).length, 1);
    },
  },
  {
    title: "two requests with one key begin two runs over executions",
    text: "(key ~= '' and call('HEXISTS', p .. 'eri', key) == 1)",
    planted: "false",
    story: async (scene) => {
      const { executionRuns } = scene.store;
      const begin = () => executionRuns.begin(newRun(scene, { idempotencyKey: "k" }));
      const outcomes = await Promise.all([begin(), begin()]);
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["BEGUN", "KNOWN"]);
    },
  },
];

plantedBugs("planted bugs in the functions for dead letters and runs over executions", BUGS);
