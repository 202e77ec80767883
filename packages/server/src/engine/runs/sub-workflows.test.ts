import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { type Candidate, type ExecutionState, RUN_NODE } from "../../domain/execution.ts";
import { DEFAULT_TENANT, shardKey, shardOf } from "../../domain/ids.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { RunMode } from "../../ports/store-runs.ts";
import type { Batch } from "../batch.ts";
import { explain } from "../explain.ts";
import { DEADLINE_MS, RUN, Stage } from "../testing/run-stage.ts";
import { answersOf, candidate, changesOf, only, START } from "../testing/story.ts";

/** A run whose node b is a sub-workflow of the nodes x and y, one after the other. */
class Family {
  readonly stage: Stage;
  readonly #inner = new Stage({ x: [], y: ["x"] });

  constructor(graph: ConstructorParameters<typeof Stage>[0] = { a: [], b: ["a"], c: ["b"] }) {
    this.stage = new Stage(graph).nests("b");
  }

  get child(): string {
    return this.stage.id("b");
  }

  /** Id of a node of the sub-workflow. */
  id(name: "x" | "y"): string {
    return nodeExecutionId(this.child, this.#inner.number(name), null, 0);
  }

  row(more: Partial<Candidate> = {}): Candidate {
    const ofRun = { jobId: RUN, node: this.stage.number("b"), handler: SUB_WORKFLOW_HANDLER, shard: this.stage.shard };
    return candidate({ id: this.child, ...ofRun, ...more });
  }

  openRow(): Candidate {
    return this.row({ state: "RUNNING", queue: "OPEN", dueAt: START + DEADLINE_MS, startedAt: START });
  }

  /** Answers the question for the sub-workflow's run. @param states states of its nodes that have rows */
  read(row: Candidate, states: Partial<Record<"x" | "y", ExecutionState>> = {}, mode: RunMode = "RUNNING"): this {
    const executions = Object.entries(states).map(([name, state]) => {
      const id = this.id(name as "x" | "y");
      return { id, node: this.#inner.number(name), item: null, state, branch: null, isParked: false };
    });
    const run = { ...this.#inner.run(executions, mode, false), row, workflow: "b" };
    const { story } = this.stage;
    const mark = { since: story.batch.number, term: story.state.term };
    story.tell({ kind: "LOADED_RUNS", asked: [this.child], runs: [run], ...mark });
    return this;
  }

  /** Answers the question for the row of the sub-workflow's execution. */
  readRow(row: Candidate): this {
    const { story } = this.stage;
    const mark = { since: story.batch.number, term: story.state.term };
    story.tell({ kind: "LOADED", asked: [this.child], rows: [row], ...mark });
    return this;
  }

  /** Opens the sub-workflow. @returns the assignment of its node x */
  opened(): Assignment {
    this.stage.load({ a: "SUCCEEDED", b: "PENDING" });
    this.read(this.openRow());
    return only(this.stage.commit().assigns.filter(({ executionId }) => executionId === this.id("x")));
  }

  name(id: string): string {
    if (id === RUN) return "run";
    if (id === this.id("x")) return "b/x";
    return id === this.id("y") ? "b/y" : this.stage.name(id);
  }

  states(batch: Batch): Record<string, string> {
    return Object.fromEntries(
      changesOf(batch).map(({ id, state, queue, reason }) => {
        const word = queue === "OPEN" ? queue : state;
        return [this.name(id), reason === null ? word : `${word} ${reason}`];
      }),
    );
  }

  born(batch: Batch) {
    const births = [...batch.shards.values()].flatMap((draft) => draft.births);
    return births.map(({ row, after, workflow }) => ({
      name: this.name(row.id),
      after: after.map((id) => this.name(id)),
      ...(workflow !== undefined && { workflow }),
    }));
  }

  modes(batch: Batch): Record<string, string> {
    const changes = [...(batch.shards.get(this.stage.shard)?.runs.values() ?? [])];
    return Object.fromEntries(changes.map(({ run, mode }) => [this.name(run), mode]));
  }

  cancel(executionId: string, reason?: string): void {
    const { story, shard } = this.stage;
    const id = `cancel ${executionId}`;
    const command = { kind: "CANCEL" as const, id, shard, executionId, ...(reason !== undefined && { reason }) };
    story.tell({ kind: "COMMANDS", commands: [command] });
    const mark = { since: story.batch.number, term: story.state.term };
    const open = { state: "RUNNING", queue: "OPEN" } as const;
    const row = executionId === RUN ? candidate({ id: RUN, node: RUN_NODE, shard, ...open }) : this.openRow();
    story.tell({ kind: "LOADED", asked: [executionId], rows: [row], ...mark });
  }
}

const loads = ({ stage }: Family) => stage.story.wants.splice(0).filter(({ kind }) => kind.startsWith("LOAD"));

describe("a node that runs a sub-workflow", () => {
  it("is born as a run, is opened like one, and its end is that of the node", () => {
    const family = new Family();
    const { stage } = family;
    stage.load({ a: "SUCCEEDED" });
    const birth = stage.commit();
    assert.deepEqual(family.born(birth), [{ name: "b", after: [], workflow: "b" }]);
    assert.deepEqual(
      loads(family).filter(({ kind }) => kind === "LOAD_RUNS"),
      [{ kind: "LOAD_RUNS", runs: [family.child] }],
    );
    family.read(family.row());
    const open = stage.commit();
    assert.deepEqual(family.states(open), { b: "OPEN" });
    assert.deepEqual(family.born(open), [{ name: "b/x", after: ["b"] }]);
    stage.end(only(open.assigns));
    const first = stage.commit();
    assert.deepEqual(
      [family.states(first), family.born(first)],
      [{ "b/x": "SUCCEEDED" }, [{ name: "b/y", after: ["b/x"] }]],
    );
    stage.end(only(first.assigns));
    assert.deepEqual(family.states(stage.commit()), { "b/y": "SUCCEEDED" });
    const end = stage.commit();
    assert.deepEqual([family.states(end), family.born(end)], [{ b: "SUCCEEDED" }, [{ name: "c", after: ["b"] }]]);
  });

  it("is opened by a next owner that finds its row, and that reads its parent when it ends", () => {
    const family = new Family();
    const { stage } = family;
    stage.story.hint(family.row());
    family.read(family.row());
    assert.deepEqual(family.states(stage.commit()), { b: "OPEN" });
    const next = new Family();
    next.read(next.openRow(), { x: "SUCCEEDED", y: "SUCCEEDED" });
    loads(next);
    assert.deepEqual(next.states(next.stage.commit()), { b: "SUCCEEDED" });
    next.stage.load({ a: "SUCCEEDED", b: "PENDING" });
    assert.deepEqual(
      next.born(next.stage.commit()).map(({ name }) => name),
      ["c"],
    );
  });

  it("is DEAD when its run is, which is no dead letter of its own, and the parent fails", () => {
    const family = new Family();
    const { stage } = family;
    stage.end(family.opened(), "FAILED");
    assert.deepEqual(family.states(stage.commit()), { "b/x": "DEAD NOT_RETRYABLE" });
    const dead = stage.commit();
    assert.deepEqual(family.states(dead), { b: "DEAD NODE_DEAD" });
    assert.equal(changesOf(dead)[0]?.error?.message, "its node x is DEAD");
    assert.deepEqual([family.modes(dead), dead.deadLetters], [{ run: "FAILING" }, []]);
  });

  it("is DEAD at its deadline", () => {
    const family = new Family();
    const { stage } = family;
    const x = family.opened();
    stage.story.later(DEADLINE_MS);
    assert.equal(family.modes(stage.commit())["b"], "EXPIRING");
    stage.story.finish(x, { state: "CANCELLED" });
    stage.commit();
    assert.equal(family.states(stage.commit())["b"], "DEAD WORKFLOW_TIMED_OUT");
  });

  it("ends as CANCELLED when its run alone is cancelled", () => {
    const family = new Family();
    const { stage } = family;
    const x = family.opened();
    family.cancel(family.child);
    assert.deepEqual(family.modes(stage.commit()), { b: "CANCELLING" });
    stage.story.finish(x, { state: "CANCELLED" });
    assert.deepEqual(family.states(stage.commit()), { "b/x": "CANCELLED" });
    const end = stage.commit();
    assert.deepEqual([family.states(end), family.modes(end)], [{ b: "CANCELLED" }, {}]);
  });
});

describe("the end of a run with an open sub-workflow", () => {
  it("waits for the end of the sub-workflow, whose nodes it cancels", () => {
    const family = new Family({ a: [], b: ["a"], c: ["b"] });
    const { stage } = family;
    const x = family.opened();
    family.cancel(RUN);
    assert.deepEqual(family.modes(stage.commit()), { run: "CANCELLING", b: "CANCELLING" });
    assert.deepEqual(family.states(stage.commit()), {});
    stage.story.finish(x, { state: "CANCELLED" });
    assert.deepEqual(family.states(stage.commit()), { "b/x": "CANCELLED" });
    const child = stage.commit();
    assert.deepEqual(family.states(child), { b: "CANCELLED WORKFLOW_CANCELLED" });
    assert.deepEqual(family.states(stage.commit()), { run: "CANCELLED" });
    assert.deepEqual(answersOf(child), []);
  });

  it("cancels a sub-workflow that is not open yet", () => {
    const family = new Family({ a: [], b: [] });
    const { stage } = family;
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.story.hint(family.row());
    family.cancel(RUN);
    family.readRow(family.row());
    assert.equal(family.states(stage.commit())["b"], "CANCELLED WORKFLOW_CANCELLED");
  });

  it("reads a sub-workflow that is not in memory, and one that has left memory since", () => {
    const family = new Family({ a: [], b: [] });
    const { stage } = family;
    stage.load({ a: "DEAD", b: "PENDING" }, "FAILING");
    assert.deepEqual(loads(family), [{ kind: "LOAD", ids: [family.child] }]);
    family.readRow(family.openRow());
    assert.deepEqual(loads(family), [{ kind: "LOAD_RUNS", runs: [family.child] }]);
    family.read(family.openRow(), { x: "PENDING" });
    assert.deepEqual(family.modes(stage.commit()), { b: "CANCELLING" });
    const run = stage.story.state.runs.byId.get(family.child);
    assert.ok(run !== undefined);
    stage.story.state.runs.drop(run);
    family.read(family.openRow(), { x: "CANCELLED" }, "CANCELLING");
    assert.deepEqual(family.states(stage.commit()), { b: "CANCELLED WORKFLOW_FAILED" });
    assert.equal(stage.story.state.runs.stopped.size, 0);
  });

  it("ends a sub-workflow of a sub-workflow, too", () => {
    const family = new Family({ a: [], b: [] });
    const { stage } = family;
    stage.load({ a: "PENDING", b: "PENDING" });
    // The node y of the sub-workflow is one itself.
    family.read(family.openRow(), { x: "SUCCEEDED", y: "PENDING" });
    loads(family);
    family.cancel(RUN);
    const asked = loads(family).flatMap((want) => (want.kind === "LOAD" ? want.ids : []));
    assert.ok(asked.includes(family.id("y")), "its row says whether it is a node at a worker or an open run");
    const mark = { since: stage.story.batch.number, term: stage.story.state.term };
    const row = candidate({
      ...{ id: family.id("y"), jobId: family.child, node: 1, handler: SUB_WORKFLOW_HANDLER, shard: stage.shard },
      ...{ state: "RUNNING", queue: "OPEN" },
    });
    stage.story.tell({ kind: "LOADED", asked: [row.id], rows: [row], ...mark });
    assert.deepEqual(stage.story.state.runs.stopped.get(row.id)?.reason, "WORKFLOW_CANCELLED");
    assert.deepEqual(loads(family), [{ kind: "LOAD_RUNS", runs: [row.id] }]);
  });

  it("forgets whom it asked to end when another owner has the shard", () => {
    const family = new Family({ a: [], b: [] });
    const { stage } = family;
    stage.load({ a: "PENDING", b: "PENDING" });
    family.read(family.openRow(), { x: "PENDING" });
    family.cancel(RUN);
    assert.equal(stage.story.state.runs.stopped.size, 1);
    stage.story.tell({ kind: "LOST", shards: [stage.shard] });
    assert.equal(stage.story.state.runs.stopped.size, 0);
  });
});

describe("the pause of a run with a sub-workflow", () => {
  const pause = ({ stage }: Family) =>
    stage.story.tell({
      kind: "COMMANDS",
      commands: [{ kind: "PAUSE_RUN", id: "pause", shard: stage.shard, executionId: RUN }],
    });

  it("lets an open sub-workflow go on, and starts nothing after it", () => {
    const family = new Family({ a: [], b: [], c: ["b"] });
    const { stage } = family;
    const x = family.opened();
    pause(family);
    family.readRow(family.openRow());
    const batch = stage.commit();
    assert.deepEqual([batch.shards.get(stage.shard)?.runs.get(RUN)?.paused, family.states(batch)], [true, {}]);
    assert.deepEqual([...stage.story.state.entries.keys()], [family.id("x")]);
    stage.end(x);
    const last = stage.commit();
    assert.deepEqual(family.born(last), [{ name: "b/y", after: ["b/x"] }]);
    stage.end(only(last.assigns));
    stage.commit();
    const end = stage.commit();
    assert.deepEqual([family.states(end), family.born(end)], [{ b: "SUCCEEDED" }, []]);
  });

  it("parks a sub-workflow that is not open yet, and the parent's resume opens it", () => {
    const family = new Family({ a: [], b: [] });
    const { stage } = family;
    stage.load({ a: "SUCCEEDED", b: "PENDING" });
    stage.story.hint(family.row());
    pause(family);
    family.readRow(family.row());
    const parked = only(changesOf(stage.commit()));
    assert.deepEqual([parked.id, parked.queue], [family.child, "PARKED"]);
    family.read(family.row());
    assert.deepEqual(family.states(stage.commit()), {}, "the read for its opening was on its way");
    const reasons = explain(stage.story.state, family.row({ queue: "PARKED" }), START);
    assert.deepEqual(reasons, [{ reason: "WORKFLOW_PAUSED", workflowId: RUN }]);
    stage.story.tell({
      kind: "COMMANDS",
      commands: [{ kind: "RESUME_RUN", id: "resume", shard: stage.shard, executionId: RUN }],
    });
    family.readRow(family.row({ queue: "PARKED" }));
    stage.commit();
    family.read(family.row());
    assert.deepEqual(family.states(stage.commit()), { b: "OPEN" });
  });
});

describe("a sub-workflow with a concurrency key", () => {
  const KEY = "warehouse";
  const SHARD = shardOf(shardKey(DEFAULT_TENANT, KEY, RUN));
  const keyed = (family: Family, more: Partial<Candidate> = {}) =>
    family.row({ concurrencyKey: KEY, shard: SHARD, ...more });
  const added = ({ stage }: Family, batch: Batch): Command[] => {
    const all = [...batch.shards.values()].flatMap(({ commands }) => [...commands.values()]);
    return all.map(({ command }) => ({ shard: stage.shard, ...command }));
  };

  it("is a run in the shard of its key, whose end a command tells, whoever has its parent", () => {
    const family = new Family();
    const { story, shard } = family.stage;
    story.tell({ kind: "LOST", shards: [shard] });
    const open = keyed(family, { state: "RUNNING", queue: "OPEN", dueAt: START + DEADLINE_MS });
    family.read(open, { x: "SUCCEEDED", y: "SUCCEEDED" });
    const [command] = added(family, story.batch);
    assert.ok(command?.kind === "NODE_ENDED");
    assert.deepEqual([command.ofNode, command.state], [{ run: RUN, node: 1 }, "SUCCEEDED"]);
  });

  it("is cancelled by a command that gives the reason", () => {
    const family = new Family({ a: [], b: [] });
    const { stage } = family;
    stage.keys({ b: KEY }).load({ a: "DEAD", b: "PENDING" }, "FAILING");
    const [command] = added(family, stage.commit());
    assert.ok(command?.kind === "CANCEL");
    const open = keyed(family, { state: "RUNNING", queue: "OPEN", dueAt: START + DEADLINE_MS });
    stage.story.tell({ kind: "COMMANDS", commands: [command] });
    family.readRow(open);
    family.read(open, { x: "CANCELLED" }, "CANCELLING");
    const [end] = changesOf(stage.commit());
    assert.deepEqual([end?.id, end?.state, end?.reason], [family.child, "CANCELLED", "WORKFLOW_FAILED"]);
  });
});
