import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SPAWN_DEPTH_MAX, WORKFLOW_SPAWNED_MAX } from "@mainspring/contract/limits";
import type { Assignment } from "../../ports/messages.ts";
import { deadLetterRefused } from "../attempts/dead-letter-refused.ts";
import type { Batch } from "../batch.ts";
import { sealBatch } from "../machine.ts";
import { DEADLINE_MS, RUN, Stage, states } from "../testing/run-stage.ts";
import { changesOf, only } from "../testing/story.ts";

/** A run with a node a and a node z after it, whose first attempt of a is at a worker. */
function staged(graph: ConstructorParameters<typeof Stage>[0] = { a: [], z: ["a"] }): [Stage, Assignment] {
  const stage = new Stage(graph).hint("a");
  const [assign] = stage.story.commit().assigns as [Assignment];
  stage.load({ a: "PENDING" });
  stage.commit();
  return [stage, assign];
}

const names = (stage: Stage, batch: Batch) => stage.born(batch).map(({ name }) => name);
const partsIn = (batch: Batch) => changesOf(batch).flatMap(({ spawn }) => spawn ?? []);
const acked = (batch: Batch) => [...batch.acks.values()].flatMap((workers) => [...workers.values()].flat());

function cancel(stage: Stage): void {
  const { story } = stage;
  story.tell({ kind: "COMMANDS", commands: [{ kind: "CANCEL", id: "c1", shard: stage.shard, executionId: RUN }] });
  const { row } = stage.run([], "RUNNING", false);
  story.tell({ kind: "LOADED", asked: [RUN], rows: [row], since: story.batch.number, term: story.state.term });
}

