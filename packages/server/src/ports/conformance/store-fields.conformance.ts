import assert from "node:assert/strict";
import { it } from "node:test";
import type { Candidate, EndedAttempt } from "../../domain/execution.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import type { Plan, RecurrenceRule } from "../../domain/recurrence.ts";
import type { NewJob, Replacement, RowChange, ShardCommit } from "../store.ts";
import type { Command, PlanCommand } from "../store-commands.ts";
import type { ExecutionSummary, ExecutionView } from "../store-queries.ts";
import {
  fire,
  firstPlan,
  HOURLY,
  occurrence,
  planned,
  recurrenceOf,
  scheduled,
} from "./recurring-scene.conformance.ts";
import { ALL_SHARDS, type JobSample, type Scene } from "./store-scene.conformance.ts";

const TENANT = "acme";
const BY_NOBODY = { retryOf: null, jobVersion: 1, trigger: "API" } as const;

/** A definition in which no field has its default value, and no two fields have the same value. */
const FULL: Omit<JobDefinition, "scheduledAt" | "recurrence"> = {
  name: "full",
  pool: "gpu",
  handler: "render",
  requires: ["cuda", "region=eu"],
  priority: 8,
  policy: {
    retry: { maxAttempts: 11, backoff: "FIXED", initialDelayMs: 12, maxDelayMs: 13, jitter: false },
    ...{ timeoutMs: 14, maxLifetimeMs: 19 },
    cancelGraceMs: 15,
    maxLost: 16,
    onWorkerLost: "DEAD",
    startBefore: 17,
  },
  concurrencyKey: "key",
  concurrencyLimit: 18,
  uniqueKey: "unique",
  labels: { team: "films" },
};

/** Fields of a row in a commit, without its state and queue. */
const WRITTEN = {
  attempt: 21,
  failures: 22,
  lost: 23,
  rank: -24.5,
  dueAt: 25_000,
  reason: "REASON",
  workerId: "w26",
  gateway: "g27",
  attemptStartedAt: 28_000,
  startedAt: 29_000,
  finishedAt: 30_000,
  error: { name: "Error", message: "31", stack: "32" },
} as const;

const ENDED: readonly EndedAttempt[] = [
  { attempt: 33, workerId: "w34", state: "TIMED_OUT", startedAt: 35, finishedAt: 36, error: WRITTEN.error },
  { attempt: 37, workerId: "w38", state: "WORKER_LOST", startedAt: null, finishedAt: 39, error: null },
];

const NEW_PAYLOAD = Buffer.from('"second"');

