import assert from "node:assert/strict";
import { it } from "node:test";
import { RUN_NODE } from "../../domain/execution.ts";
import type { NewRecurringWorkflow } from "../store-runs.ts";
import { fire, NIGHTLY, occurrence, recurrenceOf, recurring } from "./recurring-scene.conformance.ts";
import {
  birth,
  execution,
  loaded,
  nodeId,
  runEnds,
  runOpens,
  runRow,
  started,
  submitted,
  waiting,
  workflow,
} from "./runs-scene.conformance.ts";
import { ALL_SHARDS, applied, fenced, type Scene, TENANT, takeShards } from "./store-scene.conformance.ts";

/** Runs that wait for their time or their concurrency key, and commits that open them. */
export function waitingRunsConformance(scene: () => Scene): void {
  const page = { after: null, limit: 10 };

  it("keeps every field of a run that waits, and shows it to the owner and to clients", async () => {
    const { store } = scene();
    const asked = waiting(scene(), { name: "etl", concurrencyKey: "key", concurrencyLimit: 18, rank: -7.5 }, "READY");
    await submitted(scene(), asked);
    const row = runRow(asked);
    assert.deepEqual([row.state, row.queue, row.startedAt], ["PENDING", "READY", null]);
    assert.deepEqual(await store.load([asked.executionId]), [row]);
    assert.deepEqual(await store.readReady(ALL_SHARDS, asked.laneHash, null, 10), [row]);
    const run = await loaded(scene(), asked);
    assert.deepEqual([run.row, run.mode, run.revision, run.executions], [row, "RUNNING", 1, []]);
    assert.deepEqual(await store.runs.openRuns(ALL_SHARDS, null, 10), []);
    const view = await store.queries.getRun(TENANT, asked.executionId);
    assert.deepEqual([view?.state, view?.startedAt, view?.name, view?.counts], ["PENDING", null, "etl", {}]);
    const { items } = await store.queries.listRuns(TENANT, { state: "PENDING" }, page);
    assert.deepEqual(
      items.map(({ executionId }) => executionId),
      [asked.executionId],
    );
  });

  it("finds a run by the time for which it waits", async () => {
    const { store, runtime } = scene();
    const scheduledAt = runtime.now() + 60_000;
    const asked = waiting(scene(), { scheduledAt }, "WAITING");
    await submitted(scene(), asked);
    assert.deepEqual(await store.readWaiting(ALL_SHARDS, scheduledAt - 1, 10), []);
    assert.deepEqual(await store.readWaiting(ALL_SHARDS, scheduledAt, 10), [runRow(asked)]);
  });

  it("opens a run in the commit that creates its first nodes", async () => {
    const asked = waiting(scene(), {}, "READY");
    await submitted(scene(), asked);
    const deadline = scene().runtime.now() + 12_345;
    const change = runOpens(scene(), asked, deadline);
    const births = [0, 1].map((node) => ({ ...birth(scene(), asked, node), after: [asked.executionId] }));
    await scene().applied(asked.shard, { changes: [change], births });
    const { row, executions, revision } = await loaded(scene(), asked);
    const { state, queue, dueAt, startedAt } = row;
    assert.deepEqual([state, queue, dueAt, startedAt], ["RUNNING", "OPEN", deadline, change.startedAt]);
    assert.deepEqual([executions, revision], [[execution(asked, 0), execution(asked, 1)], 1]);
    const open = [{ dueAt: deadline, id: asked.executionId }];
    assert.deepEqual(await scene().store.runs.openRuns(ALL_SHARDS, null, 10), open);
    assert.deepEqual(await scene().store.readReady(ALL_SHARDS, asked.laneHash, null, 10), []);
  });

  it("neither opens a run twice nor one that has ended, and creates no node of it then", async () => {
    const [opened, ended] = [waiting(scene(), {}, "READY"), waiting(scene(), {}, "READY")];
    for (const asked of [opened, ended]) await submitted(scene(), asked);
    await scene().applied(opened.shard, { changes: [runOpens(scene(), opened, 7)] });
    const end = { state: "CANCELLED", queue: "NONE", startedAt: null, finishedAt: 3 } as const;
    await scene().applied(ended.shard, { changes: [{ ...runOpens(scene(), ended, 7), ...end }] });
    for (const asked of [opened, ended]) {
      const births = [{ ...birth(scene(), asked, 0), after: [asked.executionId] }];
      const tick = scene().tick(asked.shard, { changes: [runOpens(scene(), asked, 8)], births });
      assert.deepEqual(await scene().store.commit([tick]), [
        { ...applied(asked.shard), missed: [asked.executionId], notBorn: [nodeId(asked.executionId, 0)] },
      ]);
    }
    const { row, executions } = await loaded(scene(), opened);
    assert.deepEqual([row.dueAt, executions], [7, []]);
    assert.deepEqual(await scene().store.runs.load([ended.executionId]), []);
  });

  it("opens nothing under an old epoch", async () => {
    const asked = waiting(scene(), {}, "READY");
    await submitted(scene(), asked);
    const births = [{ ...birth(scene(), asked, 0), after: [asked.executionId] }];
    const tick = scene().tick(asked.shard, { changes: [runOpens(scene(), asked, 8)], births });
    await takeShards(scene().store, [asked.shard], scene().runtime.uuid());
    assert.deepEqual(await scene().store.commit([tick]), [fenced(asked.shard)]);
    assert.deepEqual(await loaded(scene(), asked).then(({ row, executions }) => [row, executions]), [
      runRow(asked),
      [],
    ]);
  });

  it("names to a new owner every open run that holds a place of its concurrency key", async () => {
    const key = { concurrencyKey: "key", concurrencyLimit: 3, shard: 5 };
    const open = await started(scene(), key);
    const ended = await started(scene(), key);
    await scene().applied(5, { changes: [runEnds(scene(), ended)] });
    await started(scene(), { shard: 5 });
    await started(scene(), { ...key, shard: 6 });
    await submitted(scene(), waiting(scene(), key, "READY"));
    const expected = [{ id: open.executionId, shard: 5, tenant: TENANT, concurrencyKey: "key", concurrencyLimit: 3 }];
    assert.deepEqual((await scene().store.recover([5])).keyedRuns, expected);
    await scene().store.maintain(scene().runtime.now(), { days: 30, deadDays: 90 });
    assert.deepEqual((await scene().store.recover([5])).keyedRuns, expected);
  });

  /** A recurring workflow of four nodes, which was submitted. */
  const planned = async (sample: Parameters<typeof recurring>[1] = {}): Promise<NewRecurringWorkflow> => {
    const job = recurring(scene(), { recurrence: { ...NIGHTLY, startsWorkflow: true }, ...sample });
    const { nodes, graph, definitions, payloads, output } = workflow(scene(), { output: Buffer.from('"result"') });
    const asked = { ...job, nodes, graph, definitions, payloads, output };
    const { jobId } = job;
    assert.deepEqual(await scene().store.submit([{ idempotency: null, jobs: [asked] }]), [
      { kind: "ACCEPTED", replayed: false, jobs: [{ jobId, executionId: null, deduplicated: false }] },
    ]);
    return asked;
  };
  const runAt = (asked: NewRecurringWorkflow, at: number) => {
    const made = occurrence(scene(), asked, at);
    return { ...made, row: { ...made.row, node: RUN_NODE } };
  };

  it("makes planned instants of a workflow runs that wait, beside those of a job", async () => {
    const [asked, job] = [await planned({ shard: 1 }), recurring(scene(), { shard: 1 })];
    await scene().store.submit([{ idempotency: null, jobs: [job] }]);
    const found = await recurrenceOf(scene(), asked);
    assert.deepEqual(found.definition, asked.definition);
    const { firstFireAt: at } = asked;
    const [first, second, other] = [runAt(asked, at), runAt(asked, at + 1), occurrence(scene(), job, at)];
    const plans = [fire(scene(), asked, { created: [first, second] }), fire(scene(), job, { created: [other] })];
    await scene().applied(1, { plans });
    assert.deepEqual(await scene().store.load([first.row.id, other.row.id]), [first.row, other.row]);
    const loadedRuns = await scene().store.runs.load([first.row.id, second.row.id, other.row.id]);
    assert.deepEqual(
      loadedRuns.map(({ row, mode, revision }) => [row, mode, revision]),
      [first, second].map(({ row }) => [row, "RUNNING", 1]),
    );
    const change = { ...runOpens(scene(), { ...asked, executionId: first.row.id, rank: 1 }, 9), rank: first.row.rank };
    await scene().applied(1, { changes: [change] });
    const { open } = await recurrenceOf(scene(), asked);
    assert.deepEqual(open, [second.row.id], "the plan names the last run only");
    const view = await scene().store.queries.getRun(TENANT, first.row.id);
    assert.deepEqual([view?.state, view?.scheduledAt, view?.nodes], ["RUNNING", at, 4]);
  });

  it("lists a run that was skipped because its unique key is held", async () => {
    const asked = await planned({ shard: 1, uniqueKey: "etl" });
    const holder = await started(scene(), { shard: 1, uniqueKey: "etl" });
    const first = runAt(asked, asked.firstFireAt);
    const tick = scene().tick(1, { plans: [fire(scene(), asked, { created: [first] })] });
    assert.deepEqual(await scene().store.commit([tick]), [{ ...applied(1), notCreated: [first.row.id] }]);
    const { items } = await scene().store.queries.listRuns(TENANT, {}, page);
    const states = Object.fromEntries(items.map(({ executionId, state, reason }) => [executionId, [state, reason]]));
    assert.deepEqual(states, {
      [holder.executionId]: ["RUNNING", null],
      [first.row.id]: ["SKIPPED", "UNIQUE_KEY_HELD"],
    });
  });

  it("starts a run of a recurring workflow on request, and repeats none", async () => {
    const asked = await planned();
    const { jobId, shard, definition } = asked;
    const again = {
      ...scene().job({ ...definition, jobId, shard, executionId: scene().runtime.uuid() }),
      jobVersion: 1,
    };
    assert.deepEqual(await scene().store.jobs.run({ ...again, retryOf: null }), { kind: "ACCEPTED" });
    const { row, stored } = await loaded(scene(), again);
    assert.deepEqual([row.node, row.state, Buffer.from(stored?.graph ?? [])], [RUN_NODE, "PENDING", asked.graph]);
    const repeated = { ...again, executionId: scene().runtime.uuid(), retryOf: again.executionId };
    assert.deepEqual(await scene().store.jobs.run(repeated), { kind: "IS_WORKFLOW" });
  });
}