describe("a handler that adds nodes", () => {
  it("has them written with the end of its node, and the first of them created only if that is written", () => {
    const [stage, assign] = staged();
    stage.spawn(assign, stage.nodes({ x: [], y: ["x"] }));
    const batch = stage.commit();
    const part = only(partsIn(batch));
    assert.deepEqual([part.run, part.spawner, part.first, part.nodes], [RUN, 0, 2, 2]);
    assert.deepEqual(
      part.payloads.map(({ node }) => node),
      [2, 3],
    );
    assert.deepEqual(stage.born(batch), [{ name: "a/x", after: ["a"] }], "z waits for them");
    assert.equal(acked(batch).length, 1);
  });

  it("lets the nodes after its own wait for all of them but the detached ones", () => {
    const [stage, assign] = staged();
    stage.spawn(assign, stage.nodes({ x: [], y: [], d: [] }, ["d"]));
    const nodes = stage.assigned();
    assert.deepEqual(Object.keys(nodes).sort(), ["a/d", "a/x", "a/y"]);
    stage.end(nodes["a/x"] as Assignment);
    assert.deepEqual(names(stage, stage.commit()), []);
    stage.end(nodes["a/y"] as Assignment);
    const batch = stage.commit();
    assert.deepEqual(stage.born(batch), [{ name: "z", after: ["a/y"] }], "only if the end of the last one is written");
    assert.deepEqual(states(stage, batch), { "a/y": "SUCCEEDED" });
  });

  it("fails for the nodes after its own with one of them", () => {
    const [stage, assign] = staged({ a: [], z: ["a"], f: [{ node: "a", when: "FAILED" }] });
    stage.spawn(assign, stage.nodes({ x: [] }));
    stage.end(stage.assigned()["a/x"] as Assignment, "FAILED");
    const batch = stage.commit();
    assert.deepEqual(stage.born(batch), [{ name: "f", after: ["a/x"] }]);
  });

  it("may add nodes that add nodes", () => {
    const [stage, assign] = staged();
    stage.spawn(assign, stage.nodes({ x: [] }));
    const { "a/x": x } = stage.assigned();
    stage.spawn(x as Assignment, stage.nodes({ y: [] }));
    const batch = stage.commit();
    assert.deepEqual(stage.born(batch), [{ name: "a/x/y", after: ["a/x"] }]);
    stage.end(only(batch.assigns));
    assert.deepEqual(names(stage, stage.commit()), ["z"]);
  });

  it("numbers the nodes of two handlers that end in one step one behind the other", () => {
    const stage = new Stage({ a: [], b: [], z: ["a", "b"] }).hint("a").hint("b");
    const assigns = stage.story.commit().assigns;
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.commit();
    for (const assign of assigns) stage.spawn(assign, stage.nodes({ x: [], y: [] }));
    const batch = stage.commit();
    assert.deepEqual(
      partsIn(batch).map(({ first }) => first),
      [3, 5],
    );
    assert.deepEqual(names(stage, batch).sort(), ["a/x", "a/y", "b/x", "b/y"]);
  });

  it("adds nothing with an attempt that fails", () => {
    const [stage, assign] = staged();
    const spawn = stage.nodes({ x: [] });
    stage.story.finish(assign, { state: "FAILED", error: { name: "Error", message: "no" }, spawn });
    const batch = stage.commit();
    assert.deepEqual([partsIn(batch), names(stage, batch)], [[], []]);
  });

  it("waits for the run of its node, and is acknowledged then", () => {
    const stage = new Stage({ a: [], z: ["a"] }).hint("a");
    const [assign] = stage.story.commit().assigns as [Assignment];
    stage.spawn(assign, stage.nodes({ x: [] }));
    const nothing = stage.story.commit();
    assert.deepEqual([changesOf(nothing), acked(nothing)], [[], []]);
    assert.deepEqual(
      stage.story.wants.splice(0).flatMap((want) => (want.kind === "LOAD_RUNS" ? want.runs : [])),
      [RUN],
    );
    stage.load({ a: "PENDING" });
    const batch = stage.commit();
    assert.deepEqual([stage.born(batch), acked(batch).length], [[{ name: "a/x", after: ["a"] }], 1]);
  });

  it("fails if the run cannot take the nodes, and not again", () => {
    const cases: [string, (stage: Stage) => Stage][] = [
      ["levels", (stage) => deep(stage, SPAWN_DEPTH_MAX)],
      ["added nodes", (stage) => stage.has("a", stage.nodes(many(WORKFLOW_SPAWNED_MAX)))],
    ];
    for (const [reason, prepare] of cases) {
      const stage = prepare(new Stage({ a: [], b: [], z: ["a", "b"] }));
      const name = reason === "levels" ? (stage.names.at(-1) as string) : "b";
      stage.hint(name);
      const [assign] = stage.story.commit().assigns as [Assignment];
      const ended = Object.fromEntries(
        stage.names.filter((other) => isBefore(other, name)).map((n) => [n, "SUCCEEDED"]),
      );
      stage.load({ ...(ended as Record<string, "SUCCEEDED">), [name]: "PENDING" });
      stage.commit();
      stage.spawn(assign, stage.nodes({ more: [] }));
      const change = changesOf(stage.commit()).find(({ id }) => id === assign.executionId);
      assert.equal(change?.state, "DEAD");
      assert.match(`${change?.error?.name}: ${change?.error?.message}`, new RegExp(`^SpawnRefused: .*${reason}`));
      assert.equal(change?.spawn, undefined);
    }
  });

  it("of an item of a map fails", () => {
    const stage = new Stage({ m: [] }, "FAIL_FAST", null, { nodes: [] }, { m: { maxRunning: 2, tolerate: 0 } });
    stage.load({}).counted("m", 1);
    const { "m[0]": item } = stage.assigned();
    assert.equal(item?.maySpawn, undefined);
    stage.story.finish(item as Assignment, { spawn: stage.nodes({ x: [] }) });
    assert.match(changesOf(stage.commit()).find(({ id }) => id === stage.id("m[0]"))?.error?.message ?? "", /map/);
  });

  it("of a node with a concurrency key fails, because the owner of the key does not know the run", () => {
    const stage = new Stage({ a: [], z: ["a"] }).keys({ a: "warehouse" }).load({});
    const { a } = stage.assigned();
    assert.equal(a?.maySpawn, undefined);
    stage.story.finish(a as Assignment, { spawn: stage.nodes({ x: [] }) });
    const batch = stage.commit();
    const change = changesOf(batch).find(({ id }) => id === stage.id("a"));
    assert.deepEqual([change?.state, change?.spawn], ["DEAD", undefined]);
    assert.match(`${change?.error?.name}: ${change?.error?.message}`, /^SpawnRefused: .*has a concurrency key/);
  });

  it("is told that it may", () => {
    const [, assign] = staged();
    assert.equal(assign.maySpawn, true);
  });

  it("adds none if the store refuses the end of its node", () => {
    const [stage, assign] = staged();
    stage.spawn(assign, stage.nodes({ x: [] }));
    const { story } = stage;
    const batch = story.batch;
    story.batch = sealBatch(batch);
    const change = only(changesOf(batch));
    deadLetterRefused(story.state, batch, story.batch, [{ change, shard: stage.shard, message: "odd" }]);
    const next = stage.commit();
    assert.deepEqual([only(changesOf(next)).state, partsIn(next)], ["DEAD", []]);
  });
});

