import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment } from "../../ports/messages.ts";
import type { NodeExecution } from "../../ports/store-runs.ts";
import { deadLetterRefused } from "../attempts/dead-letter-refused.ts";
import type { Batch } from "../batch.ts";
import type { Input } from "../inputs.ts";
import { sealBatch } from "../machine.ts";
import { DEADLINE_MS, RUN, Stage, states } from "../testing/run-stage.ts";
import { answersOf, candidate, changesOf, only, ordersOf, START } from "../testing/story.ts";
import { reload } from "./advance.ts";

const OUTPUT = Buffer.from("output");

/** A run with an output whose only node has ended; the end is durable. */
function nearlyOver(state: "SUCCEEDED" | "DEAD" = "SUCCEEDED"): Stage {
  return new Stage({ a: [] }, "CONTINUE", OUTPUT).load({ a: state });
}

function fills(stage: Stage, output: Extract<Input, { kind: "OUTPUT" }>["output"]): Stage {
  stage.story.tell({ kind: "OUTPUT", run: RUN, output });
  return stage;
}

/** Executions that a batch orders workers to stop. */
function cancels(batch: Batch): string[] {
  return ordersOf(batch).flatMap((order) => (order.kind === "CANCEL" ? [order.token.executionId] : []));
}

/** Final change of the run in the next batch. */
function endOf(stage: Stage) {
  return changesOf(stage.commit()).find(({ id }) => id === RUN);
}

