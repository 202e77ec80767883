import assert from "node:assert/strict";
import { it } from "node:test";
import type { RowChange, ShardCommit, ShardOutcome } from "../store.ts";
import type { NewWorkflow, RunChange } from "../store-runs.ts";
import { birth, born, execution, loaded, nodeEnds, nodeId, runRow, started } from "./runs-scene.conformance.ts";
import { ALL_SHARDS, applied, type Scene, TENANT } from "./store-scene.conformance.ts";

/** Runs that are paused, nodes that are parked, and changes of runs that follow from ends. */
export function pausedRunsConformance(scene: () => Scene): void {
  const commit = async ({ shard }: NewWorkflow, parts: Partial<ShardCommit>): Promise<ShardOutcome> => {
    const [outcome] = await scene().store.commit([scene().tick(shard, parts)]);
    assert.ok(outcome);
    return outcome;
  };
  const change = ({ executionId: run }: NewWorkflow, more: Partial<RunChange> = {}): RunChange => {
    return { run, wasRevision: 1, revision: 2, mode: "RUNNING", paused: true, ...more };
  };
  /** The owner's write that parks a node which was never assigned. */
  const parks = (asked: NewWorkflow, node: number, more: Partial<RowChange> = {}): RowChange =>
    nodeEnds(scene(), asked, node, {
      ...{ state: "PENDING", attempt: 0, queue: "PARKED", startedAt: null, finishedAt: null, ended: [] },
      ...more,
    });

  it("keeps whether a run is paused beside its mode, for owners and for the api", async () => {
    const asked = await started(scene());
    const { executionId: run } = asked;
    const told = async () => {
      const { mode, paused, revision } = await loaded(scene(), asked);
      const view = await scene().store.queries.getRun(TENANT, run);
      const page = await scene().store.queries.listRuns(TENANT, {}, { after: null, limit: 10 });
      assert.deepEqual([view?.mode, view?.paused, view?.revision], [mode, paused, revision]);
      assert.deepEqual(
        page.items.map((item) => [item.mode, item.paused]),
        [[mode, paused]],
      );
      return [mode, paused, revision];
    };
    assert.deepEqual(await told(), ["RUNNING", false, 1]);
    await scene().applied(asked.shard, { runs: [change(asked)] });
    assert.deepEqual(await told(), ["RUNNING", true, 2]);
    await scene().applied(asked.shard, { runs: [change(asked, { wasRevision: 2, revision: 5, mode: "FAILING" })] });
    assert.deepEqual(await told(), ["FAILING", true, 5]);
    await scene().applied(asked.shard, { runs: [change(asked, { wasRevision: 5, revision: 6, paused: false })] });
    assert.deepEqual(await told(), ["RUNNING", false, 6]);
  });

  it("keeps the outcome of a run that compensates its nodes, for owners and for the api", async () => {
    const asked = await started(scene());
    const { executionId: run } = asked;
    const error = { name: "NodeDead", message: "its node é is DEAD" };
    const outcome = { state: "DEAD", reason: "NODE_DEAD", error } as const;
    const told = async () => {
      const { outcome: read } = await loaded(scene(), asked);
      const view = await scene().store.queries.getRun(TENANT, run);
      const page = await scene().store.queries.listRuns(TENANT, {}, { after: null, limit: 10 });
      assert.deepEqual([view?.outcome, page.items[0]?.outcome], [read, read]);
      return read;
    };
    assert.equal(await told(), null);
    await scene().applied(asked.shard, { runs: [change(asked, { paused: false, outcome })] });
    assert.deepEqual(await told(), outcome);
    await scene().applied(asked.shard, { runs: [change(asked, { wasRevision: 2, revision: 3 })] });
    assert.deepEqual(await told(), outcome, "a later change keeps it");
  });

  it("finds a parked node by its id and by its run, and in no queue", async () => {
    const asked = await started(scene());
    const dueAt = scene().runtime.now() - 1;
    const parked = { dueAt, rank: -7.5, failures: 2, reason: "BACKOFF" } as const;
    await scene().applied(asked.shard, { changes: [parks(asked, 0, parked), parks(asked, 1)], runs: [change(asked)] });
    const { store } = scene();
    const [row] = await store.load([nodeId(asked.executionId, 0)]);
    assert.deepEqual([row?.queue, row?.dueAt, row?.rank, row?.failures], ["PARKED", dueAt, -7.5, 2]);
    assert.deepEqual((await loaded(scene(), asked)).executions, [
      execution(asked, 0, { isParked: true }),
      execution(asked, 1, { isParked: true }),
    ]);
    const [root] = asked.roots;
    assert.deepEqual(await store.readReady(ALL_SHARDS, root?.laneHash ?? 0, null, 10), []);
    assert.deepEqual(await store.readWaiting(ALL_SHARDS, dueAt + 1_000, 10), []);
    assert.deepEqual(await store.readLanes(null, 10), []);
    assert.deepEqual((await store.recover(ALL_SHARDS)).inFlight, []);
    const { items } = await store.queries.listNodes(TENANT, asked.executionId, {}, { after: null, limit: 10 });
    assert.deepEqual(
      items.map(({ state }) => state),
      ["PENDING", "PENDING"],
    );
  });

  it("gives a parked node back to its queue", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, { changes: [parks(asked, 0), parks(asked, 1)] });
    const dueAt = scene().runtime.now() + 500;
    const free = [parks(asked, 0, { queue: "READY" }), parks(asked, 1, { queue: "WAITING", dueAt })];
    await scene().applied(asked.shard, { changes: free });
    const ready = await scene().store.readReady(ALL_SHARDS, asked.roots[0]?.laneHash ?? 0, null, 10);
    const waiting = await scene().store.readWaiting(ALL_SHARDS, dueAt, 10);
    assert.deepEqual(
      [...ready, ...waiting].map(({ id }) => id),
      [0, 1].map((node) => nodeId(asked.executionId, node)),
    );
  });

  it("misses a hinted node that is parked", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, { changes: [parks(asked, 0)] });
    const expected = [0, 1].map((node) => ({ id: nodeId(asked.executionId, node), attempt: 0, isNode: true as const }));
    assert.deepEqual(await commit(asked, { expected }), {
      ...applied(asked.shard),
      missed: [nodeId(asked.executionId, 0)],
    });
  });

  it("changes a run that follows from an end only if the end is written, and creates no node then", async () => {
    const asked = await started(scene());
    const [first, second] = [0, 1].map((node) => nodeId(asked.executionId, node)) as [string, string];
    const failing = change(asked, { mode: "FAILING", paused: false, after: [first, second] });
    const missed = nodeEnds(scene(), asked, 1, { wasAttempt: 3, attempt: 4 });
    const parts = { changes: [nodeEnds(scene(), asked, 0), missed], births: [birth(scene(), asked, 2, [0])] };
    assert.deepEqual(await commit(asked, { ...parts, runs: [failing] }), {
      ...applied(asked.shard),
      missed: [second],
      missedRuns: [asked.executionId],
      notBorn: [nodeId(asked.executionId, 2)],
    });
    assert.deepEqual([(await loaded(scene(), asked)).mode, await born(scene(), asked)], ["RUNNING", [0, 1]]);
    const justified = { ...failing, after: [second] };
    assert.deepEqual(
      await commit(asked, { changes: [nodeEnds(scene(), asked, 1)], runs: [justified] }),
      applied(asked.shard),
    );
    assert.equal((await loaded(scene(), asked)).mode, "FAILING");
  });

  it("changes no run after an end that cannot be written", async () => {
    const asked = await started(scene());
    const end = nodeId(asked.executionId, 1);
    const bad = nodeEnds(scene(), asked, 1, { workerId: "w\u0000" });
    const outcome = await commit(asked, { changes: [bad], runs: [change(asked, { mode: "FAILING", after: [end] })] });
    assert.deepEqual([outcome.refused.map(({ id }) => id), outcome.missedRuns], [[end], [asked.executionId]]);
    assert.deepEqual([(await loaded(scene(), asked)).mode, runRow(asked).queue], ["RUNNING", "OPEN"]);
  });

  it("keeps the commands that pause and resume a run", async () => {
    const asked = await started(scene());
    const { shard, executionId } = asked;
    for (const kind of ["PAUSE_RUN", "RESUME_RUN"] as const) {
      const command = { id: scene().runtime.uuid(), shard, kind, executionId };
      await scene().store.addCommand(command);
      assert.deepEqual(await scene().store.readCommands([shard], new Set(), 10), [command]);
      await scene().applied(shard, { commandsDone: [command.id] });
    }
  });
}
