import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RUN_NODE } from "../../domain/execution.ts";
import { DEFAULT_TENANT, shardKey, shardOf } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { CancelCommand, Command, NodeEndedCommand } from "../../ports/store-commands.ts";
import type { NodeExecution } from "../../ports/store-runs.ts";
import { deadLetterRefused } from "../attempts/dead-letter-refused.ts";
import type { Batch } from "../batch.ts";
import { DEADLINE_MS, RUN, Stage, states } from "../testing/run-stage.ts";
import { answersOf, candidate, changesOf, only } from "../testing/story.ts";

const KEY = "warehouse";
const SHARD = shardOf(shardKey(DEFAULT_TENANT, KEY, RUN));

/** Commands that a batch adds, with the shards that the store gives them. */
function added(stage: Stage, batch: Batch): Command[] {
  const all = [...batch.shards.values()].flatMap(({ commands }) => [...commands.values()]);
  return all.map(({ command }) => ({ shard: stage.shard, ...command }));
}

/** Delivers commands that a batch has added. */
function deliver(stage: Stage, batch: Batch): Command[] {
  const commands = added(stage, batch);
  stage.story.tell({ kind: "COMMANDS", commands });
  return commands;
}

/** Row of a node or item, as a read of the run has it. */
function live(stage: Stage, name: string): NodeExecution {
  const item = /\[(\d)\]/.exec(name)?.[1];
  const of = { id: stage.id(name), node: stage.number(name), item: item === undefined ? null : Number(item) };
  return { ...of, state: "PENDING", branch: null, isParked: false };
}

/** Delivers the command about the end of a node or item, which has ended elsewhere. */
function tellEnd(stage: Stage, name: string, state: NodeEndedCommand["state"]): void {
  const { id: executionId, node, item } = live(stage, name);
  const ofNode = { run: RUN, node, ...(item !== null && { item }) };
  const command = { kind: "NODE_ENDED", id: `end of ${name}`, shard: stage.shard, executionId, ofNode } as const;
  stage.story.tell({ kind: "COMMANDS", commands: [{ ...command, state, branch: null }] });
}

const done = (stage: Stage, batch: Batch) => batch.shards.get(stage.shard)?.commandsDone ?? [];
const loads = (stage: Stage) => stage.story.wants.splice(0).filter(({ kind }) => kind.startsWith("LOAD"));

/** The run of which a is the only node with a key. */
const chain = () => new Stage({ a: [], b: ["a"] }).keys({ a: KEY });
const row = (stage: Stage, name: string, more: Parameters<typeof candidate>[0] = {}) =>
  candidate({ id: stage.id(name), jobId: RUN, node: stage.number(name), concurrencyKey: KEY, shard: SHARD, ...more });

function cancelRun(stage: Stage): CancelCommand {
  const command = { kind: "CANCEL", id: "cancel-1", shard: stage.shard, executionId: RUN } as const;
  stage.story.tell({ kind: "COMMANDS", commands: [command] });
  const mark = { since: stage.story.batch.number, term: stage.story.state.term };
  const run = candidate({ id: RUN, state: "RUNNING", queue: "OPEN", node: RUN_NODE, shard: stage.shard });
  stage.story.tell({ kind: "LOADED", asked: [RUN], rows: [run], ...mark });
  return command;
}