/** Writes every field of every statement with a distinct value, and reads it back in every way. */
export function fieldsConformance(scene: () => Scene): void {
  it("keeps every field of a submitted job, and shows it in every reading", async () => {
    const job = await submitted(scene());
    const { queries, load } = scene().store;
    const row = candidate(job);
    assert.deepEqual(await load([job.executionId]), [row]);
    assert.deepEqual(await scene().store.readWaiting(ALL_SHARDS, row.dueAt, 10), [row]);
    const shown = view(job);
    assert.deepEqual(await queries.getExecution(TENANT, job.executionId), shown);
    assert.equal(await queries.getExecution("default", job.executionId), null);
    const page = { after: null, limit: 10 };
    assert.deepEqual((await queries.listExecutions(TENANT, {}, page)).items, [summary(shown)]);
    const { definition, jobId, createdAt } = job;
    const { name, pool, handler, priority, scheduledAt, labels } = definition;
    const listed = {
      ...{
        jobId,
        tenant: TENANT,
        name,
        state: "ACTIVE",
        type: "ONCE",
        version: 1,
        plan: null,
        pool,
        handler,
        priority,
      },
      ...{ scheduledAt, labels, createdAt, updatedAt: createdAt },
    };
    assert.deepEqual((await queries.listJobs(TENANT, {}, page)).items, [listed]);
    const whole = { ...listed, definition, payload: job.payload, latestExecutions: [summary(shown)] };
    assert.deepEqual(plain(await queries.getJob(TENANT, jobId)), plain(whole));
    const other = await scene().submitted({ ...FULL, tenant: "default", shard: job.shard });
    assert.deepEqual(await load([other.executionId]), [candidate(other)]);
  });

  for (const shape of ["by itself", "with an assignment", "with a replacement", "with a plan"] as const) {
    it(`keeps every field of a row that runs, is tried again and ends, written ${shape}`, async () => {
      const { store } = scene();
      const job = await submitted(scene());
      const beside = await besides(scene(), job, shape);
      const runs = change(job, { state: "RUNNING", queue: "HELD", ended: ENDED.slice(0, 1) });
      await scene().applied(job.shard, await beside(runs));
      const copy = copied(scene(), job, shape);
      const running: Candidate = { ...copy, ...rowOf(runs), state: "RUNNING", queue: "HELD" };
      assert.deepEqual(await store.load([job.executionId]), [running]);
      const { attempt, workerId, gateway, attemptStartedAt } = WRITTEN;
      const held = { row: running, attempt, workerId, gateway, assignedAt: attemptStartedAt, attemptStartedAt };
      const { inFlight } = await store.recover([job.shard]);
      assert.deepEqual(
        inFlight.filter(({ row }) => row.id === job.executionId),
        [{ ...held, journal: null }],
      );
      await shows(scene(), job, runs, copy);

      const waits = change(job, { ...after(runs), queue: "WAITING", lost: 41, failures: 42, dueAt: 43_000, ended: [] });
      await scene().applied(job.shard, await beside(waits));
      const waiting: Candidate = { ...copy, ...rowOf(waits), state: "PENDING", queue: "WAITING" };
      assert.deepEqual(await store.readWaiting([job.shard], 43_000, 10), [waiting]);

      const isReady = change(job, { ...after(waits), queue: "READY", startedAt: 44_000, rank: 45.5, ended: [] });
      await scene().applied(job.shard, await beside(isReady));
      const ready: Candidate = { ...copy, ...rowOf(isReady), state: "PENDING", queue: "READY" };
      assert.deepEqual(await store.readReady([job.shard], laneOf(copy), null, 10), [ready]);
      const entry = { ...scene().entry(job), attempt: 51, workerId: "w52", gateway: "g53", assignedAt: 54_000 };
      const { epoch, journalSeq: seq } = await scene().applied(job.shard, { assigned: [entry] });
      const { id: _, ...assignment } = entry;
      assert.deepEqual(
        (await store.recover([job.shard])).inFlight.filter(({ row }) => row.id === job.executionId),
        [{ row: ready, ...assignment, attemptStartedAt: null, journal: { epoch, seq } }],
      );

      const ends = change(job, {
        ...{ ...after(isReady), queue: "NONE", state: "DEAD", lost: 61, failures: 62, result: Buffer.from("63") },
        ended: ENDED.slice(1),
      });
      await scene().applied(job.shard, await beside(ends));
      assert.deepEqual(await store.load([job.executionId]), []);
      await shows(scene(), job, ends, copy);
    });
  }

  it("keeps every field of a plan and of the executions created from it", async () => {
    const now = scene().runtime.now();
    const recurrence: RecurrenceRule = {
      ...{ startAt: now + 1, endAt: now + 2, maxFires: 3, spreadSec: 4, misfireGraceMs: 5, maxCatchUp: 6 },
      ...{ startWithinMs: 7, times: { type: "INTERVAL", everyMs: 8_000, mode: "FIXED_DELAY" } },
      overlap: "BUFFER_ONE",
      misfire: "FIRE_ALL",
    };
    const payload = Buffer.from("[1,2]");
    const sample = { ...FULL, recurrence, payload, tenant: TENANT, shard: 9, createdAt: now - 9 };
    const job = await planned(scene(), { ...sample, firstFireAt: now + 10 });
    const { jobId, shard, createdAt, definition } = job;
    const head = { jobId, shard, tenant: TENANT, createdAt, version: 1, definition, payloadBytes: 5 };
    const first = { ...head, revision: 1, plan: firstPlan(job), open: [] };
    assert.deepEqual(await scene().store.recurrences.load([jobId]), [first]);
    const edited = { ...definition, priority: 7, labels: { b: "c" } };
    await replaced(scene(), job, edited);
    const second = { ...first, version: 2, definition: edited, payloadBytes: NEW_PAYLOAD.length };
    assert.deepEqual(await scene().store.recurrences.load([jobId]), [second]);

    const made = occurrence(scene(), job, now + 11, { laneHash: 12, createdAt: now + 13, trigger: "BACKFILL" });
    const row: Candidate = {
      ...made.row,
      rank: 14.5,
      dueAt: now + 15,
      jobVersion: 2,
      payloadBytes: NEW_PAYLOAD.length,
    };
    const schedule = scheduled(job);
    const catchUp = {
      id: "c",
      trigger: "BACKFILL",
      schedule,
      nextAt: 17,
      until: 18,
      limit: 19,
      open: [row.id],
    } as const;
    const plan: Plan = {
      ...{ version: 20, nextFireAt: 21, fired: 22, previous: row.id, bufferedAt: 23, tzdata: "2099z" },
      state: "PAUSED",
      catchUps: [catchUp],
    };
    const moved = fire(scene(), job, { revision: 24, created: [{ ...made, row }], plan });
    await scene().applied(shard, { plans: [moved] });
    assert.deepEqual(await recurrenceOf(scene(), job), { ...second, revision: 24, plan, open: [row.id] });
    assert.deepEqual(await scene().store.load([row.id]), [{ ...row, backfilledAt: now + 13 }]);
    assert.deepEqual(await scene().store.readReady([shard], 12, null, 10), [{ ...row, backfilledAt: now + 13 }]);
    const { trigger, jobVersion } = { ...made, ...row };
    const shown = viewOf(row, { trigger, retryOf: null, jobVersion }, NEW_PAYLOAD, now + 13);
    const found = await scene().store.queries.getExecution(TENANT, row.id);
    assert.deepEqual(plain(found), plain({ ...shown, updatedAt: found?.updatedAt }));
    // The execution claims its unique key.
    const [answer] = await scene().store.submit([{ idempotency: null, jobs: [sampled(scene())] }]);
    assert.deepEqual(
      answer?.kind === "ACCEPTED" && answer.jobs.map(({ executionId, deduplicated }) => [executionId, deduplicated]),
      [[row.id, true]],
    );
  });

  it("keeps every field of every kind of command", async () => {
    const { store, runtime } = scene();
    const id = () => runtime.uuid();
    const { recurrence: _, ...rest } = sampled(scene()).definition;
    const definition = { ...rest, recurrence: HOURLY };
    const ofPlan = (order: PlanCommand["order"]): Command => ({ id: id(), shard: 8, kind: "PLAN", jobId: id(), order });
    const ofJob = { shard: 8, jobId: id(), executionIds: [id(), id()] };
    const commands: Command[] = [
      { id: id(), shard: 8, kind: "CANCEL", executionId: id() },
      { id: id(), ...ofJob, kind: "REPLACE", version: 71, definition, payloadBytes: 72 },
      { id: id(), ...ofJob, kind: "DELETE" },
      ofPlan({ kind: "LOOK", former: { version: 73, rule: HOURLY, until: 74 } }),
      ofPlan({ kind: "PAUSE", at: 75 }),
      ofPlan({ kind: "RESUME", at: 76, catchUp: true }),
      ofPlan({ kind: "BACKFILL", since: 77, until: 78, limit: 79 }),
    ];
    for (const command of commands) await store.addCommand(command);
    const byId = commands.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    assert.deepEqual(await store.readCommands([8], new Set(), 100), byId);
    assert.deepEqual((await store.recover([8])).commands, byId);
  });

  it("tells journal rows apart by shard, epoch and number", async () => {
    const [job, same] = [await scene().submitted({ shard: 1 }), await scene().submitted({ shard: 2 })];
    const assigned = [scene().entry(job)];
    const before = await scene().applied(1, { assigned, journalSeq: 1 });
    await scene().applied(2, { assigned: [scene().entry(same)], journalSeq: 1 });
    await scene().takeOver([1]);
    const now = await scene().applied(1, { assigned: [scene().entry(job, { attempt: 2 })], journalSeq: 1 });
    const next = await scene().applied(1, { assigned: [scene().entry(job, { attempt: 3 })], journalSeq: 2 });
    const open = async () => (await scene().store.recover([1, 2])).journals.map(({ shard, ref }) => [shard, ref]);
    const ref = ({ shard, epoch, journalSeq: seq }: ShardCommit) => [shard, { epoch, seq }] as const;
    const other = [2, { epoch: scene().epochOf(2), seq: 1 }] as const;
    assert.deepEqual(await open(), [ref(before), ref(now), ref(next), other]);
    await scene().applied(1, { settledJournals: [ref(now)[1]] });
    assert.deepEqual(await open(), [ref(before), ref(next), other]);
    await scene().applied(1, { settledJournals: [ref(before)[1]] });
    assert.deepEqual(await open(), [ref(next), other]);
  });
}

