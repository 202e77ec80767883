import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MapRules } from "../../domain/workflow/map-items.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Batch } from "../batch.ts";
import { RUN, Stage, states } from "../testing/run-stage.ts";
import { ordersOf, START } from "../testing/story.ts";

const RULES: MapRules = { maxRunning: 2, tolerate: 0 };

/** A run with a node a, a map m after it, and a node z after the map. */
function staged(rules: Partial<MapRules> = {}, onFailure: "FAIL_FAST" | "CONTINUE" = "FAIL_FAST"): Stage {
  return new Stage({ a: [], m: ["a"], z: ["m"] }, onFailure, null, { nodes: [] }, { m: { ...RULES, ...rules } });
}

/** The map of a run whose node a has SUCCEEDED, with its items counted. */
function counted(
  items: number,
  rules: Partial<MapRules> = {},
  onFailure: "FAIL_FAST" | "CONTINUE" = "FAIL_FAST",
): Stage {
  return staged(rules, onFailure).load({ a: "SUCCEEDED" }).counted("m", items);
}

const names = (batch: Batch, stage: Stage) => stage.born(batch).map(({ name }) => name);
const questions = (stage: Stage) =>
  stage.story.wants.splice(0).flatMap((want) => (want.kind === "COUNT_ITEMS" ? [want.node] : []));
const runChange = (stage: Stage, batch: Batch) => batch.shards.get(stage.shard)?.runs.get(RUN);

function command(stage: Stage, kind: "CANCEL" | "RESUME_RUN"): void {
  const { story } = stage;
  story.tell({ kind: "COMMANDS", commands: [{ kind, id: "c1", shard: stage.shard, executionId: RUN }] });
  if (kind !== "CANCEL") return;
  const { row } = stage.run([], "RUNNING", false);
  story.tell({ kind: "LOADED", asked: [RUN], rows: [row], since: story.batch.number, term: story.state.term });
}

/** Items whose workers the next batch tells to stop. */
function stopped(stage: Stage): string[] {
  const orders = ordersOf(stage.commit()).flatMap((order) =>
    order.kind === "CANCEL" ? [order.token.executionId] : [],
  );
  return orders.map((id) => stage.name(id)).sort();
}

/** Assignments of a batch, which is committed now if it is left out, by name. */
function assigned(stage: Stage, batch = stage.commit()): Record<string, Assignment> {
  return Object.fromEntries(batch.assigns.map((assign) => [stage.name(assign.executionId), assign]));
}

describe("a map", () => {
  it("asks for its items when the end of its parent is durable, and not before", () => {
    const stage = staged().hint("a");
    const [assign] = stage.story.commit().assigns as [Assignment];
    stage.load({ a: "PENDING" });
    questions(stage);
    stage.end(assign);
    assert.deepEqual(questions(stage), []);
    stage.commit();
    assert.deepEqual(questions(stage), [1]);
    stage.story.tell();
    assert.deepEqual(questions(stage), [], "one question is enough");
  });

  it("writes the number of its items in the commit that creates the first ones, and holds to its limit", () => {
    const stage = counted(5);
    const first = stage.commit();
    assert.deepEqual(names(first, stage), ["m[0]", "m[1]"]);
    assert.deepEqual(runChange(stage, first)?.mapCounts, [{ node: 1, items: 5 }]);
    const { "m[0]": item } = assigned(stage, first);
    stage.end(item as Assignment);
    const second = stage.commit();
    assert.deepEqual(stage.born(second), [{ name: "m[2]", after: ["m[0]"] }]);
    assert.equal(runChange(stage, second), undefined, "the end of an item writes no more than its row");
  });

  it("creates what follows only if the store writes the ends of its last items", () => {
    const stage = counted(2);
    const items = assigned(stage);
    for (const item of Object.values(items)) stage.end(item);
    const batch = stage.commit();
    assert.deepEqual(stage.born(batch), [{ name: "z", after: [] }]);
    assert.deepEqual(runChange(stage, batch)?.after, [stage.id("m[0]"), stage.id("m[1]")]);
  });

  it("without items has SUCCEEDED", () => {
    const stage = counted(0);
    const batch = stage.commit();
    assert.deepEqual(names(batch, stage), ["z"]);
    assert.deepEqual(runChange(stage, batch)?.mapCounts, [{ node: 1, items: 0 }]);
  });

  it("whose items cannot be counted is DEAD, and so is the run", () => {
    const stage = staged().load({ a: "SUCCEEDED" });
    stage.counted("m", { reason: "ITEMS_NOT_AN_ARRAY", error: { name: "ItemsNotAnArray", message: "no" } });
    assert.equal(runChange(stage, stage.commit())?.mode, "FAILING");
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD NODE_DEAD" });
  });

  it("that tolerates a failure goes on after it, and is DEAD after the next one", () => {
    const stage = counted(4, { tolerate: 1, maxRunning: 3 });
    const items = assigned(stage);
    stage.end(items["m[0]"] as Assignment, "FAILED");
    const more = stage.commit();
    assert.deepEqual(names(more, stage), ["m[3]"]);
    Object.assign(items, assigned(stage, more));
    stage.end(items["m[1]"] as Assignment, "FAILED");
    assert.deepEqual(stopped(stage), ["m[2]", "m[3]"]);
    stage.end(items["m[2]"] as Assignment);
    stage.commit();
    stage.end(items["m[3]"] as Assignment);
    assert.equal(runChange(stage, stage.commit())?.mode, "FAILING");
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD NODE_DEAD" });
  });

  it("that fails in the step in which another item ends asks for nothing", () => {
    const stage = counted(2);
    const items = assigned(stage);
    stage.story.wants.splice(0);
    const message = ({ executionId, shard, attempt, workerId }: Assignment, isDead: boolean) => ({
      ...{ executionId, shard, attempt, workerId, startedAt: START, finishedAt: START, result: null },
      ...(isDead
        ? { state: "FAILED" as const, error: { name: "Error", message: "no" }, advice: { kind: "NEVER" as const } }
        : { state: "SUCCEEDED" as const, error: null, advice: null }),
    });
    const results = [message(items["m[0]"] as Assignment, true), message(items["m[1]"] as Assignment, false)];
    stage.story.gateway({ kind: "FINISHED", results });
    assert.deepEqual(states(stage, stage.commit()), { "m[0]": "DEAD NOT_RETRYABLE", "m[1]": "SUCCEEDED" });
    assert.deepEqual(stage.story.wants.splice(0), []);
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD NODE_DEAD" });
  });

  it("of a run that continues runs all of its items before it is DEAD", () => {
    const stage = counted(3, { maxRunning: 1 }, "CONTINUE");
    for (const name of ["m[0]", "m[1]", "m[2]"]) {
      const items = assigned(stage);
      stage.end(items[name] as Assignment, name === "m[0]" ? "FAILED" : "SUCCEEDED");
    }
    stage.commit();
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD NODE_DEAD" });
  });
});

