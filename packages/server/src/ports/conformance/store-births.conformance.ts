import assert from "node:assert/strict";
import { it } from "node:test";
import type { InFlightRow, ShardCommit, ShardOutcome } from "../store.ts";
import type { NewWorkflow } from "../store-runs.ts";
import {
  assignedBirth,
  birth,
  born,
  execution,
  loaded,
  nodeEnds,
  nodeId,
  runEnds,
  started,
} from "./runs-scene.conformance.ts";
import { ALL_SHARDS, applied, fenced, type Scene, TENANT, takeShards } from "./store-scene.conformance.ts";

/** The fenced commit of runs, and of executions of nodes. */
export function birthsConformance(scene: () => Scene): void {
  /** Commits one shard's part. @returns the answer */
  const commit = async ({ shard }: NewWorkflow, parts: Partial<ShardCommit>): Promise<ShardOutcome> => {
    const [outcome] = await scene().store.commit([scene().tick(shard, parts)]);
    assert.ok(outcome);
    return outcome;
  };

  it("creates a node in the commit in which its last parent ends", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0, { branch: "good" })] });
    const changes = [nodeEnds(scene(), asked, 1)];
    await scene().applied(asked.shard, { changes, births: [birth(scene(), asked, 2, [1])] });
    const { executions } = await loaded(scene(), asked);
    assert.deepEqual(executions, [
      execution(asked, 0, { state: "SUCCEEDED", branch: "good" }),
      execution(asked, 1, { state: "SUCCEEDED" }),
      execution(asked, 2),
    ]);
  });

  it("creates a node that a worker has, which the next owner finds, and which ends as others do", async () => {
    const asked = await started(scene());
    const births = [assignedBirth(scene(), asked, 2, [0]), birth(scene(), asked, 3, [0])];
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0)], births });
    const { executions } = await loaded(scene(), asked);
    assert.deepEqual(executions.slice(2), [execution(asked, 2, { state: "RUNNING" }), execution(asked, 3)]);
    const { inFlight, journals } = await scene().store.recover([asked.shard]);
    assert.equal(inFlight.length, 1);
    const { row, ...attempt } = inFlight[0] as InFlightRow;
    assert.deepEqual(row, births[0]?.row);
    const times = { assignedAt: row.dueAt, attemptStartedAt: null };
    assert.deepEqual(attempt, { attempt: 1, workerId: "w1", gateway: "g1", ...times, journal: null });
    assert.deepEqual(journals, []);
    const view = await scene().store.queries.getExecution(TENANT, row.id);
    assert.deepEqual([view?.state, view?.attempt, view?.workerId], ["RUNNING", 1, "w1"]);
    const changes = [nodeEnds(scene(), asked, 2, { wasState: "RUNNING", wasAttempt: 1 })];
    await scene().applied(asked.shard, { changes });
    assert.deepEqual((await scene().store.recover([asked.shard])).inFlight, []);
  });

  it("creates and assigns no node of which a parent or the run is missed, or that exists", async () => {
    const asked = await started(scene());
    const changes = [nodeEnds(scene(), asked, 0), nodeEnds(scene(), asked, 1, { wasAttempt: 3, attempt: 4 })];
    const births = [assignedBirth(scene(), asked, 2, [0, 1]), assignedBirth(scene(), asked, 1, [0])];
    const first = await commit(asked, { changes, births });
    assert.deepEqual(first.notBorn.sort(), [nodeId(asked.executionId, 1), nodeId(asked.executionId, 2)]);
    const stale = { run: asked.executionId, wasRevision: 9, revision: 10, mode: "FAILING", paused: false } as const;
    const second = await commit(asked, { births: [assignedBirth(scene(), asked, 3)], runs: [stale] });
    assert.deepEqual(second.notBorn, [nodeId(asked.executionId, 3)]);
    const bad = nodeEnds(scene(), asked, 1, { workerId: "w\u0000" });
    const third = await commit(asked, { changes: [bad], births: [assignedBirth(scene(), asked, 2, [1])] });
    assert.deepEqual(third.notBorn, [nodeId(asked.executionId, 2)]);
    assert.deepEqual((await scene().store.recover([asked.shard])).inFlight, []);
    assert.deepEqual(await born(scene(), asked), [0, 1]);
  });

  it("creates a node without parents, and items of a map", async () => {
    const asked = await started(scene(), { roots: [] });
    const births = [0, 1].map((item) => birth(scene(), asked, 3, [], { item }));
    await scene().applied(asked.shard, { births: [birth(scene(), asked, 0), ...births] });
    const items = [0, 1].map((item) => execution(asked, 3, { item }));
    assert.deepEqual((await loaded(scene(), asked)).executions, [execution(asked, 0), ...items]);
  });

  it("creates items that follow from the same ends, and none of them if one of the ends is missed", async () => {
    const asked = await started(scene());
    const items = (numbers: readonly number[], after: readonly string[]) =>
      numbers.map((item) => ({ ...birth(scene(), asked, 3, [], { item }), after }));
    const [zero, one] = [0, 1].map((node) => nodeId(asked.executionId, node)) as [string, string];
    const changes = [nodeEnds(scene(), asked, 0), nodeEnds(scene(), asked, 1, { wasAttempt: 3, attempt: 4 })];
    const births = [...items([0, 1], [zero]), ...items([2, 3], [zero, one]), ...items([4, 5], [zero])];
    const { notBorn } = await commit(asked, { changes, births });
    assert.deepEqual(
      notBorn.toSorted(),
      [2, 3].map((item) => nodeId(asked.executionId, 3, item)),
    );
    const { executions } = await loaded(scene(), asked);
    assert.deepEqual(
      executions.flatMap(({ item }) => item ?? []),
      [0, 1, 4, 5],
    );
  });

  it("does not create a node of which one parent is missed, and creates the others", async () => {
    const asked = await started(scene());
    const changes = [nodeEnds(scene(), asked, 0), nodeEnds(scene(), asked, 1, { wasAttempt: 3, attempt: 4 })];
    const births = [birth(scene(), asked, 2, [0]), birth(scene(), asked, 3, [0, 1])];
    assert.deepEqual(await commit(asked, { changes, births }), {
      ...applied(asked.shard),
      missed: [nodeId(asked.executionId, 1)],
      notBorn: [nodeId(asked.executionId, 3)],
    });
    assert.deepEqual(await born(scene(), asked), [0, 1, 2]);
  });

  it("does not create a node after an execution that the commit does not change", async () => {
    const asked = await started(scene());
    const births = [birth(scene(), asked, 2, [0])];
    const { notBorn } = await commit(asked, { births });
    assert.deepEqual(notBorn, [nodeId(asked.executionId, 2)]);
    assert.deepEqual(await born(scene(), asked), [0, 1]);
  });

  it("takes the node out with a parent that cannot be written, and no other", async () => {
    const asked = await started(scene());
    const bad = nodeEnds(scene(), asked, 1, { workerId: "w\u0000" });
    const births = [birth(scene(), asked, 2, [0]), birth(scene(), asked, 3, [0, 1])];
    const outcome = await commit(asked, { changes: [nodeEnds(scene(), asked, 0), bad], births });
    assert.deepEqual(
      [outcome.status, outcome.missed, outcome.refused.map(({ id }) => id), outcome.notBorn],
      ["APPLIED", [], [bad.id], [nodeId(asked.executionId, 3)]],
    );
    assert.deepEqual(await born(scene(), asked), [0, 1, 2]);
    const dead = { ...bad, state: "DEAD", workerId: null } as const;
    await scene().applied(asked.shard, { changes: [dead], births: [birth(scene(), asked, 3, [1])] });
    assert.deepEqual(await born(scene(), asked), [0, 1, 2, 3]);
  });

  it("finds a node that cannot be written, says why, and writes the rest", async () => {
    const asked = await started(scene());
    const bad = birth(scene(), asked, 3, [0], { handler: "h\u0000" });
    const changes = [nodeEnds(scene(), asked, 0)];
    const outcome = await commit(asked, { changes, births: [birth(scene(), asked, 2, [0]), bad] });
    assert.deepEqual(
      [outcome.status, outcome.missed, outcome.refused.map(({ id }) => id), outcome.notBorn],
      ["APPLIED", [], [bad.row.id], []],
    );
    assert.ok(outcome.refused.every(({ message }) => message.length > 0));
    assert.deepEqual(await born(scene(), asked), [0, 1, 2]);
  });

  it("creates no node of a shard whose epoch is not current, and all of the others", async () => {
    const [mine, lost] = [await started(scene(), { shard: 1 }), await started(scene(), { shard: 2 })];
    const run = (asked: NewWorkflow) => ({
      run: asked.executionId,
      wasRevision: 1,
      revision: 2,
      mode: "FAILING" as const,
      paused: true,
    });
    const ticks = [mine, lost].map((asked) =>
      scene().tick(asked.shard, {
        changes: [nodeEnds(scene(), asked, 0)],
        births: [birth(scene(), asked, 2, [0]), birth(scene(), asked, 3)],
        runs: [run(asked)],
      }),
    );
    await takeShards(scene().store, [2], scene().runtime.uuid());
    assert.deepEqual(await scene().store.commit(ticks), [applied(1), fenced(2)]);
    assert.deepEqual(
      [await born(scene(), mine), await born(scene(), lost)],
      [
        [0, 1, 2, 3],
        [0, 1],
      ],
    );
    assert.deepEqual([(await loaded(scene(), mine)).mode, (await loaded(scene(), lost)).mode], ["FAILING", "RUNNING"]);
  });

  it("leaves the execution of a node alone that exists already", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, {
      changes: [nodeEnds(scene(), asked, 0)],
      births: [birth(scene(), asked, 2, [0])],
    });
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 2)] });
    const again = birth(scene(), asked, 2, [1], { handler: "other" });
    const outcome = await commit(asked, { changes: [nodeEnds(scene(), asked, 1)], births: [again] });
    assert.deepEqual(outcome, { ...applied(asked.shard), notBorn: [again.row.id] });
    const view = await scene().store.queries.getExecution(TENANT, again.row.id);
    assert.deepEqual([view?.state, view?.handler], ["SUCCEEDED", "step-2"]);
  });

  it("changes a run that has the expected revision, and names one that has not", async () => {
    const asked = await started(scene());
    const run = asked.executionId;
    await scene().applied(asked.shard, {
      runs: [{ run, wasRevision: 1, revision: 2, mode: "CANCELLING", paused: false }],
    });
    const stale = { run, wasRevision: 1, revision: 2, mode: "FAILING", paused: false } as const;
    const absent = { ...stale, run: scene().runtime.uuid() };
    assert.deepEqual(await commit(asked, { runs: [stale] }), { ...applied(asked.shard), missedRuns: [run] });
    assert.deepEqual((await commit(asked, { runs: [absent] })).missedRuns, [absent.run]);
    const { mode, revision } = await loaded(scene(), asked);
    assert.deepEqual([mode, revision], ["CANCELLING", 2]);
  });

  it("creates no node of a run whose change is missed, and writes the rest", async () => {
    const [stale, good] = [await started(scene(), { shard: 4 }), await started(scene(), { shard: 4 })];
    const change = (asked: NewWorkflow, wasRevision: number) => {
      return {
        run: asked.executionId,
        wasRevision,
        revision: wasRevision + 1,
        mode: "FAILING" as const,
        paused: false,
      };
    };
    const outcome = await commit(stale, {
      changes: [nodeEnds(scene(), stale, 0), nodeEnds(scene(), good, 0)],
      births: [birth(scene(), stale, 2, [0]), birth(scene(), good, 2, [0])],
      runs: [change(stale, 7), change(good, 1)],
    });
    assert.deepEqual(outcome, {
      ...applied(4),
      missedRuns: [stale.executionId],
      notBorn: [nodeId(stale.executionId, 2)],
    });
    assert.deepEqual(
      [await born(scene(), stale), await born(scene(), good)],
      [
        [0, 1],
        [0, 1, 2],
      ],
    );
  });

  it("ends a run, which releases its unique key and closes it", async () => {
    const asked = await started(scene(), { uniqueKey: "u1" });
    const result = Buffer.from('"done"');
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0), nodeEnds(scene(), asked, 1)] });
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, { result })] });
    assert.deepEqual(await scene().store.runs.load([asked.executionId]), []);
    assert.deepEqual(await scene().store.runs.openRuns(ALL_SHARDS, null, 10), []);
    const view = await scene().store.queries.getRun(TENANT, asked.executionId);
    assert.deepEqual([view?.state, Buffer.from(view?.result ?? [])], ["SUCCEEDED", result]);
    await started(scene(), { uniqueKey: "u1" });
  });

  it("keeps the branch of a node when a later change says none", async () => {
    const asked = await started(scene());
    const back = { state: "PENDING", queue: "READY", finishedAt: null, branch: "left" } as const;
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0, back)] });
    const changes = [nodeEnds(scene(), asked, 0, { wasAttempt: 1, attempt: 2 })];
    await scene().applied(asked.shard, { changes, births: [birth(scene(), asked, 2, [0])] });
    const [first] = (await loaded(scene(), asked)).executions;
    assert.deepEqual(first, execution(asked, 0, { state: "SUCCEEDED", branch: "left" }));
  });

  it("creates a node beside everything else that a tick may contain", async () => {
    const asked = await started(scene(), { shard: 6 });
    const job = await scene().submitted({ shard: 6 });
    const replaced = await scene().submitted({ shard: 6 });
    const { definition } = scene().job({ handler: "new" });
    const replacement = { jobVersion: 2, definition, laneHash: 5, payloadBytes: 0 };
    await scene().applied(6, {
      changes: [
        nodeEnds(scene(), asked, 0, { branch: "left", steps: "RECORDED" }),
        scene().succeeded(replaced, { state: "PENDING", queue: "READY", finishedAt: null, replacement }),
      ],
      assigned: [scene().entry(job)],
      births: [birth(scene(), asked, 2, [0])],
      runs: [{ run: asked.executionId, wasRevision: 1, revision: 2, mode: "FAILING", paused: false }],
    });
    const { executions, mode } = await loaded(scene(), asked);
    assert.equal(mode, "FAILING");
    assert.deepEqual(executions[0], execution(asked, 0, { state: "SUCCEEDED", branch: "left" }));
    assert.deepEqual(executions[2], execution(asked, 2));
    assert.deepEqual((await scene().store.load([replaced.executionId]))[0]?.handler, "new");
    assert.equal((await scene().store.recover([6])).inFlight[0]?.row.id, job.executionId);
  });

  it("creates thousands of nodes at once", async () => {
    const asked = await started(scene(), { nodes: 3_000, roots: [] });
    await scene().applied(asked.shard, { births: [birth(scene(), asked, 0)] });
    const births = Array.from({ length: 2_999 }, (_, i) => birth(scene(), asked, i + 1, [0]));
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0)], births });
    const changes = births.map(({ row }) => nodeEnds(scene(), asked, row.node as number));
    const last = birth(
      scene(),
      asked,
      3_000,
      births.map(({ row }) => row.node as number),
    );
    await scene().applied(asked.shard, { changes, births: [last] });
    assert.equal((await born(scene(), asked)).length, 3_001);
  });
}
