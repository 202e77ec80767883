import assert from "node:assert/strict";
import { it } from "node:test";
import type { ShardId } from "../../domain/ids.ts";
import { eventFields, eventId, type LifecycleEvent, NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";
import { waitData } from "../../domain/step.ts";
import type { NewJob, NewRecurringJob, RowChange, ShardCommit } from "../store.ts";
import type { EventPosition, EventRow } from "../store-events.ts";
import { sinksConformance } from "./event-sinks.conformance.ts";
import { fire, occurrence, planned, recurring } from "./recurring-scene.conformance.ts";
import { birth, nodeEnds, nodeId, runEnds, started } from "./runs-scene.conformance.ts";
import { ALL_SHARDS, type Scene, TENANT } from "./store-scene.conformance.ts";

const START: EventPosition = new Map();
const RETENTION = { days: 30, deadDays: 90 };

/** Lifecycle events, in a store whose node writes them. */
export function eventsConformance(scene: () => Scene): void {
  let seq = 0;
  const event = (job: NewJob, fields: Partial<LifecycleEvent> = {}): LifecycleEvent => ({
    ...{ ...NO_EVENT_FIELDS, kind: "JobCompleted", at: scene().runtime.now(), executionId: job.executionId },
    ...{ jobId: job.jobId, tenant: TENANT, pool: "default", handler: "écho", attempt: 1, state: "SUCCEEDED" },
    ...{ scheduledAt: job.definition.scheduledAt, jobVersion: 1, ...fields },
  });
  const tick = (shard: ShardId, events: readonly LifecycleEvent[], parts: Partial<ShardCommit> = {}): ShardCommit => {
    seq += 3;
    return scene().tick(shard, { ...parts, told: { seq, events, inbox: [] } });
  };
  const read = async (after = START, limit = 1_000): Promise<EventRow[]> => {
    const rows = await scene().store.events.read(after, limit);
    assert.ok(rows);
    return rows;
  };
  const idsOf = (rows: readonly EventRow[]) => rows.flatMap(({ events }) => events.map(eventId));
  /** Takes everything out of the inbox. */
  const emptied = async (): Promise<LifecycleEvent[]> => {
    const { store } = scene();
    const members = await store.events.readInbox(ALL_SHARDS, new Set(), 10_000);
    const shards = [...new Set(members.map(({ shard }) => shard))];
    const before = await store.events.newest();
    const ticks = shards.map((shard) => {
      seq += 1;
      const inbox = members.filter((member) => member.shard === shard).map(({ id }) => id);
      return scene().tick(shard, { told: { seq, events: [], inbox } });
    });
    if (ticks.length > 0) await store.commit(ticks);
    return (await read(before)).flatMap(({ events }) => events);
  };

  it("keeps the events of a commit with all their fields, and reads on behind them", async () => {
    const [a, b] = [await scene().submitted({ shard: 3 }), await scene().submitted({ shard: 9 })];
    await emptied();
    const start = await scene().store.events.newest();
    const times = { createdAt: 1, startedAt: 2, finishedAt: 3, failures: 4, lost: 5, jobVersion: 7, errorName: "E" };
    const whole = event(a, {
      ...times,
      trigger: "API",
      workflowId: b.jobId,
      node: -2,
      item: 0,
      workerId: "w",
      reason: "R",
    });
    const ticks = [
      tick(3, [whole, event(a, { kind: "JobStarted" })], { changes: [scene().succeeded(a)] }),
      tick(9, [event(b)], { changes: [scene().succeeded(b)] }),
    ];
    await scene().store.commit(ticks);
    const rows = await read(start);
    const expected = ticks.map(({ shard, epoch, told }) => ({ shard, epoch, seq: told?.seq, events: told?.events }));
    assert.deepEqual(
      rows.sort((x, y) => x.shard - y.shard),
      expected,
    );
    assert.deepEqual(await read(await scene().store.events.newest()), []);
    const behind = new Map(start).set(3, rows[0] as EventRow);
    assert.deepEqual(await read(behind), [rows[1]]);
    assert.equal((await read(start, 1)).length, 1);
  });

  it("keeps the order of a shard over takeovers", async () => {
    const job = await scene().submitted({ shard: 5 });
    await emptied();
    const start = await scene().store.events.newest();
    for (const kind of ["JobAssigned", "JobStarted"] as const)
      await scene().store.commit([tick(5, [event(job, { kind })])]);
    await scene().takeOver();
    seq = 0;
    await scene().store.commit([tick(5, [event(job)])]);
    const kinds = (await read(start)).map(({ events }) => events[0]?.kind);
    assert.deepEqual(kinds, ["JobAssigned", "JobStarted", "JobCompleted"]);
  });

  it("keeps no event of a row that is missed, of an unexpected one, or of a shard that another node owns", async () => {
    const jobs = await Promise.all([2, 2, 2, 4].map((shard) => scene().submitted({ shard })));
    const [gone, stale, kept, fenced] = jobs as [NewJob, NewJob, NewJob, NewJob];
    await emptied();
    await scene().applied(2, { changes: [scene().succeeded(gone), scene().succeeded(stale)] });
    const start = await scene().store.events.newest();
    const own = tick(2, [event(gone), event(stale, { kind: "JobAssigned" }), event(kept)], {
      changes: [scene().succeeded(gone), scene().succeeded(kept)],
      expected: [{ id: stale.executionId, attempt: 0 }],
      assigned: [scene().entry(stale)],
    });
    const other = { ...tick(4, [event(fenced)]), epoch: scene().epochOf(4) + 1 };
    const outcomes = await scene().store.commit([own, other]);
    assert.deepEqual(outcomes[0]?.missed.sort(), [gone.executionId, stale.executionId].sort());
    assert.deepEqual(idsOf(await read(start)), [eventId(event(kept))]);
  });

  it("keeps no event of a change that the store refuses", async () => {
    const [bad, good] = [await scene().submitted({ shard: 2 }), await scene().submitted({ shard: 2 })];
    await emptied();
    const start = await scene().store.events.newest();
    const changes = [scene().succeeded(bad, { reason: "no\0body" }), scene().succeeded(good)];
    const [outcome] = await scene().store.commit([tick(2, [event(bad), event(good)], { changes })]);
    assert.equal(outcome?.refused.length, 1);
    assert.deepEqual(idsOf(await read(start)), [eventId(event(good))]);
  });

  it("keeps what plans create and skip, if the plan is not missed, and tells a held key as a skip", async () => {
    const [missed, job, keyed] = [
      await planned(scene(), { shard: 6 }),
      await planned(scene(), { shard: 6 }),
      await planned(scene(), { shard: 6, uniqueKey: "taken" }),
    ];
    await scene().submitted({ uniqueKey: "taken" });
    await emptied();
    const start = await scene().store.events.newest();
    const made = [missed, job, keyed].map((own) => occurrence(scene(), own, own.firstFireAt));
    const created = made.map(({ row }) => ({ ...eventFields(row), kind: "JobCreated" as const, at: 5 }));
    const skips = [missed, job].map(({ jobId }) => {
      const ofJob = { ...NO_EVENT_FIELDS, jobId, tenant: TENANT, pool: "default", handler: "echo", jobVersion: 1 };
      return { ...ofJob, kind: "JobSkipped" as const, at: 5, scheduledAt: 9 };
    });
    const plans = [missed, job, keyed].map((own, i) => fire(scene(), own, { created: made.slice(i, i + 1) }));
    const [first, ...others] = plans;
    const stale = { ...(first as (typeof plans)[number]), wasRevision: 8, revision: 9 };
    const [outcome] = await scene().store.commit([tick(6, [...created, ...skips], { plans: [stale, ...others] })]);
    assert.deepEqual(outcome?.missedPlans, [missed.jobId]);
    const [row] = await read(start);
    assert.deepEqual(
      row?.events.map((one) => [one.kind, one.executionId ?? one.jobId, one.reason]),
      [
        ["JobCreated", made[1]?.row.id, null],
        ["JobSkipped", made[2]?.row.id, "UNIQUE_KEY_HELD"],
        ["JobSkipped", job.jobId, null],
      ],
    );
  });

  it("keeps no event of a node that is not created", async () => {
    const asked = await started(scene());
    await emptied();
    const start = await scene().store.events.newest();
    const births = [birth(scene(), asked, 2, [0]), birth(scene(), asked, 3, [1])];
    const events = births.map(({ row }) => ({ ...eventFields(row), kind: "JobCreated" as const, at: 5 }));
    const changes = [nodeEnds(scene(), asked, 0), nodeEnds(scene(), asked, 1, { wasAttempt: 3, attempt: 4 })];
    const [outcome] = await scene().store.commit([tick(asked.shard, events, { changes, births })]);
    assert.deepEqual(outcome?.notBorn, [nodeId(asked.executionId, 3)]);
    assert.deepEqual(idsOf(await read(start)), [`${nodeId(asked.executionId, 2)}/0/JobCreated`]);
  });

  it("keeps the events of commits that have several rare parts", async () => {
    const asked = await started(scene());
    const [first, second] = [
      await planned(scene(), { shard: asked.shard }),
      await planned(scene(), { shard: asked.shard }),
    ];
    await emptied();
    const start = await scene().store.events.newest();
    const part = { graph: Buffer.from("graph"), definitions: Buffer.from("definitions"), payloads: [] };
    const spawn = { run: asked.executionId, spawner: 1, first: 4, nodes: 1, ...part };
    const commit = async (node: number, job: NewRecurringJob, more: Partial<RowChange>) => {
      const made = occurrence(scene(), job, job.firstFireAt);
      const record = { kind: "RESULT" as const, attempt: 1, number: 1, at: 1, data: null };
      const parts = {
        changes: [nodeEnds(scene(), asked, node, more)],
        plans: [fire(scene(), job, { created: [made] })],
        steps: [{ executionId: nodeId(asked.executionId, node), name: "s", ...record }],
      };
      const of = { ...eventFields(made.row), kind: "JobCreated" as const, at: 5 };
      const [outcome] = await scene().store.commit([tick(asked.shard, [of], parts)]);
      assert.deepEqual(outcome?.missed, []);
      return eventId(of);
    };
    const expected = [await commit(0, first, {}), await commit(1, second, { spawn })];
    assert.deepEqual(idsOf(await read(start)), expected);
  });

  it("keeps the event of a step's first value, also after a wait, and of no other record", async () => {
    const [job, missed] = [await scene().submitted({ shard: 8 }), await scene().submitted({ shard: 8 })];
    await emptied();
    const start = await scene().store.events.newest();
    const made = { executionId: job.executionId, kind: "RESULT" as const, attempt: 1, number: 1, at: 1, data: null };
    const told = (name: string, of = job) => event(of, { kind: "StepRecorded", step: name, state: "RUNNING" });
    const wait = { ...made, kind: "WAIT" as const, name: "nap", data: waitData({ until: 9, signals: [] }) };
    const odd = 'a "b", {c}/é';
    await scene().store.commit([tick(8, [told(odd)], { steps: [{ ...made, name: odd }, wait] })]);
    await scene().store.commit([
      tick(8, [told(odd), told("nap"), told("gone", missed)], {
        changes: [scene().succeeded(missed, { wasAttempt: 5 })],
        steps: [
          { ...made, name: odd, attempt: 2 },
          { ...made, name: "nap" },
          { ...made, name: "gone", executionId: missed.executionId },
        ],
      }),
    ]);
    const rows = await read(start);
    const ids = [odd, "nap"].map((name) => `${job.executionId}/StepRecorded/${name}`);
    assert.deepEqual(idsOf(rows), ids);
    assert.equal(rows[0]?.events[0]?.step, odd);
  });

  inboxConformance(scene, emptied);
  sinksConformance(scene, async (shard) => {
    const job = await scene().submitted({ shard });
    await emptied();
    await scene().store.commit([tick(shard, [event(job)])]);
  });

  it("forgets old events, and says so to readers that are behind", async () => {
    const { store, runtime } = scene();
    const job = await scene().submitted({ shard: 7 });
    await emptied();
    const start = await store.events.newest();
    await store.commit([tick(7, [event(job)])]);
    const middle = await store.events.newest();
    await store.maintain(runtime.now() + 60_000, { ...RETENTION, eventsMs: 3_600_000 });
    assert.equal((await read(start)).length, 1);
    await store.maintain(runtime.now() + 3_660_000, { ...RETENTION, eventsMs: 3_600_000 });
    assert.equal(await store.events.read(START, 10), null);
    assert.equal(await store.events.read(start, 10), null);
    assert.deepEqual(await read(middle), []);
    assert.deepEqual(await store.events.oldest(), middle);
    assert.deepEqual(await store.events.newest(), middle);
    await store.commit([tick(7, [event(job, { kind: "JobStarted" })])]);
    assert.deepEqual(idsOf(await read(middle)), [`${job.executionId}/1/JobStarted`]);
  });
}

/** Events that transactions other than commits leave. */
function inboxConformance(scene: () => Scene, emptied: () => Promise<LifecycleEvent[]>): void {
  const told = (events: readonly LifecycleEvent[]) => events.map((one) => `${one.kind} ${one.trigger}`).sort();

  it("leaves the event of each accepted job for its owner, once", async () => {
    const { store } = scene();
    const idempotency = { tenant: TENANT, key: "k", requestHash: "h" };
    const [plain, keyed, other] = [scene().job({ shard: 1 }), scene().job({ shard: 1 }), scene().job({ shard: 2 })];
    await store.submit([{ idempotency: null, jobs: [plain, other] }]);
    await store.submit([{ idempotency, jobs: [keyed] }]);
    await store.submit([{ idempotency, jobs: [scene().job({ shard: 1 })] }]);
    await store.submit([{ idempotency: null, jobs: [scene().job({ uniqueKey: "u", shard: 1 })] }]);
    await store.submit([{ idempotency: null, jobs: [scene().job({ uniqueKey: "u", shard: 1 })] }]);
    const ahead = { dueUntil: 0, firesUntil: 0 };
    assert.equal((await store.poll([1], ahead)).events, true);
    assert.equal((await store.poll([3], ahead)).events, false);
    const members = await store.events.readInbox([1, 2], new Set(), 10);
    assert.deepEqual(members.map(({ shard }) => shard).sort(), [1, 1, 1, 2]);
    const known = new Set(members.slice(1).map(({ id }) => id));
    assert.deepEqual(await store.events.readInbox([1, 2], known, 10), members.slice(0, 1));
    const events = await emptied();
    assert.deepEqual(
      told(events),
      Array.from({ length: 4 }, () => "JobCreated API"),
    );
    const own = events.find(({ executionId }) => executionId === plain.executionId);
    const { jobId, executionId, createdAt, definition } = plain;
    assert.deepEqual(own, {
      ...{ ...NO_EVENT_FIELDS, kind: "JobCreated", at: createdAt, executionId, jobId, tenant: TENANT },
      ...{ pool: definition.pool, handler: definition.handler, trigger: "API", state: "PENDING" },
      ...{ scheduledAt: definition.scheduledAt, createdAt, jobVersion: 1 },
    });
    assert.equal((await store.poll([1, 2], ahead)).events, false);
    assert.deepEqual(await emptied(), []);
  });

  it("leaves events of workers for the owners of shards, once for each member", async () => {
    const { store, runtime } = scene();
    const told = { ...NO_EVENT_FIELDS, at: 5, tenant: TENANT, pool: "p", handler: "", jobVersion: 0, workerId: "w" };
    const session = runtime.uuid();
    const registered: LifecycleEvent = { ...told, kind: "WorkerRegistered", session };
    const dead: LifecycleEvent = { ...told, kind: "WorkerDead", session, reason: "SILENT" };
    const member = { id: runtime.uuid(), shard: 3, events: [registered, dead] };
    await store.events.leave([member, { id: runtime.uuid(), shard: 4, events: [dead] }]);
    await store.events.leave([member]);
    const events = await emptied();
    assert.deepEqual(
      events.filter(({ kind }) => kind === "WorkerRegistered"),
      [registered],
    );
    assert.deepEqual(events.map(eventId).sort(), [
      `w/${session}/WorkerDead`,
      `w/${session}/WorkerDead`,
      `w/${session}/WorkerRegistered`,
    ]);
    assert.deepEqual(await emptied(), []);
  });

  it("leaves events of recurring jobs and of workflows", async () => {
    const job = await planned(scene());
    const [own] = await emptied();
    assert.deepEqual(
      [own?.kind, own?.executionId, own?.jobId, own?.scheduledAt],
      ["JobCreated", null, job.jobId, job.firstFireAt],
    );
    const asked = await started(scene());
    const events = await emptied();
    const roots = [0, 1].map((node) => nodeId(asked.executionId, node));
    assert.deepEqual(
      events.map((one) => [one.kind, one.executionId, one.jobId, one.workflowId, one.node]).sort(),
      [
        ["JobCreated", asked.executionId, asked.jobId, null, null],
        ["JobCreated", roots[0], null, asked.executionId, 0],
        ["JobCreated", roots[1], null, asked.executionId, 1],
        ["JobStarted", asked.executionId, asked.jobId, null, null],
      ].sort(),
    );
  });

  it("leaves events of changes of jobs", async () => {
    const { store, runtime } = scene();
    const job = await scene().submitted({ scheduledAt: runtime.now() + 60_000 });
    const { jobId, definition } = job;
    await emptied();
    const at = runtime.now();
    const asked = { tenant: TENANT, jobId, payload: null, ifVersion: null, at };
    const changed = { ...definition, priority: 9 };
    await store.jobs.replace({ ...asked, definition: changed, commandId: runtime.uuid() });
    await store.jobs.replace({ ...asked, definition: changed, commandId: runtime.uuid() });
    const [replaced, ...rest] = await emptied();
    assert.deepEqual([replaced?.kind, replaced?.jobId, replaced?.jobVersion, rest], ["JobReplaced", jobId, 2, []]);
    const deletion = { tenant: TENANT, jobId, cancelRunning: false, commandId: () => runtime.uuid(), at };
    await store.jobs.delete(deletion);
    await store.jobs.delete(deletion);
    const [deleted, ...others] = await emptied();
    assert.deepEqual([deleted?.kind, deleted?.jobId, others], ["JobDeleted", jobId, []]);
    const named = recurring(scene(), { name: "nightly" });
    await store.jobs.putNamed({ job: named, commandId: runtime.uuid() });
    assert.deepEqual(told(await emptied()), ["JobCreated null"]);
    const again = { ...scene().job({ jobId: named.jobId }), shard: named.shard, executionId: runtime.uuid() };
    await store.jobs.run({ ...again, definition: named.definition, retryOf: null, jobVersion: 1 });
    assert.deepEqual(told(await emptied()), ["JobCreated MANUAL"]);
  });

  it("leaves events of a run that is retried, once", async () => {
    const { store, runtime } = scene();
    const asked = await started(scene());
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, { state: "DEAD" })] });
    await emptied();
    const { nodes: _, graph: __, definitions: ___, payloads: ____, output: _____, ...job } = asked;
    const executionId = runtime.uuid();
    const own = { ...job, executionId, jobVersion: 1, retryOf: asked.executionId, kept: [], mapCounts: [], parts: [] };
    const roots = [birth(scene(), { ...asked, executionId }, 0, [])];
    const idempotency = { tenant: TENANT, key: "again", requestHash: "h" };
    for (const replayed of [false, true]) {
      const outcome = await store.runs.retry({ ...own, roots, idempotency });
      assert.deepEqual(outcome, { kind: "ACCEPTED", executionId, replayed });
    }
    assert.deepEqual(told(await emptied()), ["JobCreated NODE", "JobCreated RETRY", "JobStarted null"]);
  });

  it("leaves events of replays of dead letters", async () => {
    const { store, runtime } = scene();
    const job = await scene().submitted();
    await emptied();
    await scene().applied(job.shard, { changes: [scene().succeeded(job, { state: "DEAD" })] });
    const settle = (action: "REPLAY" | "DISCARD", id: string) =>
      store.deadLetters.settle({
        ...{ tenant: TENANT, action, executionIds: [id], newIds: [runtime.uuid()], at: runtime.now() },
      });
    const [letter] = await settle("REPLAY", job.executionId);
    const [created, ...rest] = await emptied();
    assert.deepEqual([created?.kind, created?.executionId, created?.trigger], ["JobCreated", letter?.newId, "RETRY"]);
    assert.deepEqual(rest, []);
    const other = await scene().submitted();
    await emptied();
    await scene().applied(other.shard, { changes: [scene().succeeded(other, { state: "DEAD" })] });
    await settle("DISCARD", other.executionId);
    assert.deepEqual(await emptied(), []);
  });
}