describe("a node with a concurrency key", () => {
  it("is created in the shard of its key, and its children follow from a command about its end", () => {
    const stage = chain().load({});
    const [birth] = stage.story.batch.shards.get(stage.shard)?.births ?? [];
    assert.deepEqual([birth?.row.shard, birth?.row.concurrencyKey, birth?.after], [SHARD, KEY, []]);
    assert.notEqual(SHARD, stage.shard);
    const { a } = stage.assigned();
    assert.ok(a);
    stage.end(a, "SUCCEEDED", "left");
    const ended = stage.commit();
    assert.deepEqual([states(stage, ended), stage.born(ended)], [{ a: "SUCCEEDED" }, []]);
    const [command] = deliver(stage, ended);
    assert.ok(command?.kind === "NODE_ENDED");
    assert.deepEqual([command.ofNode, command.state, command.branch], [{ run: RUN, node: 0 }, "SUCCEEDED", "left"]);
    const batch = stage.commit();
    assert.deepEqual([stage.born(batch), done(stage, batch)], [[{ name: "b", after: [] }], [command.id]]);
    assert.deepEqual(answersOf(batch), [], "no api waits for it");
  });

  it("has its end applied once, however often it is told", () => {
    const stage = chain().load({});
    const { a } = stage.assigned();
    assert.ok(a);
    stage.end(a);
    const ended = stage.commit();
    deliver(stage, ended);
    deliver(stage, ended);
    assert.equal(stage.born(stage.commit()).length, 1);
    deliver(stage, ended);
    assert.deepEqual(stage.born(stage.commit()), []);
  });

  it("has its end applied after a read that shows it, and after one that does not", () => {
    for (const read of ["SUCCEEDED", "RUNNING"] as const) {
      const ended = chain().load({});
      const { a } = ended.assigned();
      assert.ok(a);
      ended.end(a);
      const commands = added(ended, ended.commit());
      const next = chain();
      next.story.tell({ kind: "COMMANDS", commands });
      assert.deepEqual(loads(next), [{ kind: "LOAD_RUNS", runs: [RUN] }]);
      assert.equal(next.story.batch.hasWrites, false, "the command stays in the inbox until the run is read");
      next.load({ a: read });
      const batch = next.commit();
      assert.deepEqual([next.born(batch).map(({ name }) => name), done(next, batch)], [["b"], [commands[0]?.id]], read);
    }
  });

  it("leaves no command behind when its run is final", () => {
    const stage = chain();
    const ofNode = { run: RUN, node: 0 };
    const ended = { kind: "NODE_ENDED", id: "end-1", shard: stage.shard, executionId: stage.id("a"), ofNode } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [{ ...ended, state: "SUCCEEDED", branch: null }] });
    const mark = { since: stage.story.batch.number, term: stage.story.state.term };
    stage.story.tell({ kind: "LOADED_RUNS", asked: [RUN], runs: [], ...mark });
    assert.deepEqual(done(stage, stage.commit()), ["end-1"]);
  });

  it("has its end told as DEAD if the store refuses its result", () => {
    const stage = chain().load({});
    const { a } = stage.assigned();
    assert.ok(a);
    stage.end(a);
    const answered = stage.commit();
    const change = only(changesOf(answered));
    deadLetterRefused(stage.story.state, answered, stage.story.batch, [{ change, shard: SHARD, message: "no" }]);
    const [command] = deliver(stage, stage.commit());
    assert.deepEqual([command?.kind, command?.kind === "NODE_ENDED" && command.state], ["NODE_ENDED", "DEAD"]);
    const { mode } = only([...(stage.commit().shards.get(stage.shard)?.runs.values() ?? [])]);
    assert.equal(mode, "FAILING");
  });

  it("waits for an execution of a job that has the key", () => {
    const stage = chain();
    const job = candidate({ concurrencyKey: KEY });
    stage.story.hint(job);
    const assign = only(stage.story.commit().assigns);
    stage.load({});
    assert.deepEqual(stage.assigned(), {});
    stage.story.finish(assign);
    assert.equal(only(stage.commit().assigns).executionId, stage.id("a"));
  });

  it("is not asked for its run where another owner has the run", () => {
    const stage = chain();
    stage.story.tell({ kind: "LOST", shards: [stage.shard] });
    stage.story.hint(row(stage, "a"));
    assert.deepEqual(loads(stage), []);
    const a = only(stage.story.commit().assigns);
    stage.end(a, "FAILED");
    const ended = stage.story.commit();
    assert.deepEqual(loads(stage), []);
    const [command] = added(stage, ended);
    assert.deepEqual(command?.kind === "NODE_ENDED" && command.state, "DEAD");
  });

  it("gets a signal by its name through the owner of its run", () => {
    const stage = chain().load({ a: "PENDING" });
    stage.story.wants.splice(0);
    const ofNode = { run: RUN, node: 0, isKeyed: true } as const;
    const id = "01890a5d-ac96-774b-bcce-b302099a8051";
    const command = { kind: "SIGNAL", id, shard: stage.shard, executionId: stage.id("a"), ofNode } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [command] });
    assert.deepEqual(loads(stage), [], "its row is in another shard");
    const batch = stage.commit();
    assert.deepEqual(done(stage, batch), [id]);
    const [passed] = added(stage, batch);
    assert.deepEqual([passed?.kind, passed?.shard, passed?.id === id], ["SIGNAL", SHARD, false]);
  });
});

