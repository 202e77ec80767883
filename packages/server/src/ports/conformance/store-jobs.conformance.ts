import assert from "node:assert/strict";
import { it } from "node:test";
import { laneHash } from "../../domain/lane.ts";
import type { NewJob, RowChange } from "../store.ts";
import type { ReplaceCommand } from "../store-commands.ts";
import type { Settlement } from "../store-dead-letters.ts";
import type { JobReplacement, NewRun } from "../store-jobs.ts";
import { ALL_SHARDS, type JobSample, type Scene, TENANT } from "./store-scene.conformance.ts";

const PAYLOAD = Buffer.from('"second"');

export function jobsConformance(scene: () => Scene): void {
  it("replaces a job's definition and tells its owner, and leaves the execution to it", async () => {
    const job = await scene().submitted({ payload: Buffer.from("1"), labels: { team: "a" } });
    const asked = replacement(scene(), job, { handler: "other", requires: ["gpu"], priority: 9, labels: { b: "c" } });
    const outcome = await scene().store.jobs.replace(asked);
    const command = commandOf(job, asked);
    assert.deepEqual(outcome, { kind: "REPLACED", version: 2, command });
    assert.deepEqual(await scene().store.readCommands([job.shard], new Set(), 10), [command]);
    assert.deepEqual((await scene().store.recover([job.shard])).commands, [command]);
    const view = await scene().store.queries.getJob(TENANT, job.jobId);
    assert.deepEqual(view?.definition, asked.definition);
    assert.deepEqual(Buffer.from(view.payload ?? []), PAYLOAD);
    assert.deepEqual([view.version, view.state, view.updatedAt], [2, "ACTIVE", asked.at]);
    const [row] = await scene().store.load([job.executionId]);
    assert.deepEqual([row?.handler, row?.jobVersion], ["echo", 1]);
    assert.deepEqual((await scene().store.payloads([job.executionId])).get(job.executionId), Buffer.from("1"));
  });

  it("lets the execution follow in the owner's commit, with all that it is a copy of", async () => {
    const job = await scene().submitted({ payload: Buffer.from("1"), policy: policy(3), requires: ["cpu"] });
    const now = scene().runtime.now();
    const fields = { pool: "p2", handler: "other", requires: [], priority: 1, scheduledAt: now + 60_000 };
    const asked = replacement(scene(), job, { ...fields, policy: policy(7), concurrencyLimit: 4 });
    const command = await replaced(scene(), asked);
    const change = following(scene(), job, command);
    const other = await scene().submitted({ shard: job.shard, payload: Buffer.from("2"), policy: policy(2) });
    await scene().applied(job.shard, { changes: [change, scene().running(other)], commandsDone: [command.id] });

    const [row] = await scene().store.load([job.executionId]);
    assert.deepEqual(
      { ...row, policy: row?.policy },
      {
        ...{ ...fields, id: job.executionId, jobId: job.jobId, shard: job.shard, tenant: TENANT, state: "PENDING" },
        ...{ queue: "WAITING", attempt: 1, failures: 0, lost: 0, startedAt: null, rank: 42, dueAt: now + 60_000 },
        ...{ jobVersion: 2, payloadBytes: PAYLOAD.length, policy: policy(7), concurrencyLimit: 4 },
        ...{ concurrencyKey: null, hasUniqueKey: false },
      },
    );
    assert.deepEqual(
      Buffer.from((await scene().store.payloads([job.executionId])).get(job.executionId) ?? []),
      PAYLOAD,
    );
    assert.deepEqual(await scene().ready(job), []);
    assert.deepEqual(await scene().store.readCommands(ALL_SHARDS, new Set(), 10), []);
    const [untouched] = await scene().store.load([other.executionId]);
    assert.deepEqual([untouched?.handler, untouched?.jobVersion, untouched?.policy], ["echo", 1, policy(2)]);
    assert.equal((await scene().store.payloads([other.executionId])).get(other.executionId)?.length, 1);
  });

  it("finds a replaced execution in its new lane", async () => {
    const job = await scene().submitted();
    const command = await replaced(scene(), replacement(scene(), job, { handler: "other" }));
    const change = following(scene(), job, command, { queue: "READY" });
    await scene().applied(job.shard, { changes: [change], commandsDone: [command.id] });
    assert.deepEqual(await scene().ready(job), []);
    const hash = change.replacement?.laneHash ?? 0;
    assert.deepEqual(
      (await scene().store.readReady(ALL_SHARDS, hash, null, 10)).map(({ id }) => id),
      [job.executionId],
    );
  });

  it("keeps the payload that a running execution started with, over several versions", async () => {
    const job = await scene().submitted({ payload: Buffer.from("1") });
    await scene().applied(job.shard, { changes: [scene().running(job)] });
    for (const handler of ["second", "third"]) await replaced(scene(), replacement(scene(), job, { handler }));
    await scene().store.maintain(scene().runtime.now(), { days: 30, deadDays: 90 });
    assert.deepEqual(
      Buffer.from((await scene().store.payloads([job.executionId])).get(job.executionId) ?? []),
      Buffer.from("1"),
    );
    const view = await scene().store.queries.getExecution(TENANT, job.executionId);
    assert.deepEqual([Buffer.from(view?.payload ?? []), view?.jobVersion], [Buffer.from("1"), 1]);
    assert.equal((await scene().store.queries.getJob(TENANT, job.jobId))?.version, 3);
  });

  it("keeps the payload of a version that an open command brings to an execution", async () => {
    const job = await scene().submitted({ payload: Buffer.from("1") });
    const command = await replaced(scene(), replacement(scene(), job, { handler: "second" }));
    await replaced(scene(), { ...replacement(scene(), job, { handler: "third" }), payload: Buffer.from("3") });
    await scene().store.maintain(scene().runtime.now(), { days: 30, deadDays: 90 });
    const change = following(scene(), job, command);
    await scene().applied(job.shard, { changes: [change], commandsDone: [command.id] });
    const found = (await scene().store.payloads([job.executionId])).get(job.executionId);
    assert.deepEqual(Buffer.from(found ?? []), PAYLOAD);
  });

  it("changes nothing where it says no", async () => {
    const [job, done, gone] = [
      await scene().submitted({ concurrencyKey: "k", uniqueKey: "u" }),
      await scene().submitted(),
      await scene().submitted(),
    ];
    await scene().applied(done.shard, { changes: [scene().succeeded(done)] });
    const { jobs, queries, readCommands } = scene().store;
    await jobs.delete({ ...deletion(scene(), gone), cancelRunning: false });
    const before = await readCommands(ALL_SHARDS, new Set(), 10);
    const no = async (of: NewJob, more: Partial<JobReplacement>, sample: JobSample = {}) => {
      return jobs.replace({ ...replacement(scene(), of, sample), ...more });
    };
    assert.deepEqual(await no(job, { ifVersion: 2 }), { kind: "OTHER_VERSION", version: 1 });
    assert.deepEqual(await no(job, {}, { concurrencyKey: "l" }), {
      ...{ kind: "KEY_DIFFERS", key: "concurrencyKey", value: "k" },
    });
    assert.deepEqual(await no(job, {}, { uniqueKey: null }), { kind: "KEY_DIFFERS", key: "uniqueKey", value: "u" });
    assert.deepEqual(await no(done, {}), { kind: "WRONG_STATE", state: "FINISHED" });
    assert.deepEqual(await no(gone, {}), { kind: "WRONG_STATE", state: "DELETED" });
    assert.deepEqual(await no(job, { tenant: "acme" }), { kind: "NOT_FOUND" });
    assert.deepEqual(await no(job, { jobId: scene().runtime.uuid() }), { kind: "NOT_FOUND" });
    assert.deepEqual(await no(job, { definition: job.definition, payload: null }), {
      ...{ kind: "UNCHANGED", jobId: job.jobId, version: 1, executionIds: [job.executionId] },
      scheduledAt: job.definition.scheduledAt,
    });
    assert.deepEqual(await readCommands(ALL_SHARDS, new Set(), 10), before);
    assert.equal((await queries.getJob(TENANT, job.jobId))?.version, 1);
  });

  it("takes one of two replacements that expect the same version", async () => {
    const job = await scene().submitted();
    const both = ["a", "b"].map((handler) => ({ ...replacement(scene(), job, { handler }), ifVersion: 1 }));
    const outcomes = await Promise.all(both.map((asked) => scene().store.jobs.replace(asked)));
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["OTHER_VERSION", "REPLACED"]);
    assert.equal((await scene().store.readCommands([job.shard], new Set(), 10)).length, 1);
  });

  it("puts by name: makes a job, then replaces it, then makes another when that has ended", async () => {
    const { jobs } = scene().store;
    const put = (sample: JobSample = {}) => {
      const job = scene().job({ name: "nightly", ...sample });
      return jobs.putNamed({ job, commandId: scene().runtime.uuid() }).then((outcome) => ({ job, outcome }));
    };
    const first = await put();
    assert.deepEqual(first.outcome, { kind: "CREATED" });
    assert.equal((await put()).outcome.kind, "UNCHANGED");
    const second = await put({ handler: "other" });
    assert.equal(second.outcome.kind === "REPLACED" && second.outcome.command.jobId, first.job.jobId);
    assert.equal(await scene().store.queries.getJob(TENANT, second.job.jobId), null);
    await scene().applied(first.job.shard, { changes: [scene().succeeded(first.job)] });
    assert.deepEqual((await put()).outcome, { kind: "CREATED" });
  });

  it("makes one job where two puts of a name come at once, and does not guess between several", async () => {
    const { jobs } = scene().store;
    const put = (name: string) => jobs.putNamed({ job: scene().job({ name }), commandId: scene().runtime.uuid() });
    const outcomes = await Promise.all([put("once"), put("once"), put("once")]);
    assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["CREATED", "UNCHANGED", "UNCHANGED"]);
    const two = [await scene().submitted({ name: "twice" }), await scene().submitted({ name: "twice" })];
    const outcome = await put("twice");
    assert.ok(outcome.kind === "AMBIGUOUS");
    assert.deepEqual(outcome.jobIds.sort(), two.map(({ jobId }) => jobId).sort());
  });

  it("keeps the names of one tenant apart from those of another", async () => {
    const { jobs } = scene().store;
    for (let i = 0; i < 2; i++) await scene().submitted({ name: "n" });
    const put = (sample: JobSample) => {
      const job = scene().job({ ...sample, name: "n", tenant: "acme" });
      return jobs.putNamed({ job, commandId: scene().runtime.uuid() }).then((outcome) => ({ job, outcome }));
    };
    const first = await put({});
    assert.deepEqual(first.outcome, { kind: "CREATED" });
    const { outcome } = await put({ handler: "other" });
    assert.equal(outcome.kind === "REPLACED" && outcome.command.jobId, first.job.jobId);
  });

  it("does not count a deleted job among those that have a name, though its execution has not ended", async () => {
    const { jobs } = scene().store;
    const deleted = await scene().submitted({ name: "n" });
    await jobs.delete(deletion(scene(), deleted));
    const job = scene().job({ name: "n" });
    assert.deepEqual(await jobs.putNamed({ job, commandId: scene().runtime.uuid() }), { kind: "CREATED" });
    const changed = scene().job({ name: "n", handler: "other" });
    const outcome = await jobs.putNamed({ job: changed, commandId: scene().runtime.uuid() });
    assert.equal(outcome.kind === "REPLACED" && outcome.command.jobId, job.jobId);
  });

  it("does not put a named job whose unique key another one holds", async () => {
    const holder = await scene().submitted({ uniqueKey: "u1" });
    const job = scene().job({ name: "n", uniqueKey: "u1" });
    const outcome = await scene().store.jobs.putNamed({ job, commandId: scene().runtime.uuid() });
    assert.deepEqual(outcome, { kind: "KEY_HELD", jobId: holder.jobId });
    assert.equal(await scene().store.queries.getJob(TENANT, job.jobId), null);
  });

  it("deletes a job, keeps its history, and leaves what has not ended to its owner", async () => {
    const { jobs, queries, readCommands } = scene().store;
    const job = await scene().submitted();
    const outcome = await jobs.delete(deletion(scene(), job));
    assert.ok(outcome.kind === "DELETED");
    assert.deepEqual(
      outcome.commands.map(({ kind }) => kind),
      ["CANCEL", "DELETE"],
    );
    assert.deepEqual(await readCommands([job.shard], new Set(), 10), outcome.commands);
    const commandsDone = outcome.commands.map(({ id }) => id);
    await scene().applied(job.shard, { changes: [scene().succeeded(job, { state: "CANCELLED" })], commandsDone });
    assert.deepEqual(await jobs.delete(deletion(scene(), job)), { kind: "DELETED", commands: [] });
    assert.deepEqual(await jobs.delete({ ...deletion(scene(), job), tenant: "acme" }), { kind: "NOT_FOUND" });
    const view = await queries.getJob(TENANT, job.jobId);
    assert.deepEqual([view?.state, view?.latestExecutions.length], ["DELETED", 1]);
    const listed = async (state: "ACTIVE" | "FINISHED" | "DELETED") => {
      return (await queries.listJobs(TENANT, { state }, { after: null, limit: 10 })).items.length;
    };
    assert.deepEqual([await listed("ACTIVE"), await listed("FINISHED"), await listed("DELETED")], [0, 0, 1]);
  });

  it("runs a job again by the definition that it has now, once its executions are final", async () => {
    const { jobs, queries, load, payloads } = scene().store;
    const job = await scene().submitted({ payload: Buffer.from("1"), uniqueKey: "u1" });
    await scene().applied(job.shard, { changes: [scene().running(job)] });
    const asked = replacement(scene(), job, { handler: "other" });
    const command = await replaced(scene(), asked);
    const again = retryOf(scene(), job, asked);
    assert.deepEqual(await jobs.run(again), { kind: "NOT_FINAL", executionId: job.executionId });
    const dead = scene().succeeded(job, { wasState: "RUNNING", wasAttempt: 1, state: "DEAD", releaseUniqueKey: true });
    await scene().applied(job.shard, { changes: [dead], commandsDone: [command.id] });
    assert.deepEqual(await jobs.run({ ...again, jobVersion: 1 }), { kind: "OTHER_VERSION", version: 2 });
    assert.deepEqual(await jobs.run(again), { kind: "ACCEPTED" });

    const [row] = await load([again.executionId]);
    assert.deepEqual(
      [row?.handler, row?.jobVersion, row?.attempt, row?.queue, row?.hasUniqueKey],
      ["other", 2, 0, "READY", true],
    );
    assert.deepEqual(Buffer.from((await payloads([again.executionId])).get(again.executionId) ?? []), PAYLOAD);
    const view = await queries.getExecution(TENANT, again.executionId);
    assert.deepEqual([view?.trigger, view?.retryOf], ["RETRY", job.executionId]);
    const first = await queries.getExecution(TENANT, job.executionId);
    assert.deepEqual(
      [first?.trigger, first?.retryOf, Buffer.from(first?.payload ?? [])],
      ["API", null, Buffer.from("1")],
    );
    const twice = { ...again, executionId: scene().runtime.uuid() };
    assert.deepEqual(await jobs.run(twice), { kind: "NOT_FINAL", executionId: again.executionId });
    const view2 = await queries.getJob(TENANT, job.jobId);
    assert.deepEqual(
      [view2?.state, view2?.latestExecutions.map(({ executionId }) => executionId)],
      ["ACTIVE", [again.executionId, job.executionId]],
    );
  });

  it("settles the dead letter that it runs again, which is not replayed as well", async () => {
    const { jobs, deadLetters } = scene().store;
    const job = await scene().submitted();
    await scene().applied(job.shard, { changes: [scene().succeeded(job, { state: "DEAD" })] });
    const again = { ...retryOf(scene(), job, job), jobVersion: 1 };
    const [retried, [replayed]] = await Promise.all([jobs.run(again), deadLetters.settle(replay(scene(), job))]);
    const isRetried = retried.kind === "ACCEPTED";
    assert.equal(replayed?.outcome, isRetried ? "NOT_A_DEAD_LETTER" : "SETTLED", retried.kind);
    const view = await scene().store.queries.getJob(TENANT, job.jobId);
    const made = isRetried ? again.executionId : replayed?.newId;
    assert.deepEqual(
      view?.latestExecutions.map(({ executionId }) => executionId),
      [made, job.executionId],
    );
    assert.deepEqual((await deadLetters.list(TENANT, {}, { after: null, limit: 10 })).items, []);
    const [later] = await deadLetters.settle(replay(scene(), job));
    assert.equal(later?.outcome, "NOT_A_DEAD_LETTER");
  });

  it("replays no dead letter of a deleted job, but discards it", async () => {
    const { jobs, deadLetters } = scene().store;
    const job = await scene().submitted();
    await scene().applied(job.shard, { changes: [scene().succeeded(job, { state: "DEAD" })] });
    await jobs.delete(deletion(scene(), job));
    const [replayed] = await deadLetters.settle(replay(scene(), job));
    assert.equal(replayed?.outcome, "NOT_A_DEAD_LETTER");
    const [discarded] = await deadLetters.settle({ ...replay(scene(), job), action: "DISCARD" });
    assert.equal(discarded?.outcome, "SETTLED");
  });

  it("replays a dead letter by the version that it died of", async () => {
    const { deadLetters, load, payloads } = scene().store;
    const job = await scene().submitted({ payload: Buffer.from("1") });
    await scene().applied(job.shard, { changes: [scene().running(job)] });
    const command = await replaced(scene(), replacement(scene(), job, { handler: "other" }));
    const dead = scene().succeeded(job, { wasState: "RUNNING", wasAttempt: 1, state: "DEAD" });
    await scene().applied(job.shard, { changes: [dead], commandsDone: [command.id] });
    const [settled] = await deadLetters.settle(replay(scene(), job));
    assert.ok(settled?.newId);
    const [row] = await load([settled.newId]);
    assert.deepEqual([row?.handler, row?.jobVersion], ["echo", 1]);
    assert.deepEqual(Buffer.from((await payloads([settled.newId])).get(settled.newId) ?? []), Buffer.from("1"));
  });

  it("runs nothing again of a deleted job, of none, or while another job holds the unique key", async () => {
    const { jobs } = scene().store;
    const job = await scene().submitted({ uniqueKey: "u1" });
    await scene().applied(job.shard, { changes: [scene().succeeded(job, { releaseUniqueKey: true })] });
    const holder = await scene().submitted({ uniqueKey: "u1" });
    const again = { ...retryOf(scene(), job, job), jobVersion: 1 };
    assert.deepEqual(await jobs.run(again), { kind: "KEY_HELD", executionId: holder.executionId });
    assert.deepEqual(await jobs.run({ ...again, retryOf: holder.executionId }), { kind: "NOT_FOUND" });
    await jobs.delete(deletion(scene(), job));
    assert.deepEqual(await jobs.run(again), { kind: "DELETED" });
  });

  it("filters jobs by labels: by a key, by a key and its value, by all of several", async () => {
    const [both, one] = [
      await scene().submitted({ labels: { team: "billing", "x=y": "ä" } }),
      await scene().submitted({ labels: { team: "search" } }),
      await scene().submitted(),
    ];
    const listed = async (...labels: string[]) => {
      const { items } = await scene().store.queries.listJobs(TENANT, { labels }, { after: null, limit: 10 });
      return items.map(({ jobId }) => jobId);
    };
    assert.deepEqual(await listed("team"), [one.jobId, both.jobId]);
    assert.deepEqual(await listed("team=billing"), [both.jobId]);
    assert.deepEqual(await listed("team", "x=y=ä"), [both.jobId]);
    assert.deepEqual(await listed("team=search", "x=y"), []);
    assert.deepEqual(await listed("billing"), []);
  });
}

