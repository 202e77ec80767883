import assert from "node:assert/strict";
import { it } from "node:test";
import type { JobState, JobType } from "../../domain/job.ts";
import type { Plan } from "../../domain/recurrence.ts";
import type { NewRecurringJob } from "../store.ts";
import type { PlanCommand } from "../store-commands.ts";
import type { JobReplacement, NewRun } from "../store-jobs.ts";
import {
  fire,
  firstPlan,
  HOURLY,
  NIGHTLY,
  occurrence,
  planned,
  recurrenceOf,
  recurring,
} from "./recurring-scene.conformance.ts";
import { ALL_SHARDS, applied, type JobSample, type Scene, TENANT } from "./store-scene.conformance.ts";

/** Changes and reads of recurring jobs by the api. */
export function recurringJobsConformance(scene: () => Scene): void {
  it("replaces a recurring job and asks its owner to look, and leaves executions and plan alone", async () => {
    const { jobs, queries, payloads } = scene().store;
    const job = await planned(scene(), { payload: Buffer.from("1") });
    const first = await fired(scene(), job);
    const asked = replacement(scene(), job, { recurrence: HOURLY, handler: "other" });
    const former = { version: 1, rule: NIGHTLY, until: asked.at };
    const command = { ...look(asked.commandId, job), order: { kind: "LOOK" as const, former } };
    assert.deepEqual(await jobs.replace(asked), { kind: "REPLACED", version: 2, command });
    assert.deepEqual(await scene().store.readCommands([job.shard], new Set(), 10), [command]);
    const found = await recurrenceOf(scene(), job);
    assert.deepEqual([found.version, found.definition, found.payloadBytes], [2, asked.definition, 3]);
    assert.deepEqual([found.revision, found.plan], [2, first.plan]);
    const view = await queries.getJob(TENANT, job.jobId);
    assert.deepEqual([view?.type, view?.version, view?.plan?.version], ["INTERVAL", 2, 1]);
    const [id] = idsOf(first) as [string];
    assert.deepEqual((await payloads([id])).get(id), Buffer.from("1"));
    assert.equal((await jobs.replace(asked)).kind, "UNCHANGED");
    assert.equal((await scene().store.readCommands([job.shard], new Set(), 10)).length, 1);
  });

  it("keeps the payload of a version for as long as the plan may fire by it", async () => {
    const job = await planned(scene(), { payload: Buffer.from("1") });
    const asked = replacement(scene(), job, {});
    await scene().store.jobs.replace(asked);
    await scene().applied(job.shard, { commandsDone: [asked.commandId] });
    await scene().store.maintain(scene().runtime.now(), { days: 30, deadDays: 90 });
    const [id] = idsOf(await fired(scene(), job)) as [string];
    assert.deepEqual((await scene().store.payloads([id])).get(id), Buffer.from("1"));
  });

  it("changes nothing of a recurring job where it says no", async () => {
    const { jobs } = scene().store;
    const [job, other] = [await planned(scene(), { name: "a", uniqueKey: "u" }), await planned(scene(), { name: "b" })];
    const once = await scene().submitted();
    const no = (sample: JobSample, more: Partial<JobReplacement> = {}) => {
      return jobs.replace({ ...replacement(scene(), job, sample), ...more });
    };
    assert.deepEqual(await no({ recurrence: null }), { kind: "OTHER_TYPE", isRecurring: true });
    assert.deepEqual(await no({}, { jobId: once.jobId }), { kind: "OTHER_TYPE", isRecurring: false });
    assert.deepEqual(await no({ name: "b" }), { kind: "NAME_HELD", jobId: other.jobId });
    assert.deepEqual(await no({ uniqueKey: null }), { kind: "KEY_DIFFERS", key: "uniqueKey", value: "u" });
    assert.deepEqual(await no({}, { ifVersion: 7 }), { kind: "OTHER_VERSION", version: 1 });
    await ended(scene(), job);
    assert.deepEqual(await no({ handler: "other" }), { kind: "WRONG_STATE", state: "FINISHED" });
    // A program that repeats the same put at every start gets no error.
    assert.equal((await no({}, { payload: null })).kind, "UNCHANGED");
    await jobs.delete(deletion(scene(), job));
    assert.deepEqual(await no({}), { kind: "WRONG_STATE", state: "DELETED" });
    assert.equal((await recurrenceOf(scene(), job)).version, 1);
  });

  it("gives a name up when the job takes another, or none, or is deleted", async () => {
    const { jobs } = scene().store;
    const job = await planned(scene(), { name: "a" });
    await jobs.replace(replacement(scene(), job, { name: "b" }));
    const second = await planned(scene(), { name: "a" });
    assert.equal((await jobs.replace(replacement(scene(), second, { name: "b" }))).kind, "NAME_HELD");
    await jobs.replace(replacement(scene(), job, { name: null }));
    const third = await planned(scene(), { name: "b" });
    for (const gone of [second, third]) await jobs.delete(deletion(scene(), gone));
    await planned(scene(), { name: "a" });
    await planned(scene(), { name: "b" });
  });

  it("puts a recurring job by name: makes it, finds it unchanged, replaces it, also while it is paused", async () => {
    const put = (sample: JobSample = {}) => {
      const job = recurring(scene(), { name: "nightly", ...sample });
      return scene()
        .store.jobs.putNamed({ job, commandId: scene().runtime.uuid() })
        .then((outcome) => ({ job, outcome }));
    };
    const first = await put();
    assert.deepEqual(first.outcome, { kind: "CREATED" });
    assert.equal((await put()).outcome.kind, "UNCHANGED");
    const second = await put({ recurrence: HOURLY });
    assert.equal(second.outcome.kind === "REPLACED" && second.outcome.command.kind, "PLAN");
    assert.equal((await recurrenceOf(scene(), first.job)).version, 2);
    await move(scene(), first.job, { state: "PAUSED" });
    assert.equal((await put({ recurrence: NIGHTLY })).outcome.kind, "REPLACED");
    await move(scene(), first.job, { state: "FINISHED", nextFireAt: null }, 2);
    assert.equal((await put({ recurrence: NIGHTLY })).outcome.kind, "UNCHANGED");
    assert.deepEqual((await put()).outcome, { kind: "UNCHANGED", ...(await unchanged(scene(), first.job)) });
    assert.deepEqual((await put({ handler: "x" })).outcome, { kind: "WRONG_STATE", state: "FINISHED" });
    await scene().store.jobs.delete(deletion(scene(), first.job));
    assert.deepEqual((await put()).outcome, { kind: "CREATED" });
  });

  it("lets one of several puts of a name make the job", async () => {
    const puts = await Promise.all(
      [1, 2, 3, 4].map(() => {
        const job = recurring(scene(), { name: "n" });
        return scene().store.jobs.putNamed({ job, commandId: scene().runtime.uuid() });
      }),
    );
    assert.deepEqual(puts.map(({ kind }) => kind).sort(), ["CREATED", "UNCHANGED", "UNCHANGED", "UNCHANGED"]);
  });

  it("puts nothing over a job of the other type", async () => {
    const { jobs } = scene().store;
    const [once, again] = [await scene().submitted({ name: "o" }), await planned(scene(), { name: "r" })];
    const commandId = scene().runtime.uuid();
    assert.deepEqual(await jobs.putNamed({ job: recurring(scene(), { name: "o" }), commandId }), {
      ...{ kind: "OTHER_TYPE", isRecurring: false },
    });
    assert.deepEqual(await jobs.putNamed({ job: scene().job({ name: "r" }), commandId }), {
      ...{ kind: "OTHER_TYPE", isRecurring: true },
    });
    assert.equal((await scene().store.queries.getJob(TENANT, once.jobId))?.version, 1);
    assert.equal((await recurrenceOf(scene(), again)).version, 1);
  });

  it("ends the plan of a job that is deleted, and tells of the executions that are open", async () => {
    const job = await planned(scene());
    const open = idsOf(await fired(scene(), job));
    const { store, runtime } = scene();
    const outcome = await store.jobs.delete({ ...deletion(scene(), job), cancelRunning: false });
    assert.ok(outcome.kind === "DELETED");
    const kinds = outcome.commands.map((command) => [command.kind, "executionIds" in command && command.executionIds]);
    assert.deepEqual(kinds, [
      ["DELETE", open],
      ["PLAN", false],
    ]);
    assert.deepEqual(await store.readCommands([job.shard], new Set(), 10), outcome.commands);
    const { revision, plan } = await recurrenceOf(scene(), job);
    assert.deepEqual(
      [revision, plan.state, plan.nextFireAt, plan.bufferedAt, plan.catchUps],
      [3, "DELETED", null, null, []],
    );
    assert.deepEqual(await store.recurrences.readDue(ALL_SHARDS, Number.MAX_SAFE_INTEGER, 10), []);
    assert.equal((await store.queries.getJob(TENANT, job.jobId))?.state, "DELETED");
    const again = await store.jobs.delete({ ...deletion(scene(), job), cancelRunning: false, at: runtime.now() + 9 });
    assert.deepEqual(again.kind === "DELETED" && again.commands.map(({ kind }) => kind), ["DELETE"]);
    assert.equal((await recurrenceOf(scene(), job)).revision, 3);
  });

  it("lets a fire that is on its way miss the deleted job, or else tells of what it made", async () => {
    for (let round = 0; round < 8; round++) {
      const job = await planned(scene());
      const change = fire(scene(), job);
      const [id] = idsOf(change) as [string];
      const commit = () => scene().store.commit([scene().tick(job.shard, { plans: [change] })]);
      const remove = () => scene().store.jobs.delete(deletion(scene(), job));
      const [a, b] = round % 2 === 0 ? [commit(), remove()] : [remove(), commit()];
      const [outcome, deleted] = (round % 2 === 0 ? [await a, await b] : [await b, await a]) as [
        Awaited<ReturnType<typeof commit>>,
        Awaited<ReturnType<typeof remove>>,
      ];
      const isMissed = outcome[0]?.missedPlans.includes(job.jobId) === true;
      const told =
        deleted.kind === "DELETED" && deleted.commands.some((c) => c.kind === "CANCEL" && c.executionId === id);
      assert.equal(isMissed, !told);
      assert.equal((await scene().store.load([id])).length, isMissed ? 0 : 1);
    }
  });

  it("takes orders for the plan, unless it has come to its end", async () => {
    const { jobs, readCommands } = scene().store;
    const job = await planned(scene());
    const orders: PlanCommand["order"][] = [
      { kind: "PAUSE", at: 1 },
      { kind: "RESUME", at: 2, catchUp: true },
      { kind: "BACKFILL", since: 3, until: 4, limit: 5 },
    ];
    const commands = orders.map((order) => ({ ...look(scene().runtime.uuid(), job), order }));
    for (const command of commands) assert.deepEqual(await jobs.order(TENANT, command), { kind: "TAKEN" });
    await jobs.order(TENANT, commands[0] as PlanCommand);
    assert.deepEqual(await readCommands(ALL_SHARDS, new Set(), 10), commands);
    assert.deepEqual((await scene().store.recover([job.shard])).commands, commands);
    const command = look(scene().runtime.uuid(), job);
    const once = await scene().submitted();
    assert.deepEqual(await jobs.order("acme", command), { kind: "NOT_FOUND" });
    assert.deepEqual(await jobs.order(TENANT, { ...command, jobId: once.jobId }), { kind: "NOT_RECURRING" });
    await ended(scene(), job);
    assert.deepEqual(await jobs.order(TENANT, command), { kind: "WRONG_STATE", state: "FINISHED" });
    await jobs.delete(deletion(scene(), job));
    assert.deepEqual(await jobs.order(TENANT, command), { kind: "WRONG_STATE", state: "DELETED" });
  });

  it("runs a recurring job out of turn, and repeats an execution of it that has ended", async () => {
    const { jobs, queries } = scene().store;
    const job = await planned(scene(), { uniqueKey: "u", shard: 3 });
    const trigger = () => run(scene(), job, null);
    const first = trigger();
    assert.deepEqual(await jobs.run(first), { kind: "ACCEPTED" });
    assert.equal((await queries.getExecution(TENANT, first.executionId))?.trigger, "MANUAL");
    assert.deepEqual(await jobs.run(trigger()), { kind: "KEY_HELD", executionId: first.executionId });
    const again = run(scene(), job, first.executionId);
    assert.deepEqual(await jobs.run(again), { kind: "NOT_FINAL", executionId: first.executionId });
    const row = { ...scene().job({ ...job.definition, shard: 3 }), executionId: first.executionId };
    await scene().applied(3, { changes: [scene().succeeded(row, { releaseUniqueKey: true })] });
    assert.deepEqual(await jobs.run({ ...again, jobVersion: 2 }), { kind: "OTHER_VERSION", version: 1 });
    assert.deepEqual(await jobs.run(again), { kind: "ACCEPTED" });
    const view = await queries.getExecution(TENANT, again.executionId);
    assert.deepEqual([view?.trigger, view?.retryOf, view?.jobId], ["RETRY", first.executionId, job.jobId]);
    assert.deepEqual(await jobs.run({ ...again, retryOf: scene().runtime.uuid() }), { kind: "NOT_FOUND" });
    // Neither execution belongs to a planned instant.
    assert.deepEqual(await scene().store.recurrences.firedInstants(job.jobId, 0, Number.MAX_SAFE_INTEGER), []);
    await jobs.delete(deletion(scene(), job));
    assert.deepEqual(await jobs.run(trigger()), { kind: "DELETED" });
  });

  it("keeps a recurring job for as long as it is not deleted, and then for as long as what it did", async () => {
    const { store, runtime } = scene();
    const [job, idle] = [await planned(scene()), await planned(scene())];
    const skips = [{ from: 1, to: 2, count: 2, reason: "PAUSED" as const }];
    const change = fire(scene(), job, { skips });
    const [id] = idsOf(change) as [string];
    await scene().applied(job.shard, { plans: [change] });
    await store.maintain(later(runtime, 400), RETENTION);
    assert.equal((await store.queries.getExecution(TENANT, id))?.state, "PENDING");
    assert.deepEqual((await store.queries.ledger("default", job.jobId, 0, 9, { after: null, limit: 9 })).items, []);
    assert.equal((await store.recurrences.load([job.jobId, idle.jobId])).length, 2);
    for (const gone of [job, idle]) {
      const outcome = await store.jobs.delete({ ...deletion(scene(), gone), at: later(runtime, 400) });
      const commandsDone = outcome.kind === "DELETED" ? outcome.commands.map((command) => command.id) : [];
      await scene().applied(gone.shard, { commandsDone });
    }
    await store.maintain(later(runtime, 429), RETENTION);
    assert.equal((await store.recurrences.load([job.jobId, idle.jobId])).length, 2);
    await store.maintain(later(runtime, 431), RETENTION);
    assert.deepEqual(
      (await store.recurrences.load([job.jobId, idle.jobId])).map(({ jobId }) => jobId),
      [job.jobId],
    );
    const row = { ...scene().job({ ...job.definition, shard: job.shard }), executionId: id };
    await scene().applied(job.shard, { changes: [scene().succeeded(row, { finishedAt: later(runtime, 431) })] });
    await store.maintain(later(runtime, 480), RETENTION);
    assert.deepEqual(await store.recurrences.load([job.jobId]), []);
    assert.equal(await store.queries.getJob(TENANT, job.jobId), null);
  });

  it("keeps a deleted recurring job for as long as a command is about it", async () => {
    const { store, runtime } = scene();
    const job = await planned(scene());
    const outcome = await store.jobs.delete(deletion(scene(), job));
    assert.ok(outcome.kind === "DELETED");
    await store.maintain(later(runtime, 40), RETENTION);
    assert.equal((await store.recurrences.load([job.jobId])).length, 1);
    await scene().applied(job.shard, { commandsDone: outcome.commands.map(({ id }) => id) });
    await store.maintain(later(runtime, 40), RETENTION);
    assert.deepEqual(await store.recurrences.load([job.jobId]), []);
  });

  it("shows the executions of a recurring job that were planned last", async () => {
    const job = await planned(scene());
    const instants = [5, 1, 7, 3, 6, 4, 2];
    await scene().applied(job.shard, {
      plans: [fire(scene(), job, { created: instants.map((at) => occurrence(scene(), job, at)) })],
    });
    const view = await scene().store.queries.getJob(TENANT, job.jobId);
    assert.deepEqual(
      view?.latestExecutions.map(({ scheduledAt }) => scheduledAt),
      [7, 6, 5, 4, 3],
    );
  });

  it("lists jobs by type and by the state of their plans", async () => {
    const [once, cron, interval] = [
      await scene().submitted(),
      await planned(scene()),
      await planned(scene(), { recurrence: HOURLY }),
    ];
    const listed = async (filter: { type?: JobType; state?: JobState }) => {
      const { items } = await scene().store.queries.listJobs(TENANT, filter, { after: null, limit: 10 });
      return items.map(({ jobId }) => jobId);
    };
    assert.deepEqual(await listed({ type: "ONCE" }), [once.jobId]);
    assert.deepEqual(await listed({ type: "CRON" }), [cron.jobId]);
    assert.deepEqual(await listed({ type: "INTERVAL" }), [interval.jobId]);
    assert.deepEqual(await listed({ state: "ACTIVE" }), [interval.jobId, cron.jobId, once.jobId]);
    await move(scene(), cron, { state: "PAUSED" });
    await move(scene(), interval, { state: "FINISHED", nextFireAt: null });
    assert.deepEqual(await listed({ state: "PAUSED" }), [cron.jobId]);
    assert.deepEqual(await listed({ state: "FINISHED" }), [interval.jobId]);
    assert.deepEqual(await listed({ state: "FINISHED", type: "ONCE" }), []);
    const view = await scene().store.queries.getJob(TENANT, cron.jobId);
    assert.deepEqual(
      [view?.type, view?.state, view?.plan],
      ["CRON", "PAUSED", { ...firstPlan(cron), state: "PAUSED" }],
    );
    assert.deepEqual(view?.definition, cron.definition);
    assert.equal((await scene().store.queries.getJob(TENANT, once.jobId))?.plan, null);
    await scene().store.jobs.delete(deletion(scene(), cron));
    assert.deepEqual(await listed({ state: "PAUSED" }), []);
    assert.deepEqual(await listed({ state: "DELETED" }), [cron.jobId]);
  });
}