describe("a workflow run", () => {
  it("creates a node in the commit that ends its last parent, and only if the store writes that end", () => {
    const stage = new Stage({ a: [], b: [], c: ["a", "b"] }).hint("a").hint("b");
    const { a, b } = stage.story
      .commit()
      .assigns.reduce<Record<string, Assignment>>(
        (all, assign) => ({ ...all, [stage.name(assign.executionId)]: assign }),
        {},
      ) as { a: Assignment; b: Assignment };
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.end(a);
    const first = stage.commit();
    assert.deepEqual([states(stage, first), stage.born(first)], [{ a: "SUCCEEDED" }, []]);
    stage.end(b);
    const second = stage.commit();
    assert.deepEqual([states(stage, second), stage.born(second)], [{ b: "SUCCEEDED" }, [{ name: "c", after: ["b"] }]]);
    const c = only(second.assigns);
    assert.equal(stage.name(c.executionId), "c");
    stage.end(c);
    assert.deepEqual(states(stage, stage.commit()), { c: "SUCCEEDED" });
    const last = stage.commit();
    assert.deepEqual(
      states(stage, last),
      { run: "SUCCEEDED" },
      "the run ends once the end of its last node is durable",
    );
    assert.equal(stage.story.state.runs.byId.size, 0);
  });

  it("names all parents that end in the commit of the node's creation", () => {
    const stage = new Stage({ a: [], b: [], c: ["a", "b"] }).hint("a").hint("b");
    const assigns = stage.story.commit().assigns;
    stage.load({ a: "PENDING", b: "PENDING" });
    for (const assign of assigns) stage.end(assign);
    assert.deepEqual(stage.born(stage.commit()), [{ name: "c", after: ["a", "b"] }]);
  });

  it("is read when one of its nodes comes into memory, and advances by what it finds", () => {
    const stage = new Stage({ a: [], b: ["a"], c: ["b"] }).hint("a");
    assert.deepEqual(stage.story.wants.splice(0), [{ kind: "LOAD_RUNS", runs: [RUN] }]);
    const assign = only(stage.story.commit().assigns);
    stage.end(assign);
    const batch = stage.commit();
    assert.deepEqual([states(stage, batch), stage.born(batch)], [{ a: "SUCCEEDED" }, []], "the run is not known yet");
    stage.load({ a: "SUCCEEDED" });
    assert.deepEqual(stage.born(stage.commit()), [{ name: "b", after: [] }]);
  });

  it("that an earlier owner left without a next node goes on, and one whose nodes have all ended ends", () => {
    const left = new Stage({ a: [], b: ["a"] }).load({ a: "SUCCEEDED" });
    assert.deepEqual(left.born(left.commit()), [{ name: "b", after: [] }]);
    assert.deepEqual(states(left, new Stage({ a: [] }).load({ a: "SUCCEEDED" }).commit()), { run: "SUCCEEDED" });
    const over = new Stage({ a: [] }).load({ a: "DEAD" });
    over.story.tell();
    const read = over.commit();
    assert.equal(only([...(read.shards.get(over.shard)?.runs.values() ?? [])]).mode, "FAILING");
    assert.deepEqual(states(over, over.commit()), { run: "DEAD NODE_DEAD" });
  });

  it("is read again when a node ends while the run is not in memory", () => {
    const stage = new Stage({ a: [], b: ["a"] }).hint("a");
    const assign = only(stage.story.commit().assigns);
    stage.load({ a: "PENDING" });
    const run = stage.story.state.runs.byId.get(RUN);
    assert.ok(run !== undefined);
    stage.story.state.runs.drop(run);
    stage.story.wants.splice(0);
    stage.end(assign);
    assert.deepEqual(stage.story.wants.splice(0), [{ kind: "LOAD_RUNS", runs: [RUN] }]);
  });

  it("comes with its shards at a takeover", () => {
    const stage = new Stage({ a: [] });
    const { story } = stage;
    const recovered = { inFlight: [], journals: [], commands: [], runs: [RUN] };
    story.tell({ kind: "OWNED", term: 2, epochs: new Map([[stage.shard, 2]]), recovered, incarnation: "node-1" });
    assert.deepEqual(
      story.wants.filter(({ kind }) => kind === "LOAD_RUNS"),
      [{ kind: "LOAD_RUNS", runs: [RUN] }],
    );
  });

  it("makes a node that follows from a skip depend on the ends that led to the skip", () => {
    const finished = (node: string) => [{ node, when: "FINISHED" }] as const;
    const graph = { a: [], b: [{ node: "a", when: "FAILED" }], c: ["b"], d: finished("c"), e: finished("a") } as const;
    const stage = new Stage(graph, "CONTINUE").hint("a");
    const assign = only(stage.story.commit().assigns);
    stage.load({ a: "PENDING" });
    stage.end(assign);
    const born = stage.born(stage.commit());
    assert.deepEqual(
      born.sort((x, y) => x.name.localeCompare(y.name)),
      [
        { name: "d", after: ["a"] },
        { name: "e", after: ["a"] },
      ],
    );
  });

  it("takes back nodes of the next batch that follow from a refused end", () => {
    const stage = new Stage({ a: [], b: [], c: ["a", "b"] }, "CONTINUE").hint("a").hint("b");
    const assigns = Object.fromEntries(stage.story.commit().assigns.map((x) => [stage.name(x.executionId), x]));
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.end(assigns["a"] as Assignment);
    const { story } = stage;
    const first = story.batch;
    story.batch = sealBatch(first);
    stage.end(assigns["b"] as Assignment);
    assert.deepEqual(stage.born(story.batch), [{ name: "c", after: ["b"] }], "the first batch is on its way");
    const change = only([...(first.shards.get(stage.shard)?.changes.values() ?? [])]);
    deadLetterRefused(story.state, first, story.batch, [{ change, shard: stage.shard, message: "no" }]);
    assert.deepEqual(stage.born(story.batch), []);
    assert.deepEqual(states(stage, story.batch), { a: "DEAD RESULT_REFUSED", b: "SUCCEEDED" });
  });

  it("goes the way of the branch that a node has named", () => {
    const when = (branch: string) => [{ node: "a", when: `BRANCH:${branch}` }] as const;
    const stage = new Stage({ a: [], good: when("good"), bad: when("bad") }).hint("a");
    const assign = only(stage.story.commit().assigns);
    stage.load({ a: "PENDING" });
    stage.end(assign, "SUCCEEDED", "bad");
    const batch = stage.commit();
    assert.deepEqual(stage.born(batch), [{ name: "bad", after: ["a"] }]);
    assert.equal(only(changesOf(batch)).branch, "bad", "the row keeps it for the next owner");
  });

  it("that keeps nodes of an earlier run goes on after them, by their branches, also with its next owner", () => {
    const when = (branch: string) => [{ node: "a", when: `BRANCH:${branch}` }] as const;
    const graph = { a: [], good: when("good"), bad: when("bad"), c: ["bad", "d"], d: [] } as const;
    const first = new Stage(graph).keeps({ a: "bad", d: null }).load({});
    assert.deepEqual(first.born(first.commit()), [{ name: "bad", after: [] }]);
    const next = new Stage(graph).keeps({ a: "bad", d: null }).load({ bad: "SUCCEEDED" });
    assert.deepEqual(next.born(next.commit()), [{ name: "c", after: [] }]);
    const over = new Stage(graph).keeps({ a: "bad", d: null }).load({ bad: "SUCCEEDED", c: "SUCCEEDED" });
    assert.deepEqual(states(over, over.commit()), { run: "SUCCEEDED" });
  });

  it("withdraws the nodes that follow from an end that the store did not write, and is read again", () => {
    const stage = new Stage({ a: [], b: ["a"] }).hint("a");
    const assign = only(stage.story.commit().assigns);
    stage.load({ a: "PENDING" });
    stage.end(assign);
    stage.story.wants.splice(0);
    stage.commit(["b"]);
    assert.deepEqual(stage.story.wants.splice(0), [{ kind: "LOAD_RUNS", runs: [RUN] }]);
    assert.equal(stage.story.state.runs.byId.size, 0);
  });
});

