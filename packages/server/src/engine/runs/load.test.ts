import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment } from "../../ports/messages.ts";
import type { NodeExecution } from "../../ports/store-runs.ts";
import { deadLetterRefused } from "../attempts/dead-letter-refused.ts";
import type { Batch } from "../batch.ts";
import { sealBatch } from "../machine.ts";
import { RUN, Stage, states } from "../testing/run-stage.ts";
import { only, ordersOf } from "../testing/story.ts";

describe("a workflow run that is read while its nodes end", () => {
  it("is completed with ends that the answer does not show, and creates nodes only if the store writes them", () => {
    const stage = new Stage({ a: [], b: [], c: ["a", "b"] }).hint("a").hint("b");
    const assigns = stage.story.commit().assigns;
    for (const assign of assigns) stage.end(assign);
    stage.story.wants.splice(0);
    stage.load({ a: "RUNNING", b: "PENDING" });
    assert.deepEqual(stage.story.wants, []);
    assert.deepEqual(stage.born(stage.commit()), [{ name: "c", after: ["a", "b"] }]);
  });

  it("is completed with ends whose commit is under way, and drops what follows from them if it fails", () => {
    const stage = new Stage({ a: [], b: ["a"], alarm: [{ node: "a", when: "FAILED" }] }).hint("a");
    const { story } = stage;
    stage.end(only(story.commit().assigns), "FAILED");
    const sent = story.batch;
    story.batch = sealBatch(sent);
    stage.load({ a: "RUNNING" });
    const modes = () => [...(story.batch.shards.get(stage.shard)?.runs.values() ?? [])].map(({ mode }) => mode);
    assert.deepEqual([stage.born(story.batch), modes()], [[{ name: "alarm", after: [] }], ["FAILING"]]);
    const change = only([...(sent.shards.get(stage.shard)?.changes.values() ?? [])]);
    deadLetterRefused(story.state, sent, story.batch, [{ change, shard: stage.shard, message: "no" }]);
    assert.deepEqual([stage.born(story.batch), modes()], [[], []]);
    story.wants.splice(0);
    story.tell();
    assert.deepEqual(story.wants, [{ kind: "LOAD_RUNS", runs: [RUN] }]);
  });

  it("ends with the commit of its last node, although it was read meanwhile", () => {
    const stage = new Stage({ a: [] }).hint("a");
    const { story } = stage;
    stage.end(only(story.commit().assigns));
    const sent = story.batch;
    story.batch = sealBatch(sent);
    stage.load({ a: "RUNNING" });
    assert.equal(story.batch.hasWrites, false);
    const created = {
      rows: [],
      notCreated: [],
      missedPlans: [],
      missedRuns: [],
      nodes: { created: [], notCreated: [] },
    };
    story.tell({ kind: "CREATED", ...created, batch: sent.number });
    assert.deepEqual(states(stage, stage.commit()), { run: "SUCCEEDED" });
  });

  it("ends at once when it is read after the commit of its last node", () => {
    const stage = new Stage({ a: [] }).hint("a");
    stage.end(only(stage.story.commit().assigns));
    stage.commit();
    stage.load({ a: "SUCCEEDED" });
    assert.deepEqual(states(stage, stage.commit()), { run: "SUCCEEDED" });
  });

  it("is read again if it left memory after ends that the answer does not show", () => {
    const stage = new Stage({ a: [], b: [] }).hint("a");
    const { story } = stage;
    stage.end(only(story.commit().assigns));
    const { number: since } = story.batch;
    story.batch = sealBatch(story.batch);
    const read = (executions: NodeExecution[]) => {
      const runs = [stage.run(executions, "RUNNING", false)];
      story.tell({ kind: "LOADED_RUNS", asked: [RUN], runs, since, term: story.state.term });
    };
    const running = { item: null, state: "RUNNING", branch: null, isParked: false } as const;
    const nodes = ["a", "b"].map((name) => ({ ...running, id: stage.id(name), node: stage.number(name) }));
    read(nodes);
    const run = story.state.runs.byId.get(RUN);
    assert.ok(run !== undefined);
    story.state.runs.drop(run);
    story.wants.splice(0);
    read(nodes);
    assert.deepEqual(story.wants, [{ kind: "LOAD_RUNS", runs: [RUN] }]);
  });

  it("forgets ends of shards that another node owns", () => {
    const stage = new Stage({ a: [] }).hint("a");
    stage.end(only(stage.story.commit().assigns));
    assert.equal(stage.story.state.runs.earlyEnds.size, 1);
    stage.story.tell({ kind: "LOST", shards: [stage.shard] });
    assert.equal(stage.story.state.runs.earlyEnds.size, 0);
  });

  it("forgets an end whose shard is lost in the same step, because no commit writes it", () => {
    const stage = new Stage({ a: [] }).hint("a");
    const { story } = stage;
    const assign = only(story.commit().assigns);
    story.tell(story.finished(assign), { kind: "LOST", shards: [stage.shard] });
    assert.equal(story.state.runs.earlyEnds.size, 0);
  });

  it("cancels no node because of a failure whose commit is under way", () => {
    const stage = new Stage({ a: [], b: [] }).hint("a").hint("b");
    const { story } = stage;
    const assigns = Object.fromEntries(story.commit().assigns.map((x) => [stage.name(x.executionId), x]));
    stage.end(assigns["a"] as Assignment, "FAILED");
    const sent = story.batch;
    story.batch = sealBatch(sent);
    stage.load({ a: "RUNNING", b: "PENDING" });
    stage.answer(sent);
    const cancels = (batch: Batch) => ordersOf(batch).filter(({ kind }) => kind === "CANCEL").length;
    assert.deepEqual([cancels(stage.commit()), cancels(stage.commit())], [0, 1]);
  });
});