const RETENTION = { days: 30, deadDays: 90 };

function later(runtime: Scene["runtime"], days: number): number {
  return runtime.now() + days * 86_400_000;
}

function replacement(scene: Scene, job: NewRecurringJob, sample: JobSample): JobReplacement {
  const { jobId, tenant } = job;
  const { definition } = scene.job({ ...job.definition, ...sample });
  const [commandId, at] = [scene.runtime.uuid(), scene.runtime.now()];
  return { tenant, jobId, definition, payload: Buffer.from("[2]"), ifVersion: null, commandId, at };
}

function look(id: string, { jobId, shard }: NewRecurringJob): PlanCommand {
  return { id, shard, kind: "PLAN", jobId, order: { kind: "LOOK" } };
}

function deletion({ runtime }: Scene, { jobId, tenant }: NewRecurringJob) {
  return { tenant, jobId, cancelRunning: true, commandId: () => runtime.uuid(), at: runtime.now() };
}

function run(scene: Scene, { jobId, shard, definition }: NewRecurringJob, retryOf: string | null): NewRun {
  const executionId = scene.runtime.uuid();
  return { ...scene.job({ ...definition, jobId, executionId, shard }), retryOf, jobVersion: 1 };
}

function idsOf({ created }: ReturnType<typeof fire>): string[] {
  return created.map(({ row }) => row.id);
}

/** Applies the first fire of a job. */
async function fired(scene: Scene, job: NewRecurringJob) {
  const change = fire(scene, job, { created: [occurrence(scene, job, job.firstFireAt)] });
  assert.deepEqual(await scene.store.commit([scene.tick(job.shard, { plans: [change] })]), [applied(job.shard)]);
  return change;
}

/** Changes a job's plan, as its owner would. */
async function move(scene: Scene, job: NewRecurringJob, to: Partial<Plan>, wasRevision = 1): Promise<void> {
  const plan = { ...firstPlan(job), ...to };
  const change = fire(scene, job, { created: [], plan, wasRevision, revision: wasRevision + 1 });
  await scene.applied(job.shard, { plans: [change] });
}

function ended(scene: Scene, job: NewRecurringJob): Promise<void> {
  return move(scene, job, { state: "FINISHED", nextFireAt: null });
}

/** Answer for a job that stays as it is. */
async function unchanged(scene: Scene, { jobId }: NewRecurringJob) {
  const { version, definition } = await recurrenceOf(scene, { jobId });
  return { jobId, version, scheduledAt: definition.scheduledAt, executionIds: [] };
}
