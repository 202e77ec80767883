import assert from "node:assert/strict";
import { fire, occurrence, planned, recurrenceOf } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { ALL_SHARDS, applied, type Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob, NewRecurringJob } from "../../../ports/store.ts";
import type { NewRun } from "../../../ports/store-jobs.ts";
import { type PlantedBug, plantedBugs } from "../testing/planted-bug.ts";

const DAY_MS = 86_400_000;
const RETENTION = { days: 30, deadDays: 90 };

const BUGS: readonly PlantedBug[] = [
  {
    title: "a commit does not compare the revision of a plan",
    text: "if rows[n] and sub(rows[n], 1, 4) == plan.was then",
    planted: "if rows[n] then",
    story: async (scene) => {
      const job = await planned(scene);
      await scene.applied(job.shard, { plans: [fire(scene, job)] });
      const again = scene.tick(job.shard, { plans: [fire(scene, job)] });
      assert.deepEqual(await scene.store.commit([again]), [{ ...applied(job.shard), missedPlans: [job.jobId] }]);
    },
  },
  {
    title: "two plans of one commit claim the same unique key",
    text: "and (writes.claimed[unique] or (not freed[unique]",
    planted: "and (false or (not freed[unique]",
    story: async (scene) => {
      const jobs = [
        await planned(scene, { uniqueKey: "u", shard: 1 }),
        await planned(scene, { uniqueKey: "u", shard: 1 }),
      ];
      const [outcome] = await scene.store.commit([scene.tick(1, { plans: jobs.map((job) => fire(scene, job)) })]);
      assert.equal(outcome?.notCreated.length, 1);
    },
  },
  {
    title: "an occurrence does not get the unique key that its commit frees",
    text: "or (not freed[unique] and",
    planted: "or (true and",
    story: async (scene) => {
      const job = await planned(scene, { uniqueKey: "u" });
      const first = fire(scene, job);
      await scene.applied(job.shard, { plans: [first] });
      const ended = scene.succeeded(ofJob(scene, job, first.created[0]?.row.id), { releaseUniqueKey: true });
      const next = { wasRevision: 2, revision: 3, created: [occurrence(scene, job, 9)] };
      await scene.applied(job.shard, { changes: [ended], plans: [fire(scene, job, next)] });
    },
  },
  {
    title: "a range of skipped instants that is told again is kept twice",
    text: "if not there or sub(there, 1, 6) ~= from then append",
    planted: "if true then append",
    story: async (scene) => {
      const job = await planned(scene);
      const told = (count: number) => [{ from: 1, to: 9, count, reason: "PAUSED" as const }];
      await scene.applied(job.shard, { plans: [fire(scene, job, { created: [], skips: told(200) })] });
      const again = { created: [], skips: told(201), wasRevision: 2, revision: 3 };
      await scene.applied(job.shard, { plans: [fire(scene, job, again)] });
      const { items } = await scene.store.queries.ledger(TENANT, job.jobId, 0, 99, { after: null, limit: 9 });
      assert.deepEqual(items, [{ plannedAt: 1, skipped: { until: 9, count: 200, reason: "PAUSED" } }]);
    },
  },
  {
    title: "a plan stays in the flow of its former pool",
    text: "return sub(plan, 1, 5) .. change .. sub(plan, 10)",
    planted: "return plan",
    story: async (scene) => {
      const job = await planned(scene, { pool: "a" });
      const { tenant, jobId, definition, payload, createdAt: at } = job;
      const asked = { tenant, jobId, definition: { ...definition, pool: "b" }, payload, ifVersion: null };
      await scene.store.jobs.replace({ ...asked, commandId: scene.runtime.uuid(), at });
      const flows = await scene.store.recurrences.dueFlows(job.firstFireAt, null, 9);
      assert.deepEqual(flows, [{ tenant, pool: "b" }]);
    },
  },
  {
    title: "an execution that has ended stays open",
    text: "if byte(after, 7) == 0 then recurring.close(p, freed, row.id, after) end",
    planted: "",
    story: async (scene) => {
      const job = await planned(scene);
      const first = await ran(scene, job);
      await scene.applied(job.shard, { changes: [scene.succeeded(ofJob(scene, job, first.executionId))] });
      assert.deepEqual(await scene.store.jobs.run(again(scene, job, first.executionId)), { kind: "ACCEPTED" });
    },
  },
  {
    title: "two runs of a job that runs once begin at the same time",
    text: "if recurring.is_busy(p, job, again) then return STALE end",
    planted: "",
    story: async (scene) => {
      const job = await scene.submitted();
      await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
      const first = again(scene, job, job.executionId);
      assert.deepEqual(await scene.store.jobs.run(first), { kind: "ACCEPTED" });
      await scene.applied(job.shard, { changes: [scene.succeeded(ofJob(scene, job, first.executionId))] });
      const runs = [0, 1].map(() => scene.store.jobs.run(again(scene, job, job.executionId)));
      assert.deepEqual((await Promise.all(runs)).map(({ kind }) => kind).sort(), ["ACCEPTED", "NOT_FINAL"]);
    },
  },
  {
    title: "two puts of a name make a job each",
    text: "if call('ZCARD', index) ~= tonumber(args[2]) or newest ~= args[3] then return STALE end",
    planted: "",
    story: async (scene) => {
      const put = () => scene.store.jobs.putNamed({ job: scene.job({ name: "n" }), commandId: scene.runtime.uuid() });
      const outcomes = await Promise.all([put(), put()]);
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["CREATED", "UNCHANGED"]);
    },
  },
  {
    title: "upkeep removes a job with its first execution",
    text: "if is_gone and not (has_later and call('EXISTS', p .. 'lm' .. jobs[n]) == 1) then",
    planted: "if is_gone then",
    story: async (scene) => {
      const job = await scene.submitted({ name: "n" });
      const { store, runtime } = scene;
      await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
      assert.deepEqual(await store.jobs.run(again(scene, job, job.executionId)), { kind: "ACCEPTED" });
      await store.maintain(runtime.now() + 40 * DAY_MS, RETENTION);
      const view = await store.queries.getJob(TENANT, job.jobId);
      assert.deepEqual([view?.name, view?.state, view?.latestExecutions.length], ["n", "ACTIVE", 1]);
    },
  },
  {
    title: "upkeep leaves an execution that it removes in the index of its job",
    text: "recurring.unlink(p, ids[n], record)",
    planted: "",
    story: async (scene) => {
      const job = await planned(scene);
      const { store, runtime } = scene;
      const first = await ran(scene, job);
      await scene.applied(job.shard, { changes: [scene.succeeded(ofJob(scene, job, first.executionId))] });
      const asked = { tenant: TENANT, jobId: job.jobId, cancelRunning: false, commandId: () => runtime.uuid() };
      const deleted = await store.jobs.delete({ ...asked, at: runtime.now() });
      const commandsDone = deleted.kind === "DELETED" ? deleted.commands.map(({ id }) => id) : [];
      await scene.applied(job.shard, { commandsDone });
      await store.maintain(runtime.now() + 40 * DAY_MS, RETENTION);
      assert.deepEqual(await store.recurrences.load([job.jobId]), []);
    },
  },
  {
    title: "a plan stays among those of its former time zone data",
    text: "list(p .. 'pz' .. shard .. ':' .. zone, job)",
    planted: "if by == 1 then list(p .. 'pz' .. shard .. ':' .. zone, job) end",
    story: async (scene) => {
      const job = await planned(scene);
      const { plan } = await recurrenceOf(scene, job);
      const moved = fire(scene, job, { created: [], plan: { ...plan, tzdata: "2026z" } });
      await scene.applied(job.shard, { plans: [moved] });
      assert.deepEqual(await scene.store.recurrences.readOtherZones(ALL_SHARDS, "2026z", null, 9), []);
    },
  },
];

/** An execution of a job, for changes by its owner. */
function ofJob(scene: Scene, job: NewJob | NewRecurringJob, executionId: string | undefined): NewJob {
  assert.ok(executionId);
  return { ...scene.job({ ...job.definition, shard: job.shard }), executionId };
}

function again(scene: Scene, job: NewJob | NewRecurringJob, retryOf: string | null): NewRun {
  const { jobId, shard, definition } = job;
  const executionId = scene.runtime.uuid();
  return { ...scene.job({ ...definition, jobId, executionId, shard }), retryOf, jobVersion: 1 };
}

/** Triggers a recurring job. */
async function ran(scene: Scene, job: NewRecurringJob): Promise<NewRun> {
  const run = again(scene, job, null);
  assert.deepEqual(await scene.store.jobs.run(run), { kind: "ACCEPTED" });
  return run;
}

plantedBugs("planted bugs in the functions for recurring jobs and changes of jobs", BUGS);
