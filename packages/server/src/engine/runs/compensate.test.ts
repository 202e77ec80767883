import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment } from "../../ports/messages.ts";
import { deadLetterRefused } from "../attempts/dead-letter-refused.ts";
import type { Batch } from "../batch.ts";
import { sealBatch } from "../machine.ts";
import { DEADLINE_MS, RUN, Stage, states } from "../testing/run-stage.ts";
import { changesOf, only } from "../testing/story.ts";

const OUTCOME = {
  state: "DEAD",
  reason: "NODE_DEAD",
  error: { name: "NodeDead", message: "its node c is DEAD" },
} as const;
const CHAIN = { a: [], b: ["a"], c: ["b"] };

/** Chain a → b → c in which a and b have compensations. */
function chain(onCancel = false): Stage {
  return new Stage(CHAIN, "FAIL_FAST", null, { nodes: ["a", "b"], onCancel });
}

/** A chain whose last node is at a worker. */
function atLast(onCancel = false): { stage: Stage; c: Assignment } {
  const stage = chain(onCancel).hint("c");
  const c = only(stage.story.commit().assigns);
  stage.load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "PENDING" });
  return { stage, c };
}

/** A chain whose nodes have ended, and which has begun to compensate b. */
function begun(): { stage: Stage; b: Assignment } {
  const { stage, c } = atLast();
  stage.end(c, "FAILED");
  stage.commit();
  const { "undo b": b } = stage.assigned();
  assert.ok(b !== undefined);
  return { stage, b };
}

function born(stage: Stage, batch: Batch): string[] {
  return stage.born(batch).map(({ name }) => name);
}

/** Changes of the run's own row in a batch. */
function written(stage: Stage, batch: Batch) {
  return [...(batch.shards.get(stage.shard)?.runs.values() ?? [])];
}

/** End of the run that a batch writes. */
function endOf(batch: Batch) {
  const change = changesOf(batch).find(({ id }) => id === RUN);
  return change === undefined ? null : [change.state, change.reason, change.error?.message ?? null];
}

function orders(stage: Stage, kind: "PAUSE_RUN" | "RESUME_RUN"): void {
  const commands = [{ id: kind, shard: stage.shard, kind, executionId: RUN }];
  stage.story.tell({ kind: "COMMANDS", commands });
}

function cancelsRun(stage: Stage): void {
  const { story, shard } = stage;
  story.tell({ kind: "COMMANDS", commands: [{ id: "cancel", shard, kind: "CANCEL", executionId: RUN }] });
  const rows = [stage.run([], "RUNNING", false).row];
  story.tell({ kind: "LOADED", asked: [RUN], rows, since: story.batch.number, term: story.state.term });
}

describe("a run that fails", () => {
  it("compensates its nodes in reverse, each once the end of the one before is durable", () => {
    const { stage, c } = atLast();
    stage.end(c, "FAILED");
    const failed = stage.commit();
    assert.deepEqual([states(stage, failed), born(stage, failed)], [{ c: "DEAD NOT_RETRYABLE" }, []]);
    const begins = stage.commit();
    assert.deepEqual(states(stage, begins), {});
    assert.deepEqual(born(stage, begins), ["undo b"]);
    assert.deepEqual(
      written(stage, begins).map(({ mode, outcome }) => [mode, outcome?.reason]),
      [["FAILING", "NODE_DEAD"]],
    );
    stage.end(only(begins.assigns));
    const undone = stage.commit();
    assert.deepEqual([states(stage, undone), born(stage, undone)], [{ "undo b": "SUCCEEDED" }, []]);
    const next = stage.commit();
    assert.deepEqual(born(stage, next), ["undo a"]);
    stage.end(only(next.assigns));
    assert.deepEqual(states(stage, stage.commit()), { "undo a": "SUCCEEDED" });
    assert.deepEqual(endOf(stage.commit()), ["DEAD", "NODE_DEAD", "its node c is DEAD"]);
    assert.equal(stage.story.state.runs.byId.size, 0);
  });

  it("creates a compensation with the work that the node declares", () => {
    const { stage, c } = atLast();
    stage.end(c, "FAILED");
    stage.commit();
    const { row, after } = only(stage.commit().shards.get(stage.shard)?.births ?? []);
    assert.deepEqual([row.priority, row.payloadBytes, row.jobId, after], [7, 5, RUN, []]);
    assert.equal(row.node, 2 ** 24 + 1);
  });

  it("waits with compensations while a node is live", () => {
    const stage = new Stage({ a: [], b: ["a"], c: ["a"] }, "CONTINUE", null, { nodes: ["a"] }).hint("b").hint("c");
    const assigns = stage.story.commit().assigns;
    stage.load({ a: "SUCCEEDED", b: "PENDING", c: "PENDING" });
    const [first, second] = assigns as [Assignment, Assignment];
    stage.end(first, "FAILED");
    for (let i = 0; i < 3; i++) assert.deepEqual(born(stage, stage.commit()), []);
    stage.end(second);
    assert.deepEqual(born(stage, stage.commit()), []);
    assert.deepEqual(born(stage, stage.commit()), ["undo a"]);
  });

  it("compensates a node that it keeps from an earlier run", () => {
    const stage = chain().keeps({ a: null });
    stage.load({ b: "DEAD" }, "FAILING");
    assert.deepEqual(born(stage, stage.commit()), ["undo a"]);
  });

  it("ends at once if no node that SUCCEEDED has a compensation", () => {
    const stage = chain().load({ a: "DEAD" }, "FAILING");
    const batch = stage.commit();
    assert.deepEqual([endOf(batch)?.slice(0, 2), born(stage, batch)], [["DEAD", "NODE_DEAD"], []]);
  });

  it("is compensated when its output cannot be filled in", () => {
    const stage = new Stage({ a: [] }, "FAIL_FAST", Buffer.from("x"), { nodes: ["a"] }).load({ a: "SUCCEEDED" });
    const error = { name: "ReferenceNotFound", message: "nothing there" };
    stage.story.tell({ kind: "OUTPUT", run: RUN, output: { reason: "REFERENCE_NOT_FOUND", error } });
    const begins = stage.commit();
    assert.deepEqual(born(stage, begins), ["undo a"]);
    stage.end(only(begins.assigns));
    stage.commit();
    assert.deepEqual(endOf(stage.commit())?.slice(0, 2), ["DEAD", "REFERENCE_NOT_FOUND"]);
  });
});