describe("a run with added nodes", () => {
  it("skips them if it is cancelled before", () => {
    const [stage, assign] = staged();
    cancel(stage);
    stage.commit();
    stage.spawn(assign, stage.nodes({ x: [] }));
    const batch = stage.commit();
    assert.deepEqual([partsIn(batch).length, names(stage, batch)], [1, []]);
    assert.deepEqual(states(stage, stage.commit()), { run: "CANCELLED" });
  });

  it("cancels live ones with the others", () => {
    const [stage, assign] = staged();
    stage.spawn(assign, stage.nodes({ x: [] }));
    const { "a/x": x } = stage.assigned();
    cancel(stage);
    stage.commit();
    stage.story.finish(x as Assignment, { state: "CANCELLED" });
    stage.commit();
    assert.deepEqual(states(stage, stage.commit()), { run: "CANCELLED" });
  });

  it("creates none while it is paused", () => {
    const stage = new Stage({ a: [], z: ["a"] }).hint("a");
    const [assign] = stage.story.commit().assigns as [Assignment];
    stage.load({ a: "RUNNING" }, "RUNNING", true);
    stage.commit();
    stage.spawn(assign, stage.nodes({ x: [] }));
    const batch = stage.commit();
    assert.deepEqual([partsIn(batch).length, names(stage, batch)], [1, []]);
  });

  it("ends at its deadline", () => {
    const [stage, assign] = staged();
    stage.spawn(assign, stage.nodes({ x: [] }));
    const { "a/x": x } = stage.assigned();
    stage.story.later(DEADLINE_MS);
    stage.commit();
    stage.story.finish(x as Assignment, { state: "CANCELLED" });
    stage.commit();
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD WORKFLOW_TIMED_OUT" });
  });

  it("goes on at the next owner with what its rows say", () => {
    const fresh = () => {
      const stage = new Stage({ a: [], z: ["a"] });
      return stage.has("a", stage.nodes({ x: [], y: ["x"] }));
    };
    const none = fresh().load({ a: "SUCCEEDED" });
    assert.deepEqual(names(none, none.commit()), ["a/x"]);
    const one = fresh().load({ a: "SUCCEEDED", "a/x": "SUCCEEDED" });
    assert.deepEqual(names(one, one.commit()), ["a/y"]);
    const all = fresh().load({ a: "SUCCEEDED", "a/x": "SUCCEEDED", "a/y": "SUCCEEDED" });
    assert.deepEqual(names(all, all.commit()), ["z"]);
    const spawning = fresh().hint("a/y");
    const [assign] = spawning.story.commit().assigns as [Assignment];
    spawning.load({ a: "SUCCEEDED", "a/x": "SUCCEEDED", "a/y": "PENDING" });
    spawning.commit();
    spawning.spawn(assign, spawning.nodes({ w: [] }));
    assert.equal(only(partsIn(spawning.commit())).first, 4);
  });

  it("is read again if it left memory in the step that ends the handler's node", () => {
    const [stage, assign] = staged();
    const { story } = stage;
    const spawn = stage.nodes({ x: [] });
    const { shard, executionId, attempt, workerId } = assign;
    const ended = { shard, executionId, attempt, workerId, startedAt: story.now, finishedAt: story.now };
    const result = { ...ended, state: "SUCCEEDED" as const, result: null, error: null, advice: null, spawn };
    const none = { rows: [], notCreated: [], missedPlans: [], nodes: { created: [], notCreated: [] } };
    story.wants.splice(0);
    story.tell(
      { kind: "GATEWAY", from: assign.gateway, message: { kind: "FINISHED", results: [result] } },
      { kind: "CREATED", ...none, missedRuns: [RUN], batch: story.batch.number - 1 },
    );
    assert.equal(only(partsIn(story.batch)).first, 2);
    // A read that began before the end is durable does not show the part.
    stage.load({ a: "PENDING" });
    assert.deepEqual(names(stage, stage.commit()), []);
    stage.has("a", spawn).load({ a: "SUCCEEDED" });
    assert.deepEqual(names(stage, stage.commit()), ["a/x"]);
  });
});

function many(count: number): Record<string, []> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, []]));
}

/** Adds a chain of handlers that add one node each. */
function deep(stage: Stage, levels: number): Stage {
  let spawner = "a";
  for (let level = 0; level < levels; level++) {
    stage.has(spawner, stage.nodes({ n: [] }));
    spawner = `${spawner}/n`;
  }
  return stage;
}

/** Whether a node is a, or a node that leads to the name. */
function isBefore(other: string, name: string): boolean {
  return other === "a" || name.startsWith(`${other}/`);
}
