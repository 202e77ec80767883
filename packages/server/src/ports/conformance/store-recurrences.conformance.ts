import assert from "node:assert/strict";
import { it } from "node:test";
import type { Plan } from "../../domain/recurrence.ts";
import type { AcceptedJob, NewRecurringJob } from "../store.ts";
import type { PlanChange } from "../store-recurrences.ts";
import {
  fire,
  firstPlan,
  HOURLY,
  occurrence,
  planned,
  recurrenceOf,
  recurring,
  scheduled,
  TZDATA,
} from "./recurring-scene.conformance.ts";
import { ALL_SHARDS, applied, fenced, type Scene, TENANT, takeShards } from "./store-scene.conformance.ts";

/** Reads and writes of recurring jobs by the owner of a shard. */
export function recurrencesConformance(scene: () => Scene): void {
  it("keeps a recurring job and its plan, and no execution of it", async () => {
    const job = await planned(scene(), { name: "nightly", payload: Buffer.from("[1]"), uniqueKey: "u1" });
    const { jobId, shard, tenant, createdAt, definition } = job;
    assert.deepEqual(await scene().store.recurrences.load([jobId, scene().runtime.uuid()]), [
      {
        ...{ jobId, shard, tenant, createdAt, version: 1, definition, payloadBytes: 3, revision: 1 },
        ...{ plan: firstPlan(job), open: [] },
      },
    ]);
    assert.deepEqual((await scene().store.queries.getJob(TENANT, jobId))?.latestExecutions, []);
    // The job's unique key is free, because only executions claim it.
    await scene().submitted({ uniqueKey: "u1" });
  });

  it("takes a batch of both kinds, one after the other in the same submission", async () => {
    const length = Math.min(scene().submissionMax, 3_000);
    const jobs = Array.from({ length }, (_, i) => (i % 3 === 0 ? scene().job() : recurring(scene())));
    const [outcome] = await scene().store.submit([{ idempotency: null, jobs }]);
    assert.deepEqual(
      outcome?.kind === "ACCEPTED" && outcome.jobs.map(({ jobId, executionId }) => [jobId, executionId]),
      jobs.map(({ jobId, executionId }) => [jobId, executionId]),
    );
    const ids = jobs.filter(({ executionId }) => executionId === null).map(({ jobId }) => jobId);
    assert.equal(ids.length, Math.floor((length * 2) / 3));
    assert.equal((await scene().store.recurrences.load(ids)).length, ids.length);
    const due = await scene().store.recurrences.readDue(ALL_SHARDS, Number.MAX_SAFE_INTEGER, 10_000);
    assert.equal(due.length, ids.length);
  });

  it("gives a name to one recurring job of a tenant, also within a batch", async () => {
    const first = recurring(scene(), { name: "n" });
    const [second, third] = [recurring(scene(), { name: "n" }), recurring(scene(), { name: "n", tenant: "acme" })];
    const once = scene().job({ name: "n" });
    const jobs = [first, second, third, once];
    const answers: AcceptedJob[] = jobs.map(({ jobId, executionId }) => ({ jobId, executionId, deduplicated: false }));
    const held = (job: NewRecurringJob) => {
      return { jobId: job.jobId, executionId: null, deduplicated: false, nameHeldBy: first.jobId };
    };
    answers[1] = held(second);
    const accepted = { kind: "ACCEPTED", replayed: false, jobs: answers };
    const idempotency = { tenant: TENANT, key: "k", requestHash: "h" };
    assert.deepEqual(await scene().store.submit([{ idempotency, jobs }]), [accepted]);
    assert.deepEqual(await scene().store.submit([{ idempotency, jobs }]), [{ ...accepted, replayed: true }]);
    const late = recurring(scene(), { name: "n" });
    assert.deepEqual(await scene().store.submit([{ idempotency: null, jobs: [late] }]), [
      { kind: "ACCEPTED", replayed: false, jobs: [held(late)] },
    ]);
    assert.deepEqual(await scene().store.recurrences.load([second.jobId, late.jobId]), []);
  });

  it("finds the plans that are due, earliest first, with their definitions", async () => {
    const now = scene().runtime.now();
    const jobs = await Promise.all([3, 1, 2].map((n) => planned(scene(), { firstFireAt: now + n, shard: n })));
    const [third, first, second] = jobs as [NewRecurringJob, NewRecurringJob, NewRecurringJob];
    const { readDue } = scene().store.recurrences;
    const due = async (until: number, limit = 10, shards = ALL_SHARDS) => {
      return (await readDue(shards, until, limit)).map(({ jobId }) => jobId);
    };
    assert.deepEqual(await due(now), []);
    assert.deepEqual(await due(now + 2), [first.jobId, second.jobId]);
    assert.deepEqual(await due(now + 9), [first.jobId, second.jobId, third.jobId]);
    assert.deepEqual(await due(now + 9, 2), [first.jobId, second.jobId]);
    assert.deepEqual(await due(now + 9, 9, [2, 3]), [second.jobId, third.jobId]);
    const paused: Plan = { ...firstPlan(first), state: "PAUSED" };
    await scene().applied(1, { plans: [{ ...fire(scene(), first, { created: [] }), plan: paused }] });
    assert.deepEqual(await due(now + 9), [second.jobId, third.jobId]);
  });

  it("moves a plan on together with what its instants became", async () => {
    const job = await planned(scene(), { payload: Buffer.from("1"), pool: "p", requires: ["gpu"], labels: { a: "b" } });
    const at = job.firstFireAt;
    const [late, now] = [occurrence(scene(), job, at, { trigger: "BACKFILL" }), occurrence(scene(), job, at + 2)];
    const plan: Plan = {
      ...{ version: 1, state: "ACTIVE", nextFireAt: at + 9, fired: 2, previous: now.row.id, bufferedAt: at + 3 },
      catchUps: [
        {
          id: "c",
          trigger: "BACKFILL",
          schedule: scheduled(job),
          nextAt: at,
          until: at + 5,
          limit: 2,
          open: [late.row.id],
        },
      ],
      tzdata: "2026a",
    };
    const skips = [{ from: at + 1, to: at + 1, count: 1, reason: "OVERLAP" as const }];
    await scene().applied(job.shard, { plans: [fire(scene(), job, { created: [late, now], skips, plan })] });
    const found = await recurrenceOf(scene(), job);
    assert.deepEqual([found.revision, found.plan], [2, plan]);
    assert.deepEqual([...found.open].sort(), [late.row.id, now.row.id].sort());
    const rows = await scene().store.load([now.row.id]);
    assert.deepEqual(rows, [now.row]);
    assert.deepEqual(await scene().store.load([late.row.id]), [{ ...late.row, backfilledAt: late.createdAt }]);
    assert.deepEqual(
      (await scene().store.readReady(ALL_SHARDS, now.laneHash, null, 10)).map(({ id }) => id),
      [late.row.id, now.row.id],
    );
    assert.deepEqual((await scene().store.payloads([now.row.id])).get(now.row.id), Buffer.from("1"));
    const views = await Promise.all([late, now].map(({ row }) => scene().store.queries.getExecution(TENANT, row.id)));
    assert.deepEqual(
      views.map((view) => [view?.trigger, view?.scheduledAt, view?.state, view?.createdAt]),
      [
        ["BACKFILL", at, "PENDING", late.createdAt],
        ["SCHEDULE", at + 2, "PENDING", now.createdAt],
      ],
    );
    const { firedInstants } = scene().store.recurrences;
    assert.deepEqual(await firedInstants(job.jobId, at, at + 3), [at, at + 2]);
    assert.deepEqual(await firedInstants(job.jobId, at + 1, at + 2), []);
  });

  it("tells which executions of a plan are open", async () => {
    const job = await planned(scene(), { shard: 4 });
    const [first, second] = [occurrence(scene(), job, 1), occurrence(scene(), job, 2)];
    const plan: Plan = {
      ...{ ...firstPlan(job), previous: first.row.id },
      catchUps: [
        {
          id: "c",
          trigger: "SCHEDULE",
          schedule: scheduled(job),
          nextAt: 3,
          until: 9,
          limit: 9,
          open: [first.row.id, second.row.id, job.jobId],
        },
      ],
    };
    await scene().applied(4, { plans: [fire(scene(), job, { created: [first, second], plan })] });
    const open = async () => [...(await recurrenceOf(scene(), job)).open].sort();
    assert.deepEqual(await open(), [first.row.id, second.row.id].sort());
    const ended = scene().succeeded(scene().job({ executionId: first.row.id }));
    await scene().applied(4, { changes: [ended] });
    assert.deepEqual(await open(), [second.row.id]);
  });

  it("writes nothing of a plan whose revision is another, names it, and applies the rest", async () => {
    const [stale, good] = [await planned(scene(), { shard: 5 }), await planned(scene(), { shard: 5 })];
    const first = await fired(scene(), stale);
    const skips = [{ from: 1, to: 1, count: 1, reason: "OVERLAP" as const }];
    const [again, next] = [fire(scene(), stale, { skips }), fire(scene(), good)];
    const unknown = fire(scene(), recurring(scene(), { shard: 5 }));
    const outcome = await scene().store.commit([scene().tick(5, { plans: [again, next, unknown] })]);
    assert.deepEqual(outcome, [{ ...applied(5), missedPlans: [again.jobId, unknown.jobId] }]);
    assert.deepEqual(
      (await scene().store.load([again, next, unknown].flatMap(createdIds))).map(({ id }) => id),
      createdIds(next),
    );
    assert.deepEqual((await recurrenceOf(scene(), stale)).plan, first.plan);
    assert.equal((await recurrenceOf(scene(), good)).revision, 2);
    const { items } = await scene().store.queries.ledger("default", stale.jobId, 0, 10, { after: null, limit: 10 });
    assert.deepEqual(items, []);
  });

  it("writes nothing of a fenced shard", async () => {
    const [mine, lost] = [await planned(scene(), { shard: 1 }), await planned(scene(), { shard: 2 })];
    const [kept, dropped] = [fire(scene(), mine), fire(scene(), lost, { skips: [skip(1)] })];
    const ticks = [scene().tick(1, { plans: [kept] }), scene().tick(2, { plans: [dropped] })];
    await takeShards(scene().store, [2], scene().runtime.uuid());
    assert.deepEqual(await scene().store.commit(ticks), [applied(1), fenced(2)]);
    assert.deepEqual(
      (await scene().store.load([kept, dropped].flatMap(createdIds))).map(({ id }) => id),
      createdIds(kept),
    );
    assert.equal((await recurrenceOf(scene(), lost)).revision, 1);
    const { items } = await scene().store.queries.ledger("default", lost.jobId, 0, 10, { after: null, limit: 10 });
    assert.deepEqual(items, []);
  });

  it("bears nobody twice, and leaves the first one as it is", async () => {
    const job = await planned(scene(), { uniqueKey: "u" });
    const first = await fired(scene(), job);
    const [createdRow] = first.created;
    assert.ok(createdRow);
    const row = scene().succeeded(scene().job({ executionId: createdRow.row.id }), { releaseUniqueKey: true });
    await scene().applied(job.shard, { changes: [row] });
    const [again, other] = [
      { ...createdRow, uniqueKey: "u" },
      { ...occurrence(scene(), job, 7), uniqueKey: null },
    ];
    const plans = [{ ...first, wasRevision: 2, revision: 3, created: [again, other] }];
    const outcome = await scene().store.commit([scene().tick(job.shard, { plans })]);
    assert.deepEqual(outcome, [{ ...applied(job.shard), notCreated: [createdRow.row.id] }]);
    assert.equal((await recurrenceOf(scene(), job)).revision, 3);
    assert.equal((await scene().store.queries.getExecution(TENANT, createdRow.row.id))?.state, "SUCCEEDED");
    // The repeat has not claimed the key, which nothing would release.
    await scene().submitted({ uniqueKey: "u" });
  });

  it("writes as skipped what is created while its unique key is held", async () => {
    const job = await planned(scene(), { uniqueKey: "u" });
    const holder = await scene().submitted({ uniqueKey: "u" });
    const change = fire(scene(), job);
    const [id] = createdIds(change) as [string];
    const outcome = await scene().store.commit([scene().tick(job.shard, { plans: [change] })]);
    assert.deepEqual(outcome, [{ ...applied(job.shard), notCreated: [id] }]);
    const view = await scene().store.queries.getExecution(TENANT, id);
    assert.deepEqual([view?.state, view?.reason, view?.attempt], ["SKIPPED", "UNIQUE_KEY_HELD", 0]);
    assert.ok(view?.finishedAt);
    assert.deepEqual(await scene().store.load([id]), []);
    assert.deepEqual((await recurrenceOf(scene(), job)).open, []);
    // The holder of the key still has it.
    const [repeat] = await scene().store.submit([{ idempotency: null, jobs: [scene().job({ uniqueKey: "u" })] }]);
    assert.equal(repeat?.kind === "ACCEPTED" && repeat.jobs[0]?.executionId, holder.executionId);
  });

  it("hands a unique key on from an execution to the next of its job in one commit", async () => {
    const job = await planned(scene(), { uniqueKey: "u", shard: 6 });
    const first = await fired(scene(), job);
    const [before] = createdIds(first) as [string];
    const ended = scene().succeeded(scene().job({ executionId: before }), { releaseUniqueKey: true });
    const next = fire(scene(), job, { wasRevision: 2, revision: 3, created: [occurrence(scene(), job, 99)] });
    await scene().applied(6, { changes: [ended], plans: [next] });
    const [row] = await scene().store.load(createdIds(next));
    assert.deepEqual([row?.hasUniqueKey, row?.state], [true, "PENDING"]);
    const [repeat] = await scene().store.submit([{ idempotency: null, jobs: [scene().job({ uniqueKey: "u" })] }]);
    assert.equal(repeat?.kind === "ACCEPTED" && repeat.jobs[0]?.executionId, createdIds(next)[0]);
  });

  it("names rows that cannot be created because of their data, and moves all plans on", async () => {
    const [bad, good] = [await planned(scene(), { shard: 7 }), await planned(scene(), { shard: 7 })];
    const change = fire(scene(), bad);
    const [createdRow] = change.created;
    assert.ok(createdRow);
    const created = [{ ...createdRow, row: { ...createdRow.row, handler: "h\u0000" } }, occurrence(scene(), bad, 5)];
    const plans = [{ ...change, created }, fire(scene(), good)];
    const [outcome] = await scene().store.commit([scene().tick(7, { plans })]);
    assert.deepEqual(
      [outcome?.missedPlans, outcome?.notCreated, outcome?.refused.map(({ id }) => id)],
      [[], [], [createdRow.row.id]],
    );
    const living = plans.flatMap(createdIds).filter((id) => id !== createdRow.row.id);
    assert.deepEqual((await scene().store.load(living)).map(({ id }) => id).sort(), living.sort());
    assert.deepEqual(
      [(await recurrenceOf(scene(), bad)).revision, (await recurrenceOf(scene(), good)).revision],
      [2, 2],
    );
  });

  it("finds plans that wait for an execution to end, by id", async () => {
    const jobs = await Promise.all([1, 2, 3, 4, 5].map(() => planned(scene(), { shard: 8, recurrence: HOURLY })));
    jobs.sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
    const schedule = scheduled(jobs[0] as NewRecurringJob);
    const plans: Partial<Plan>[] = [
      { bufferedAt: 7, state: "PAUSED" },
      {
        catchUps: [{ ...{ id: "c", trigger: "BACKFILL", nextAt: 1, until: 2, limit: 1, open: [] }, schedule }],
        state: "FINISHED",
      },
      { nextFireAt: null },
      { nextFireAt: null, state: "PAUSED" },
      {},
    ];
    await scene().applied(8, {
      plans: jobs.map((job, i) => fire(scene(), job, { plan: { ...firstPlan(job), ...plans[i] }, created: [] })),
    });
    const { readAwaiting } = scene().store.recurrences;
    const ids = jobs.slice(0, 3).map(({ jobId }) => jobId);
    const read = async (...asked: Parameters<typeof readAwaiting>) =>
      (await readAwaiting(...asked)).map((r) => r.jobId);
    assert.deepEqual(await read(ALL_SHARDS, null, 10), ids);
    assert.deepEqual(await read(ALL_SHARDS, null, 2), ids.slice(0, 2));
    assert.deepEqual(await read(ALL_SHARDS, ids[1] as string, 10), ids.slice(2));
    assert.deepEqual(await read([9], null, 10), []);
  });

  it("finds plans that were made with another time zone database, by id", async () => {
    const jobs = await Promise.all([1, 2, 3].map(() => planned(scene(), { shard: 9 })));
    jobs.sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
    const [first, second, third] = jobs as [NewRecurringJob, NewRecurringJob, NewRecurringJob];
    const newer: Plan = { ...firstPlan(first), tzdata: "2026a" };
    await scene().applied(9, {
      plans: [
        fire(scene(), first, { plan: newer, created: [] }),
        fire(scene(), second, { plan: { ...newer, state: "FINISHED" }, created: [] }),
      ],
    });
    const read = async (tzdata: string, after: string | null = null, shards = ALL_SHARDS) => {
      return (await scene().store.recurrences.readOtherZones(shards, tzdata, after, 10)).map(({ jobId }) => jobId);
    };
    assert.deepEqual(await read(TZDATA), [first.jobId]);
    assert.deepEqual(await read("2026a"), [third.jobId]);
    assert.deepEqual(await read("2026b"), [first.jobId, third.jobId]);
    assert.deepEqual(await read("2026b", first.jobId), [third.jobId]);
    assert.deepEqual(await read("2026b", null, [1]), []);
  });

  it("fires thousands at once, and none of them twice", async () => {
    const at = scene().runtime.now() + 1;
    const jobs = Array.from({ length: 4_000 }, () => recurring(scene(), { firstFireAt: at }));
    const most = Math.min(scene().submissionMax, jobs.length);
    for (let from = 0; from < jobs.length; from += most)
      await scene().store.submit([{ idempotency: null, jobs: jobs.slice(from, from + most) }]);
    const plans = jobs.map((job) => fire(scene(), job));
    const ticks = ALL_SHARDS.map((shard) => {
      return scene().tick(shard, { plans: plans.filter((_, i) => jobs[i]?.shard === shard) });
    });
    assert.deepEqual(await scene().store.commit(ticks), ALL_SHARDS.map(applied));
    assert.equal((await scene().store.load(plans.flatMap(createdIds))).length, 4_000);
    const outcomes = await scene().store.commit(ticks);
    assert.equal(outcomes.flatMap(({ missedPlans }) => missedPlans).length, 4_000);
    assert.deepEqual(await scene().store.recurrences.readDue(ALL_SHARDS, at, 10), []);
  });
}

function createdIds({ created }: Pick<PlanChange, "created">): string[] {
  return created.map(({ row }) => row.id);
}

function skip(at: number) {
  return { from: at, to: at, count: 1, reason: "OVERLAP" as const };
}

/** Applies the first fire of a job. */
async function fired(scene: Scene, job: NewRecurringJob): Promise<PlanChange> {
  const change = fire(scene, job);
  await scene.applied(job.shard, { plans: [change] });
  return change;
}