/** A job whose fields all differ from their defaults. */
function sampled(scene: Scene, more: JobSample = {}): NewJob {
  const now = scene.runtime.now();
  const fields = { ...FULL, scheduledAt: now + 1_000, createdAt: now - 2_000, rank: 3.25, shard: 11, tenant: TENANT };
  return scene.job({ ...fields, payload: Buffer.from("12345"), ...more });
}

async function submitted(scene: Scene): Promise<NewJob> {
  const job = sampled(scene);
  const [outcome] = await scene.store.submit([{ idempotency: null, jobs: [job] }]);
  assert.equal(outcome?.kind, "ACCEPTED");
  return job;
}

/** The owner's view of a new execution. */
function candidate(job: NewJob): Candidate {
  const { name: _, uniqueKey, labels: __, recurrence: ___, ...copied } = job.definition;
  return {
    ...{ ...copied, id: job.executionId, jobId: job.jobId, shard: job.shard, tenant: job.tenant, rank: job.rank },
    ...{ hasUniqueKey: uniqueKey !== null, dueAt: copied.scheduledAt, payloadBytes: job.payload?.length ?? 0 },
    ...{ jobVersion: 1, state: "PENDING", queue: job.queue, attempt: 0, failures: 0, lost: 0, startedAt: null },
  };
}