describe("the end of a run with nodes that have concurrency keys", () => {
  it("waits until the owner of the key has cancelled the node", () => {
    const stage = chain().load({ a: "PENDING" });
    cancelRun(stage);
    const cancelling = stage.commit();
    const [command] = added(stage, cancelling);
    assert.ok(command?.kind === "CANCEL");
    assert.deepEqual(
      [command.shard, command.executionId, command.reason],
      [SHARD, stage.id("a"), "WORKFLOW_CANCELLED"],
    );
    assert.deepEqual(states(stage, stage.commit()), {});
    deliver(stage, cancelling);
    const mark = { since: stage.story.batch.number, term: stage.story.state.term };
    stage.story.tell({ kind: "LOADED", asked: [stage.id("a")], rows: [row(stage, "a")], ...mark });
    const cancelled = stage.commit();
    assert.deepEqual(states(stage, cancelled), { a: "CANCELLED WORKFLOW_CANCELLED" });
    deliver(stage, cancelled);
    assert.deepEqual(states(stage, stage.commit()), {}, "the run ends one commit after its last node");
    assert.deepEqual(states(stage, stage.commit()), { run: "CANCELLED" });
  });

  it("is asked for again by a next owner, with the same command", () => {
    const [first, next] = [chain().load({ a: "PENDING" }), chain().load({ a: "PENDING" }, "CANCELLING")];
    cancelRun(first);
    assert.deepEqual(added(next, next.commit()), added(first, first.commit()));
    assert.deepEqual(added(next, next.commit()), [], "once while the run is in memory");
  });

  it("is asked for once it is durable that the run is FAILING", () => {
    const stage = new Stage({ a: [], broken: [] }).keys({ a: KEY }).hint("broken");
    const broken = only(stage.story.commit().assigns);
    stage.load({ a: "RUNNING", broken: "PENDING" });
    stage.end(broken, "FAILED");
    const batch = stage.commit();
    assert.equal(batch.shards.get(stage.shard)?.runs.get(RUN)?.mode, "FAILING");
    assert.deepEqual(added(stage, batch), []);
    const [command] = added(stage, stage.commit());
    assert.deepEqual(command?.kind === "CANCEL" && command.reason, "WORKFLOW_FAILED");
  });

  it("is asked for in the commit that makes the run FAILING because of another such node", () => {
    const stage = new Stage({ a: [], broken: [] }).keys({ a: KEY, broken: "broken" });
    stage.load({ a: "RUNNING", broken: "RUNNING" });
    const ofNode = { run: RUN, node: 1 };
    const ended = { kind: "NODE_ENDED", id: "end-1", shard: stage.shard, executionId: stage.id("broken") } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [{ ...ended, ofNode, state: "DEAD", branch: null }] });
    const batch = stage.commit();
    const [command] = added(stage, batch);
    assert.equal(command?.kind === "CANCEL" && command.reason, "WORKFLOW_FAILED");
    assert.equal(batch.shards.get(stage.shard)?.runs.get(RUN)?.mode, "FAILING");
  });

  it("is asked for after the answer to the commit that creates the node", () => {
    const stage = chain().load({});
    stage.story.later(DEADLINE_MS);
    const creating = stage.commit();
    assert.deepEqual([stage.born(creating).length, added(stage, creating)], [1, []]);
    const [command] = added(stage, stage.commit());
    assert.equal(command?.kind === "CANCEL" && command.reason, "WORKFLOW_TIMED_OUT");
  });

  it("is asked for with 1,000 commands a commit at most", () => {
    const names = Array.from({ length: 1_100 }, (_, number) => `n${number}`);
    const stage = new Stage(Object.fromEntries(names.map((name) => [name, []])));
    stage.keys(Object.fromEntries(names.map((name) => [name, KEY])));
    stage.load(Object.fromEntries(names.map((name) => [name, "PENDING" as const])), "CANCELLING");
    assert.equal(added(stage, stage.commit()).length, 1_000);
    assert.equal(added(stage, stage.commit()).length, 100);
    assert.equal(added(stage, stage.commit()).length, 0);
  });

  it("forgets what it was told of runs that another owner has now", () => {
    const stage = chain();
    const ofNode = { run: RUN, node: 0 };
    const ended = { kind: "NODE_ENDED", id: "end-1", shard: stage.shard, executionId: stage.id("a"), ofNode } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [{ ...ended, state: "SUCCEEDED", branch: null }] });
    stage.story.tell({ kind: "LOST", shards: [stage.shard] });
    const { openCommands, runs } = stage.story.state;
    assert.deepEqual([openCommands.size, runs.keyedEnds.size], [0, 0]);
  });
});