describe("the end of a workflow run before its nodes' ends", () => {
  it("by the failure of a node cancels what runs, and lets handlers of the failure start", () => {
    const graph = { a: [], b: [], c: ["b"], alarm: [{ node: "a", when: "FAILED" }] } as const;
    const stage = new Stage(graph).hint("a").hint("b");
    const assigns = Object.fromEntries(stage.story.commit().assigns.map((x) => [stage.name(x.executionId), x]));
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.story.started(assigns["b"] as Assignment);
    stage.end(assigns["a"] as Assignment, "FAILED");
    const batch = stage.commit();
    assert.deepEqual(states(stage, batch), { a: "DEAD NOT_RETRYABLE" });
    assert.deepEqual(stage.born(batch), [{ name: "alarm", after: ["a"] }]);
    const { mode, after } = only([...(batch.shards.get(stage.shard)?.runs.values() ?? [])]);
    assert.deepEqual([mode, after], ["FAILING", [stage.id("a")]]);
    assert.deepEqual(cancels(batch), [], "the store may not write the end of a");
    const next = stage.commit();
    assert.deepEqual(cancels(next), [stage.id("b")]);
    stage.story.finish(assigns["b"] as Assignment, { state: "CANCELLED" });
    stage.end(only(batch.assigns));
    stage.commit();
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD NODE_DEAD" });
  });

  it("cancels no node because of a failure that the store did not write", () => {
    const stage = new Stage({ a: [], b: [], c: [] }).hint("a").hint("b");
    const assigns = Object.fromEntries(stage.story.commit().assigns.map((x) => [stage.name(x.executionId), x]));
    stage.load({ a: "PENDING", b: "PENDING", c: "PENDING" });
    stage.story.wants.splice(0);
    stage.end(assigns["a"] as Assignment, "FAILED");
    const missed = stage.commit([], [RUN]);
    assert.deepEqual([states(stage, missed), cancels(missed)], [{ a: "DEAD NOT_RETRYABLE" }, []]);
    assert.deepEqual(stage.story.wants.splice(0), [{ kind: "LOAD_RUNS", runs: [RUN] }]);
    const between = stage.commit();
    stage.load({ a: "RUNNING", b: "PENDING", c: "PENDING" });
    assert.equal(stage.story.state.runs.byId.get(RUN)?.mode, "RUNNING");
    assert.deepEqual([between, stage.commit()].flatMap(cancels), []);
    assert.deepEqual(stage.story.wants, [], "no node is read to be cancelled");
  });

  it("cancels no node that was created before the store has written the failure", () => {
    const stage = new Stage({ a: [], b: [], c: ["b"] }).hint("a").hint("b");
    const assigns = Object.fromEntries(stage.story.commit().assigns.map((x) => [stage.name(x.executionId), x]));
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.end(assigns["b"] as Assignment);
    const { story } = stage;
    const first = story.batch;
    story.batch = sealBatch(first);
    stage.end(assigns["a"] as Assignment, "FAILED");
    stage.answer(first);
    assert.equal(stage.name(only(first.assigns).executionId), "c");
    const second = stage.commit();
    assert.deepEqual([cancels(second), cancels(stage.commit())], [[], [stage.id("c")]]);
  });

  it("by a command cancels what waits and what runs, and completes the command with the run", () => {
    const stage = new Stage({ a: [], b: [], c: ["a", "b"] }).hint("a");
    const a = only(stage.story.commit().assigns);
    stage.load({ a: "PENDING", b: "PENDING" });
    const command = { kind: "CANCEL", id: "cancel-1", shard: stage.shard, executionId: RUN } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [command] });
    const { row } = stage.run([], "RUNNING", false);
    const { term } = stage.story.state;
    const loaded = (id: string, found: (typeof row)[]) =>
      stage.story.tell({ kind: "LOADED", asked: [id], rows: found, since: stage.story.batch.number, term });
    loaded(RUN, [row]);
    const batch = stage.commit();
    assert.deepEqual(answersOf(batch), [{ kind: "COMMAND_DONE", commandId: "cancel-1", outcome: "REQUESTED" }]);
    assert.equal(only([...(batch.shards.get(stage.shard)?.runs.values() ?? [])]).mode, "CANCELLING");
    loaded(stage.id("b"), [candidate({ id: stage.id("b"), jobId: RUN, node: 1, shard: stage.shard })]);
    stage.story.finish(a, { state: "CANCELLED" });
    const ends = stage.commit();
    assert.deepEqual(states(stage, ends), { a: "CANCELLED", b: "CANCELLED WORKFLOW_CANCELLED" });
    const last = stage.commit();
    assert.deepEqual(states(stage, last), { run: "CANCELLED" });
    assert.deepEqual(last.shards.get(stage.shard)?.commandsDone, ["cancel-1"]);
  });

  it("by its deadline leaves it DEAD", () => {
    const stage = new Stage({ a: [], b: ["a"] }).hint("a");
    stage.story.commit();
    stage.load({ a: "PENDING" });
    assert.ok(stage.story.wakeAt !== null && stage.story.wakeAt <= START + DEADLINE_MS);
    stage.story.later(DEADLINE_MS);
    const batch = stage.commit();
    assert.equal(only([...(batch.shards.get(stage.shard)?.runs.values() ?? [])]).mode, "EXPIRING");
    const cancel = only(ordersOf(batch).filter(({ kind }) => kind === "CANCEL"));
    assert.equal(cancel.kind, "CANCEL");
    stage.story.later(15_000);
    stage.commit();
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD WORKFLOW_TIMED_OUT" });
  });

  it("cancels the nodes that a commit under way creates, without a look at all of the others", () => {
    const stage = new Stage({ a: [], b: ["a"], c: ["a"], d: ["a"] }).hint("a");
    const { story } = stage;
    const a = only(story.commit().assigns);
    stage.load({ a: "PENDING" });
    stage.end(a);
    const creates = story.batch;
    story.batch = sealBatch(creates);
    story.later(DEADLINE_MS);
    const run = story.state.runs.byId.get(RUN);
    assert.ok(run !== undefined && run.uncommitted.size === 3);
    let looks = 0;
    const { progress } = run;
    const toCancel = progress.toCancel.bind(progress);
    progress.toCancel = () => {
      looks++;
      return toCancel();
    };
    stage.answer(creates);
    const cancelled = {
      b: "CANCELLED WORKFLOW_TIMED_OUT",
      c: "CANCELLED WORKFLOW_TIMED_OUT",
      d: "CANCELLED WORKFLOW_TIMED_OUT",
    };
    assert.deepEqual([states(stage, stage.commit()), looks], [cancelled, 0]);
  });

  it("is repeated by the next owner, from the mode of the row", () => {
    const stage = new Stage({ a: [], b: ["a"] }).load({ a: "RUNNING" }, "CANCELLING");
    const wanted = stage.story.wants.filter(({ kind }) => kind === "LOAD");
    assert.deepEqual(wanted, [{ kind: "LOAD", ids: [stage.id("a")] }]);
  });
});