/** A change that sets every field, each to another value than before. */
function change(job: NewJob, more: Partial<RowChange>): RowChange {
  return {
    ...{ ...WRITTEN, id: job.executionId, wasState: "PENDING", wasAttempt: 0, state: "PENDING", queue: "READY" },
    ...{ result: Buffer.from("40"), ended: ENDED, releaseUniqueKey: false },
    ...more,
  };
}

/** State that the next change expects. */
function after({ state, attempt }: RowChange): Pick<RowChange, "wasState" | "wasAttempt" | "attempt"> {
  return { wasState: state === "RUNNING" ? "RUNNING" : "PENDING", wasAttempt: attempt, attempt: attempt + 1 };
}

function rowOf({ attempt, failures, lost, rank, dueAt, startedAt }: RowChange): Partial<Candidate> {
  return { attempt, failures, lost, rank, dueAt, startedAt };
}

type Shape = "by itself" | "with an assignment" | "with a replacement" | "with a plan";

/** Other parts of the commit, which determine the shape of the store's statement. */
async function besides(scene: Scene, job: NewJob, shape: Shape) {
  const others: NewJob[] = [];
  for (let i = 0; i < 4; i++) others.push(await scene.submitted({ shard: job.shard }));
  if (shape === "with a replacement") await replaced(scene, job, newDefinition(scene, job));
  const recurring = shape === "with a plan" ? await planned(scene, { shard: job.shard }) : null;
  let revision = 1;
  return async (changed: RowChange): Promise<Partial<ShardCommit>> => {
    if (shape === "with an assignment")
      return { changes: [changed], assigned: [scene.entry(others.pop() as NewJob, { workerId: "w91" })] };
    if (shape === "with a replacement") return { changes: [{ ...changed, replacement: replacement(scene, job) }] };
    if (recurring === null) return { changes: [changed] };
    const moved = { wasRevision: revision, revision: ++revision, created: [] };
    return { changes: [changed], plans: [fire(scene, recurring, moved)] };
  };
}

/** The definition that replaces an execution's own: every field differs from the former value and from the default. */
function newDefinition(scene: Scene, job: NewJob): JobDefinition {
  const { policy, concurrencyKey, uniqueKey } = job.definition;
  return {
    ...{ ...sampled(scene).definition, concurrencyKey, uniqueKey, pool: "tpu", handler: "draw", requires: ["arm"] },
    ...{ priority: 7, concurrencyLimit: 92, scheduledAt: 93_000 },
    policy: { ...policy, timeoutMs: 94, maxLifetimeMs: 96, retry: { ...policy.retry, maxAttempts: 95 } },
  };
}