/** A map of five items at a time, all of which have the key, and a node after it. */
const mapped = (tolerate = 0) =>
  new Stage({ m: [], z: ["m"] }, "FAIL_FAST", null, { nodes: [] }, { m: { maxRunning: 5, tolerate } }).keys({ m: KEY });

describe("the items of a map with a concurrency key", () => {
  it("take turns at the key, and the map ends with the last of them", () => {
    const stage = mapped().load({}).counted("m", 2);
    const births = stage.story.batch.shards.get(stage.shard)?.births.map(({ row }) => row) ?? [];
    assert.deepEqual(
      births.map(({ shard, item, concurrencyKey }) => [shard, item, concurrencyKey]),
      [0, 1].map((item) => [SHARD, item, KEY]),
    );
    stage.commit();
    const first = only(stage.commit().assigns);
    stage.end(first);
    const ended = stage.commit();
    const second = only(ended.assigns);
    const items = [first, second].map(({ executionId }) => live(stage, stage.name(executionId)).item);
    assert.deepEqual([...items].sort(), [0, 1]);
    const [command] = deliver(stage, ended);
    assert.deepEqual(command?.kind === "NODE_ENDED" && command.ofNode, { run: RUN, node: 0, item: items[0] });
    assert.deepEqual(stage.born(stage.commit()), []);
    stage.end(second);
    const [last] = deliver(stage, stage.commit());
    assert.notEqual(last?.id, command?.id);
    assert.deepEqual(stage.born(stage.commit()), [{ name: "z", after: [] }]);
  });

  it("count once, though a read shows them as live and as ended", () => {
    const stage = mapped(1).counts({ m: 2 });
    const run = stage.run([{ ...live(stage, "m[0]"), state: "RUNNING" }, live(stage, "m[1]")], "RUNNING", false);
    const items = [{ node: 0, state: "DEAD" as const, items: Uint32Array.of(0) }];
    const mark = { since: stage.story.batch.number, term: stage.story.state.term };
    stage.story.tell({ kind: "LOADED_RUNS", asked: [RUN], runs: [{ ...run, items }], ...mark });
    tellEnd(stage, "m[0]", "DEAD");
    assert.deepEqual(stage.born(stage.commit()), []);
    tellEnd(stage, "m[1]", "SUCCEEDED");
    assert.deepEqual(stage.born(stage.commit()), [{ name: "z", after: [] }], "the map tolerates one DEAD item");
  });

  it("are cancelled by command when the map has failed", () => {
    const stage = mapped().counts({ m: 3 }).load({ "m[0]": "RUNNING", "m[1]": "PENDING", "m[2]": "PENDING" });
    tellEnd(stage, "m[0]", "DEAD");
    const commands = added(stage, stage.commit()).filter(({ kind }) => kind === "CANCEL") as CancelCommand[];
    assert.deepEqual(
      commands.map(({ executionId, shard, reason }) => [stage.name(executionId), shard, reason]),
      ["m[1]", "m[2]"].map((name) => [name, SHARD, "MAP_FAILED"]),
    );
    for (const name of ["m[1]", "m[2]"]) tellEnd(stage, name, "CANCELLED");
    assert.equal(only([...(stage.commit().shards.get(stage.shard)?.runs.values() ?? [])]).mode, "FAILING");
  });
});