describe("a workflow run with an output", () => {
  it("asks once for its result when its nodes have ended, and ends with it", () => {
    const stage = nearlyOver();
    const wants = stage.story.wants.filter(({ kind }) => kind === "OUTPUT");
    assert.deepEqual(wants, [{ kind: "OUTPUT", run: RUN, stored: OUTPUT }]);
    stage.story.wants.splice(0);
    assert.equal(endOf(stage), undefined, "it waits for its result");
    stage.story.tell();
    assert.deepEqual(stage.story.wants, []);
    const end = endOf(fills(stage, Buffer.from("[1]")));
    assert.deepEqual([end?.state, end?.reason, end?.result, end?.error], ["SUCCEEDED", null, Buffer.from("[1]"), null]);
    assert.equal(stage.story.state.runs.byId.size, 0);
  });

  it("is DEAD where its result cannot be made", () => {
    const error = { name: "ReferenceNotFound", message: "nothing there" };
    const end = endOf(fills(nearlyOver(), { reason: "REFERENCE_NOT_FOUND", error }));
    assert.deepEqual([end?.state, end?.reason, end?.result], ["DEAD", "REFERENCE_NOT_FOUND", null]);
    assert.deepEqual(end?.error, { ...error, message: "the output of the workflow: nothing there" });
  });

  it("asks for no result when it did not succeed", () => {
    const stage = nearlyOver("DEAD");
    assert.deepEqual(
      stage.story.wants.filter(({ kind }) => kind === "OUTPUT"),
      [],
    );
    assert.equal(endOf(stage)?.reason, "NODE_DEAD");
  });

  it("asks again when it was read again, and ends by the answer to that question only", () => {
    const stage = nearlyOver();
    const readAgain = (state: NodeExecution["state"]) => {
      reload(stage.story.state, stage.story.batch, RUN);
      stage.commit();
      stage.story.wants.splice(0);
      stage.load({ a: state });
    };
    readAgain("RUNNING");
    assert.equal(endOf(fills(stage, Buffer.from("1"))), undefined);
    readAgain("SUCCEEDED");
    assert.equal(stage.story.wants.filter(({ kind }) => kind === "OUTPUT").length, 1);
    assert.deepEqual(endOf(fills(stage, Buffer.from("2")))?.result, Buffer.from("2"));
  });
});