describe("a run whose compensation fails", () => {
  it("is DEAD for that reason, and still does the compensations that do not wait for it", () => {
    const graph = { a: [], b: ["a"], x: [], z: ["b", "x"] };
    const stage = new Stage(graph, "FAIL_FAST", null, { nodes: ["a", "b", "x"] });
    stage.load({ a: "SUCCEEDED", b: "SUCCEEDED", x: "SUCCEEDED", z: "DEAD" }, "FAILING");
    const { "undo b": b, "undo x": x } = stage.assigned() as Record<string, Assignment>;
    assert.ok(b !== undefined && x !== undefined);
    stage.end(b, "FAILED");
    stage.commit();
    assert.equal(endOf(stage.commit()), null, "x is not compensated yet");
    stage.end(x);
    stage.commit();
    const last = stage.commit();
    assert.deepEqual(endOf(last), [
      "DEAD",
      "COMPENSATION_FAILED",
      "the compensation of its node b has not succeeded; the run failed: its node z is DEAD",
    ]);
    assert.deepEqual(last.deadLetters, ["default"]);
  });

  it("ends by what an owner reads as well", () => {
    const stage = chain().compensates(OUTCOME);
    stage.load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD", "undo b": "CANCELLED" }, "FAILING");
    assert.deepEqual(endOf(stage.commit())?.slice(0, 2), ["DEAD", "COMPENSATION_FAILED"]);
  });
});