/** A run whose compensation of b has the key. */
const undoing = () =>
  new Stage({ a: [], b: ["a"], c: ["b"] }, "FAIL_FAST", null, { nodes: ["a", "b"] }).keys({ "undo b": KEY });

describe("a compensation with a concurrency key", () => {
  it("is created in the shard of its key, and the next one follows from a command about its end", () => {
    const stage = undoing().load({ a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD" });
    stage.commit();
    const [birth] = stage.story.batch.shards.get(stage.shard)?.births ?? [];
    assert.deepEqual([birth?.row.id, birth?.row.shard], [stage.id("undo b"), SHARD]);
    const { "undo b": b } = stage.assigned();
    stage.end(b as Assignment);
    const ended = stage.commit();
    assert.deepEqual(stage.born(stage.commit()), []);
    const [command] = deliver(stage, ended);
    deliver(stage, ended);
    const batch = stage.commit();
    assert.deepEqual([stage.born(batch), done(stage, batch)[0]], [[{ name: "undo a", after: [] }], command?.id]);
  });

  it("has its end applied once if a read shows it before a command tells it", () => {
    const stage = undoing();
    const nodes = { a: "SUCCEEDED", b: "SUCCEEDED", c: "DEAD" } as const;
    stage.compensates({ state: "DEAD", reason: "NODE_DEAD", error: null });
    stage.load({ ...nodes, "undo b": "SUCCEEDED" }, "FAILING");
    assert.deepEqual(stage.born(stage.commit()), [{ name: "undo a", after: [] }]);
    tellEnd(stage, "undo b", "SUCCEEDED");
    const batch = stage.commit();
    assert.deepEqual([stage.born(batch), done(stage, batch)], [[], ["end of undo b"]]);
  });
});

describe("a pause of a run with nodes that have concurrency keys", () => {
  const order = (stage: Stage, kind: "PAUSE_RUN" | "RESUME_RUN") =>
    stage.story.tell({ kind: "COMMANDS", commands: [{ id: kind, shard: stage.shard, kind, executionId: RUN }] });
  const written = (stage: Stage, batch: Batch) =>
    [...(batch.shards.get(stage.shard)?.runs.values() ?? [])].map(({ paused }) => paused);

  it("is durable after the commit that creates such a node, and not with it", () => {
    const stage = chain().load({});
    order(stage, "PAUSE_RUN");
    const creating = stage.commit();
    assert.deepEqual([stage.born(creating).length, written(stage, creating)], [1, []]);
    assert.deepEqual(written(stage, stage.commit()), [true]);
  });

  it("creates no further node, while those that exist go on to their ends", () => {
    const stage = chain().load({});
    const { a } = stage.assigned();
    order(stage, "PAUSE_RUN");
    assert.deepEqual(loads(stage), [], "nobody parks the node");
    assert.deepEqual(written(stage, stage.commit()), [true]);
    stage.commit();
    stage.end(a as Assignment);
    deliver(stage, stage.commit());
    assert.deepEqual(stage.born(stage.commit()), []);
    order(stage, "RESUME_RUN");
    const batch = stage.commit();
    assert.deepEqual(written(stage, batch), [false]);
    assert.deepEqual([...stage.born(batch), ...stage.born(stage.commit())], [{ name: "b", after: [] }]);
  });
});
