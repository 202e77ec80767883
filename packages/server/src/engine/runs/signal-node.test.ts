import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RUN, Stage } from "../testing/run-stage.ts";
import { answersOf, candidate, only } from "../testing/story.ts";

function signal(stage: Stage, name: string, id = "signal-1"): void {
  const ofNode = { run: RUN, node: stage.number(name) };
  const command = { kind: "SIGNAL", id, shard: stage.shard, executionId: stage.id(name), ofNode } as const;
  stage.story.tell({ kind: "COMMANDS", commands: [command] });
}

/** Answers the read of the node that a signal asks for. */
function read(stage: Stage, name: string, hasRow = false): void {
  const { story } = stage;
  const row = candidate({ id: stage.id(name), jobId: RUN, node: stage.number(name), shard: stage.shard });
  const mark = { since: story.batch.number, term: story.state.term };
  story.tell({ kind: "LOADED", asked: [stage.id(name)], rows: hasRow ? [row] : [], ...mark });
}

const loads = (stage: Stage) => stage.story.wants.splice(0).filter(({ kind }) => kind === "LOAD");
const answered = (outcome: "SIGNALLED" | "FINAL") => [{ kind: "COMMAND_DONE", commandId: "signal-1", outcome }];

describe("a signal to a node by its name", () => {
  it("marks the execution that the run creates later, so that its first attempt gets the signal", () => {
    const stage = new Stage({ a: [], b: ["a"] }).hint("a");
    const a = only(stage.story.commit().assigns);
    stage.load({ a: "PENDING" });
    signal(stage, "b");
    read(stage, "b");
    const batch = stage.commit();
    assert.deepEqual(answersOf(batch), answered("SIGNALLED"));
    assert.deepEqual(batch.shards.get(stage.shard)?.commandsDone, ["signal-1"]);
    stage.end(a);
    const created = stage.commit();
    const [birth] = created.shards.get(stage.shard)?.births ?? [];
    assert.equal(birth?.row.steps, "RECORDED");
    assert.equal(only(created.assigns).steps, null, "the scheduler reads the signals for the attempt");
  });

  it("waits until the run is read", () => {
    const stage = new Stage({ a: [], b: ["a"] });
    signal(stage, "b");
    read(stage, "b");
    assert.deepEqual(answersOf(stage.commit()), []);
    stage.load({ a: "SUCCEEDED" });
    const batch = stage.commit();
    assert.deepEqual(answersOf(batch), answered("SIGNALLED"));
    assert.equal(batch.shards.get(stage.shard)?.births[0]?.row.steps, "RECORDED");
  });

  it("is found by the next owner with the run", () => {
    const stage = new Stage({ a: [], b: ["a"] });
    stage.load({ a: "SUCCEEDED" }, "RUNNING", false, ["b"]);
    assert.equal(stage.commit().shards.get(stage.shard)?.births[0]?.row.steps, "RECORDED");
  });

  it("is read again while the commit that creates the node is on its way", () => {
    const stage = new Stage({ a: [], b: ["a"] }).load({ a: "SUCCEEDED" });
    signal(stage, "b");
    assert.deepEqual(loads(stage).at(-1), { kind: "LOAD", ids: [stage.id("b")] });
    read(stage, "b");
    assert.deepEqual(loads(stage), [{ kind: "LOAD", ids: [stage.id("b")] }]);
    stage.commit();
    read(stage, "b", true);
    const batch = stage.commit();
    assert.deepEqual(answersOf(batch), answered("SIGNALLED"));
  });

  it("is dropped where the node is final, or the run", () => {
    const stage = new Stage({ a: [], b: ["a"], c: [] }, "CONTINUE").load({ a: "SUCCEEDED", b: "DEAD", c: "PENDING" });
    signal(stage, "b");
    read(stage, "b");
    assert.deepEqual(answersOf(stage.commit()), answered("FINAL"));
    const gone = new Stage({ a: [] });
    signal(gone, "a");
    read(gone, "a");
    const mark = { since: gone.story.batch.number, term: gone.story.state.term };
    gone.story.tell({ kind: "LOADED_RUNS", asked: [RUN], runs: [], ...mark });
    assert.deepEqual(answersOf(gone.commit()), answered("FINAL"));
  });
});