function replacement(scene: Scene, job: NewJob): Replacement {
  const definition = newDefinition(scene, job);
  const hash = laneHash({ ...definition, tenant: TENANT });
  return { jobVersion: 2, definition, laneHash: hash, payloadBytes: NEW_PAYLOAD.length };
}

async function replaced(scene: Scene, { jobId }: { jobId: string }, definition: JobDefinition): Promise<void> {
  const asked = { tenant: TENANT, jobId, definition, payload: NEW_PAYLOAD, ifVersion: 1, at: scene.runtime.now() };
  const outcome = await scene.store.jobs.replace({ ...asked, commandId: scene.runtime.uuid() });
  assert.equal(outcome.kind, "REPLACED");
}

/** The row's copy of its job once commits of the shape were made. */
function copied(scene: Scene, job: NewJob, shape: Shape): Candidate {
  const copy = candidate(job);
  if (shape !== "with a replacement") return copy;
  const { definition, jobVersion, payloadBytes } = replacement(scene, job);
  const { name: _, uniqueKey: __, labels: ___, recurrence: ____, ...rest } = definition;
  return { ...copy, ...rest, jobVersion, payloadBytes };
}

function laneOf(row: Candidate): number {
  return laneHash(row);
}

async function shows(scene: Scene, job: NewJob, written: RowChange, copy: Candidate): Promise<void> {
  const found = await scene.store.queries.getExecution(TENANT, job.executionId);
  const before = written.state === "RUNNING" ? [] : ENDED.slice(0, 1);
  const { state, reason, workerId, finishedAt, result, error, ended } = written;
  const { rank: _, ...said } = { state, reason, workerId, finishedAt, result, error, ...rowOf(written) };
  const origin = { ...BY_NOBODY, jobVersion: copy.jobVersion };
  const payload = copy.jobVersion === 1 ? job.payload : NEW_PAYLOAD;
  const updatedAt = found?.updatedAt ?? 0;
  assert.ok(updatedAt > job.createdAt);
  const shown = { ...viewOf(copy, origin, payload, job.createdAt), ...said, updatedAt };
  assert.deepEqual(plain(found), plain({ ...shown, attempts: [...before, ...ended] }));
  const { items } = await scene.store.queries.listExecutions(TENANT, { state }, { after: null, limit: 10 });
  assert.deepEqual(plain(items), plain([summary(shown as ExecutionView)]));
  if (state !== "DEAD") return;
  const letters = await scene.store.deadLetters.list(TENANT, {}, { after: null, limit: 10 });
  assert.deepEqual(plain(letters.items), plain([{ ...summary(shown as ExecutionView), error }]));
}

function view(job: NewJob): ExecutionView {
  return viewOf(candidate(job), BY_NOBODY, job.payload, job.createdAt);
}

type Origin = Pick<ExecutionSummary, "trigger" | "retryOf" | "jobVersion">;

/** Public view of a row that was just written. */
function viewOf(row: Candidate, origin: Origin, payload: Uint8Array | null, createdAt: number): ExecutionView {
  const { id: executionId, jobId, shard, tenant, pool, handler, priority, scheduledAt, dueAt, policy, requires } = row;
  return {
    ...{ executionId, jobId, shard, tenant, pool, handler, priority, scheduledAt, dueAt, policy, requires },
    ...{ ...origin, state: "PENDING", reason: null, attempt: 0, failures: 0, lost: 0, workerId: null, startedAt: null },
    ...{ maxAttempts: policy.retry.maxAttempts, finishedAt: null, createdAt, updatedAt: createdAt, payload },
    ...{ result: null, error: null, attempts: [], hasSteps: false },
  };
}

function summary(shown: ExecutionView): ExecutionSummary {
  const {
    requires: _,
    policy: __,
    payload: ___,
    result: ____,
    error: _____,
    attempts: ______,
    hasSteps: _______,
    ...rest
  } = shown;
  return rest;
}

/** Bytes as bytes, whichever class holds them. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, item) => (item instanceof Uint8Array ? { bytes: [...item] } : item)));
}