function policy(maxAttempts: number) {
  const retry = { maxAttempts, backoff: "FIXED" as const, initialDelayMs: 5, maxDelayMs: 9, jitter: false };
  return { retry, timeoutMs: 1, cancelGraceMs: 2, maxLost: 3, onWorkerLost: "DEAD" as const, startBefore: null };
}

/** Request of a PUT: the job as submitted, with the fields of the sample. */
function replacement(scene: Scene, job: NewJob, sample: JobSample): JobReplacement {
  const { jobId, tenant } = job;
  const { definition } = scene.job({ ...job.definition, ...sample });
  const [commandId, at] = [scene.runtime.uuid(), scene.runtime.now()];
  return { tenant, jobId, definition, payload: PAYLOAD, ifVersion: null, commandId, at };
}

async function replaced(scene: Scene, asked: JobReplacement): Promise<ReplaceCommand> {
  const outcome = await scene.store.jobs.replace(asked);
  assert.ok(outcome.kind === "REPLACED" && outcome.command.kind === "REPLACE", outcome.kind);
  return outcome.command;
}

function commandOf({ shard, jobId, executionId }: NewJob, asked: JobReplacement): ReplaceCommand {
  const { commandId: id, definition } = asked;
  const payloadBytes = PAYLOAD.length;
  return { id, shard, kind: "REPLACE", jobId, executionIds: [executionId], version: 2, definition, payloadBytes };
}