describe("the next owner of a run with a map", () => {
  it("asks for the items of a map that was not counted", () => {
    const stage = staged().load({ a: "SUCCEEDED" });
    assert.deepEqual(questions(stage), [1]);
  });

  it("goes on with the items that have no execution, however their number became known", () => {
    const stage = staged().counts({ m: 5 });
    stage.load({ a: "SUCCEEDED", "m[0]": "SUCCEEDED", "m[1]": "SUCCEEDED", "m[3]": "RUNNING" });
    assert.deepEqual(names(stage.commit(), stage), ["m[2]"]);
    const none = staged().counts({ m: 3 }).load({ a: "SUCCEEDED" });
    assert.deepEqual(names(none.commit(), none), ["m[0]", "m[1]"]);
  });

  it("ends a map whose items have ended", () => {
    const stage = staged().counts({ m: 2 });
    stage.load({ a: "SUCCEEDED", "m[0]": "SUCCEEDED", "m[1]": "SUCCEEDED" });
    assert.deepEqual(names(stage.commit(), stage), ["z"]);
  });

  it("cancels live items of a map that has failed", () => {
    const stage = staged().counts({ m: 4 }).hint("m[1]");
    stage.load({ a: "SUCCEEDED", "m[0]": "DEAD", "m[1]": "PENDING" });
    assert.deepEqual(stopped(stage), ["m[1]"]);
  });

  it("runs the items that a retry does not keep", () => {
    const stage = staged({ maxRunning: 9 }).counts({ m: 5 }, { m: "0-1,4" }).load({ a: "SUCCEEDED" });
    assert.deepEqual(names(stage.commit(), stage), ["m[2]", "m[3]"]);
  });
});

describe("a run with a map", () => {
  it("creates no item while it is paused, and goes on with the resume", () => {
    const stage = staged().load({ a: "SUCCEEDED" }, "RUNNING", true).counted("m", 3);
    const batch = stage.commit();
    assert.deepEqual([names(batch, stage), runChange(stage, batch)?.mapCounts], [[], [{ node: 1, items: 3 }]]);
    command(stage, "RESUME_RUN");
    stage.commit();
    stage.commit();
    const { progress } = stage.story.state.runs.byId.get(RUN) ?? {};
    assert.equal(progress?.live, 2);
  });

  it("that is cancelled ends its items, and ends with the last one", () => {
    const stage = counted(5);
    const items = assigned(stage);
    command(stage, "CANCEL");
    assert.deepEqual(stopped(stage), ["m[0]", "m[1]"]);
    for (const item of Object.values(items)) stage.story.finish(item, { state: "CANCELLED" });
    const ends = stage.commit();
    assert.deepEqual(states(stage, ends), { "m[0]": "CANCELLED", "m[1]": "CANCELLED" });
    assert.deepEqual(names(ends, stage), []);
    assert.deepEqual(states(stage, stage.commit()), { run: "CANCELLED" });
  });

  it("that is cancelled before its items are counted has no item", () => {
    const stage = staged().load({ a: "SUCCEEDED" });
    command(stage, "CANCEL");
    stage.commit();
    stage.counted("m", 4);
    assert.deepEqual(names(stage.commit(), stage), []);
  });
});