describe("the compensation of a run", () => {
  it("goes on with a next owner from the rows, and does nothing twice", () => {
    const rows = { a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD" } as const;
    const none = chain().load(rows, "FAILING");
    assert.deepEqual(born(none, none.commit()), ["undo b"], "the earlier owner has ended the last node");
    const live = chain()
      .compensates(OUTCOME)
      .load({ ...rows, "undo b": "RUNNING" }, "FAILING");
    assert.deepEqual(born(live, live.commit()), []);
    const half = chain()
      .compensates(OUTCOME)
      .load({ ...rows, "undo b": "SUCCEEDED" }, "FAILING");
    assert.deepEqual(born(half, half.commit()), ["undo a"]);
    const done = chain().compensates(OUTCOME);
    done.load({ ...rows, "undo b": "SUCCEEDED", "undo a": "SUCCEEDED" }, "FAILING");
    const last = done.commit();
    assert.deepEqual([endOf(last)?.slice(0, 2), born(done, last)], [["DEAD", "NODE_DEAD"], []]);
  });

  it("frees the compensations that an earlier owner has parked, once the run is resumed", () => {
    const stage = chain().compensates(OUTCOME).load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD", "undo b": "PARKED" });
    const wanted = stage.story.wants.filter(({ kind }) => kind === "LOAD");
    assert.deepEqual(wanted, [{ kind: "LOAD", ids: [stage.id("undo b")] }]);
  });

  it("is completed with ends of compensations that the read does not show, once they are durable", () => {
    const { stage, b } = begun();
    const { story } = stage;
    const run = story.state.runs.byId.get(RUN);
    assert.ok(run !== undefined);
    story.state.runs.drop(run);
    stage.end(b);
    stage.compensates(OUTCOME).load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD", "undo b": "RUNNING" }, "FAILING");
    assert.deepEqual(born(stage, stage.commit()), []);
    assert.deepEqual(born(stage, stage.commit()), ["undo a"]);
  });

  it("begins again from the rows when the store leaves its beginning out", () => {
    const { stage, c } = atLast();
    stage.end(c, "FAILED");
    stage.commit();
    const batch = stage.story.batch;
    stage.story.batch = sealBatch(batch);
    const rows = batch.shards.get(stage.shard)?.births.map(({ row }) => row) ?? [];
    const nothing = { rows: [], notCreated: [], missedPlans: [] };
    const nodes = { created: [], notCreated: rows };
    stage.story.tell({ kind: "CREATED", ...nothing, missedRuns: [RUN], nodes, batch: batch.number });
    assert.equal(stage.story.state.runs.byId.size, 0);
    stage.commit();
    stage.load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD" }, "FAILING");
    assert.deepEqual(born(stage, stage.commit()), ["undo b"]);
  });

  it("does not follow from an end that the store refuses", () => {
    const { stage, b } = begun();
    stage.end(b);
    const { batch } = stage.story;
    stage.story.batch = sealBatch(batch);
    const change = only(changesOf(batch));
    deadLetterRefused(stage.story.state, batch, stage.story.batch, [{ change, shard: stage.shard, message: "odd" }]);
    const nothing = { rows: [], notCreated: [], missedPlans: [], missedRuns: [] };
    stage.story.tell({ kind: "CREATED", ...nothing, nodes: { created: [], notCreated: [] }, batch: batch.number });
    assert.deepEqual(born(stage, stage.commit()), []);
    stage.compensates(OUTCOME).load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD", "undo b": "DEAD" }, "FAILING");
    assert.deepEqual(endOf(stage.commit())?.slice(0, 2), ["DEAD", "COMPENSATION_FAILED"]);
  });

  it("goes on after the deadline of the run", () => {
    const { stage, b } = begun();
    stage.story.later(DEADLINE_MS + 1);
    const passed = stage.commit();
    assert.deepEqual([written(stage, passed), states(stage, passed)], [[], {}]);
    stage.end(b);
    stage.commit();
    assert.deepEqual(born(stage, stage.commit()), ["undo a"]);
  });

  it("begins when the deadline has ended the nodes", () => {
    const { stage, c } = atLast();
    stage.story.later(DEADLINE_MS);
    stage.commit();
    stage.story.finish(c, { state: "CANCELLED" });
    assert.deepEqual(states(stage, stage.commit()), { c: "CANCELLED" });
    const begins = stage.commit();
    assert.deepEqual(born(stage, begins), ["undo b"]);
    assert.deepEqual(
      written(stage, begins).map(({ mode, outcome }) => [mode, outcome?.reason]),
      [["EXPIRING", "WORKFLOW_TIMED_OUT"]],
    );
  });

  it("is not ended by a command to cancel the run, which is done when the run is", () => {
    const { stage, b } = begun();
    cancelsRun(stage);
    const batch = stage.commit();
    assert.deepEqual([written(stage, batch), states(stage, batch)], [[], {}]);
    stage.end(b);
    stage.commit();
    const next = stage.commit();
    assert.deepEqual(born(stage, next), ["undo a"]);
    stage.end(only(next.assigns));
    stage.commit();
    const last = stage.commit();
    assert.deepEqual(endOf(last)?.slice(0, 2), ["DEAD", "NODE_DEAD"]);
    assert.deepEqual(last.shards.get(stage.shard)?.commandsDone, ["cancel"]);
  });

  it("starts nothing while the run is paused", () => {
    const { stage, b } = begun();
    orders(stage, "PAUSE_RUN");
    const paused = stage.commit();
    assert.deepEqual(
      written(stage, paused).map((run) => run.paused),
      [true],
    );
    stage.end(b);
    for (let i = 0; i < 3; i++) assert.deepEqual(born(stage, stage.commit()), []);
    orders(stage, "RESUME_RUN");
    assert.deepEqual(born(stage, stage.commit()), ["undo a"]);
  });

  it("parks compensations that wait when the run is paused", () => {
    const { stage, c } = atLast();
    stage.end(c, "FAILED");
    stage.commit();
    stage.story.lose("w1");
    stage.commit();
    orders(stage, "PAUSE_RUN");
    assert.equal(stage.story.state.runs.byId.get(RUN)?.paused, true);
    assert.deepEqual(
      changesOf(stage.commit()).map(({ id, queue }) => [stage.name(id), queue]),
      [["undo b", "PARKED"]],
    );
  });
});

describe("a run that is cancelled", () => {
  for (const onCancel of [true, false]) {
    it(`is ${onCancel ? "" : "not "}compensated if its workflow ${onCancel ? "asks for that" : "does not ask for that"}`, () => {
      const { stage, c } = atLast(onCancel);
      cancelsRun(stage);
      stage.commit();
      stage.story.finish(c, { state: "CANCELLED" });
      stage.commit();
      const next = stage.commit();
      assert.deepEqual(born(stage, next), onCancel ? ["undo b"] : []);
      if (!onCancel) return assert.deepEqual(endOf(next), ["CANCELLED", null, null]);
      stage.end(only(next.assigns));
      stage.commit();
      stage.end(only(stage.commit().assigns));
      stage.commit();
      assert.deepEqual(endOf(stage.commit()), ["CANCELLED", null, null]);
    });
  }
});