/** Change that an owner makes for the command, to an execution that waits. */
function following(scene: Scene, job: NewJob, command: ReplaceCommand, more: Partial<RowChange> = {}): RowChange {
  const { definition, version: jobVersion, payloadBytes } = command;
  const { scheduledAt } = definition;
  return {
    ...scene.succeeded(job, { state: "PENDING", queue: "WAITING", startedAt: null, finishedAt: null, ended: [] }),
    ...{ rank: 42, dueAt: scheduledAt, ...more },
    replacement: { jobVersion, definition, payloadBytes, laneHash: laneHash({ ...definition, tenant: job.tenant }) },
  };
}

function deletion(scene: Scene, { jobId, tenant }: NewJob) {
  const { runtime } = scene;
  return { tenant, jobId, cancelRunning: true, commandId: () => runtime.uuid(), at: runtime.now() };
}

function replay({ runtime }: Scene, { tenant, executionId }: NewJob): Settlement {
  const action = "REPLAY" as const;
  return { tenant, action, executionIds: [executionId], newIds: [runtime.uuid()], at: runtime.now() };
}

function retryOf(scene: Scene, job: NewJob, now: Pick<NewJob, "definition" | "payload">): NewRun {
  const { definition, payload } = now;
  const { jobId, executionId, shard } = job;
  return {
    ...scene.job({ ...definition, jobId, executionId: scene.runtime.uuid(), shard, payload }),
    ...{ retryOf: executionId, jobVersion: 2 },
  };
}
