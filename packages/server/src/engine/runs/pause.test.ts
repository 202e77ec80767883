import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { RunChange } from "../../ports/store-runs.ts";
import type { Batch } from "../batch.ts";
import { explain } from "../explain.ts";
import { RUN, Stage, states } from "../testing/run-stage.ts";
import { answersOf, candidate, changesOf, only, START } from "../testing/story.ts";

type Kind = "PAUSE_RUN" | "RESUME_RUN";

function order(stage: Stage, kind: Kind, id: string = kind): void {
  const command = { kind, id, shard: stage.shard, executionId: RUN };
  stage.story.tell({ kind: "COMMANDS", commands: [command] });
}

function change(stage: Stage, batch: Batch): RunChange | undefined {
  return batch.shards.get(stage.shard)?.runs.get(RUN);
}

/** Commands that a batch completes, with the answers to them. */
function done(stage: Stage, batch: Batch) {
  return { ids: batch.shards.get(stage.shard)?.commandsDone ?? [], answers: answersOf(batch) };
}

const nothing = { ids: [], answers: [] };
const completed = (id: string, outcome: "PAUSED" | "RESUMED" | "FINAL") => ({
  ids: [id],
  answers: [{ kind: "COMMAND_DONE", commandId: id, outcome }],
});

/** Rows of nodes that a batch writes, by name: their queues. */
function queues(stage: Stage, batch: Batch): Record<string, string> {
  return Object.fromEntries(changesOf(batch).map(({ id, queue }) => [stage.name(id), queue]));
}

function row(stage: Stage, name: string, more: Partial<Candidate> = {}): Candidate {
  return candidate({ id: stage.id(name), jobId: RUN, node: stage.number(name), shard: stage.shard, ...more });
}

/** Answers the read of a node. */
function read(stage: Stage, name: string, rows: Candidate[]): void {
  const { story } = stage;
  const mark = { since: story.batch.number, term: story.state.term };
  story.tell({ kind: "LOADED", asked: [stage.id(name)], rows, ...mark });
}

/** A run whose node a is at a worker. */
function running(
  graph: ConstructorParameters<typeof Stage>[0],
  onFailure?: "CONTINUE",
): { stage: Stage; a: Assignment } {
  const stage = new Stage(graph, onFailure).hint("a");
  const a = only(stage.story.commit().assigns);
  return { stage, a };
}

describe("a paused run", () => {
  it("is confirmed once its row says so, and creates no node until it is resumed", () => {
    const { stage, a } = running({ a: [], b: ["a"] });
    stage.load({ a: "PENDING" });
    order(stage, "PAUSE_RUN");
    read(stage, "a", [row(stage, "a")]);
    const paused = stage.story.batch;
    assert.deepEqual([change(stage, paused)?.paused, done(stage, paused)], [true, nothing]);
    stage.commit();
    assert.deepEqual(done(stage, stage.story.batch), completed("PAUSE_RUN", "PAUSED"));
    stage.end(a);
    const end = stage.commit();
    assert.deepEqual([states(stage, end), stage.born(end)], [{ a: "SUCCEEDED" }, []]);
    order(stage, "RESUME_RUN");
    const resumed = stage.commit();
    assert.deepEqual([change(stage, resumed)?.paused, stage.born(resumed)], [false, [{ name: "b", after: [] }]]);
    assert.deepEqual(done(stage, stage.commit()), completed("RESUME_RUN", "RESUMED"));
  });

  it("parks the nodes that wait for a worker, and starts them when it is resumed", () => {
    const stage = new Stage({ a: [], b: [] }).load({ a: "PENDING", b: "PENDING" });
    stage.story.tell({
      kind: "READ_READY",
      ...mark(stage),
      laneHash: 1,
      after: null,
      rows: [row(stage, "a")],
      full: false,
    });
    // The worker is busy.
    stage.story.lose("w1");
    read(stage, "b", [row(stage, "b")]);
    order(stage, "PAUSE_RUN");
    assert.equal(change(stage, stage.story.batch), undefined, "b is not known to be parked");
    read(stage, "b", [row(stage, "b")]);
    const batch = stage.commit();
    assert.deepEqual(queues(stage, batch), { a: "PARKED", b: "PARKED" });
    assert.equal(change(stage, batch)?.paused, true);
    stage.story.worker("w2", { slots: 9 });
    assert.deepEqual(stage.commit().assigns, []);

    order(stage, "RESUME_RUN");
    for (const name of ["a", "b"]) read(stage, name, [row(stage, name, { queue: "PARKED" })]);
    const resumed = stage.commit();
    assert.deepEqual(queues(stage, resumed), { a: "READY", b: "READY" });
    assert.equal(resumed.assigns.length, 2);
  });

  it("parks a node that is created while the pause is on its way, before the pause is durable", () => {
    const { stage, a } = running({ a: [], b: ["a"] });
    stage.load({ a: "PENDING" });
    stage.end(a);
    order(stage, "PAUSE_RUN");
    const birth = stage.commit();
    assert.deepEqual([stage.born(birth), change(stage, birth)], [[{ name: "b", after: ["a"] }], undefined]);
    const batch = stage.commit();
    assert.deepEqual([queues(stage, batch), change(stage, batch)?.paused], [{ b: "PARKED" }, true]);
    assert.deepEqual(batch.assigns, []);
  });

  it("lets attempts go on, and parks a node whose attempt failed until it is resumed", () => {
    const { stage, a } = running({ a: [] });
    stage.load({ a: "PENDING" });
    order(stage, "PAUSE_RUN");
    stage.commit();
    stage.story.finish(a, { state: "FAILED", error: { name: "Error", message: "no" } });
    const written = only(changesOf(stage.commit()));
    assert.deepEqual([written.queue, written.reason, written.failures], ["PARKED", "BACKOFF", 1]);
    stage.story.later(120_000);
    assert.deepEqual(stage.commit().assigns, []);
  });

  it("parks a node whose attempt suspends, with its mark", () => {
    const { stage, a } = running({ a: [] });
    stage.load({ a: "PENDING" });
    order(stage, "PAUSE_RUN");
    stage.commit();
    const waits = [{ name: "pause", delayMs: 5_000, signals: [], isRecorded: false }];
    stage.story.finish(a, { state: "SUSPENDED", waits });
    const written = only(changesOf(stage.commit()));
    assert.deepEqual([written.queue, written.reason, written.steps], ["PARKED", "SLEEPING", "SLEEPING"]);
  });

  it("parks a sleeper with its mark, which sleeps on when the run is resumed early", () => {
    const stage = new Stage({ a: [] });
    const sleeper = { steps: "SLEEPING", dueAt: START + 5_000, queue: "WAITING" } as const;
    stage.story.tell({ kind: "READ_WAITING", ...mark(stage), rows: [row(stage, "a", sleeper)] });
    stage.load({ a: "PENDING" });
    order(stage, "PAUSE_RUN");
    const parked = only(changesOf(stage.commit()));
    assert.deepEqual([parked.queue, parked.reason, parked.steps], ["PARKED", "SLEEPING", "SLEEPING"]);
    order(stage, "RESUME_RUN");
    read(stage, "a", [row(stage, "a", { ...sleeper, queue: "PARKED" })]);
    const free = stage.commit();
    const written = only(changesOf(free));
    assert.deepEqual([written.queue, written.reason, written.steps], ["WAITING", "SLEEPING", "SLEEPING"]);
    assert.deepEqual(free.assigns, []);
    stage.story.later(5_000);
    assert.equal(stage.commit().assigns.length, 1);
  });

  it("starts no sleeper that a signal wakes", () => {
    const stage = new Stage({ a: [] }).load({ a: "PARKED" }, "RUNNING", true);
    const command = { kind: "SIGNAL", id: "signal-1", shard: stage.shard, executionId: stage.id("a") } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [command] });
    read(stage, "a", [row(stage, "a", { steps: "AWAITING", dueAt: START + 90_000, queue: "PARKED" })]);
    const batch = stage.commit();
    const written = only(changesOf(batch));
    assert.deepEqual([written.queue, written.dueAt, batch.assigns], ["PARKED", START, []]);
    assert.deepEqual(stage.commit().assigns, []);
  });

  it("starts no sleeper that a signal wakes before the run is read", () => {
    const stage = new Stage({ a: [] });
    const command = { kind: "SIGNAL", id: "signal-1", shard: stage.shard, executionId: stage.id("a") } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [command] });
    read(stage, "a", [row(stage, "a", { steps: "AWAITING", dueAt: START + 90_000, queue: "PARKED" })]);
    const batch = stage.commit();
    assert.deepEqual([queues(stage, batch), batch.assigns], [{ a: "PARKED" }, []]);
    assert.deepEqual(stage.commit().assigns, []);
  });

  it("cancels parked nodes with the run", () => {
    const stage = new Stage({ a: [], b: ["a"] }).load({ a: "PARKED" }, "RUNNING", true);
    const command = { kind: "CANCEL", id: "cancel-1", shard: stage.shard, executionId: RUN } as const;
    stage.story.tell({ kind: "COMMANDS", commands: [command] });
    const run = stage.run([], "RUNNING", true).row;
    stage.story.tell({ kind: "LOADED", asked: [RUN], rows: [run], ...mark(stage) });
    const { mode, paused } = change(stage, stage.story.batch) ?? {};
    assert.deepEqual([mode, paused], ["CANCELLING", false]);
    assert.deepEqual(stage.story.wants.at(-1), { kind: "LOAD", ids: [stage.id("a")] });
    read(stage, "a", [row(stage, "a", { queue: "PARKED" })]);
    assert.deepEqual(states(stage, stage.commit()), { a: "CANCELLED WORKFLOW_CANCELLED" });
    assert.deepEqual(states(stage, stage.commit()), { run: "CANCELLED" });
  });

  it("ends at its deadline", () => {
    const stage = new Stage({ a: [] }).load({ a: "PARKED" }, "RUNNING", true);
    stage.story.later(60_000);
    assert.equal(change(stage, stage.story.batch)?.mode, "EXPIRING");
    read(stage, "a", [row(stage, "a", { queue: "PARKED" })]);
    stage.commit();
    assert.deepEqual(states(stage, stage.commit()), { run: "DEAD WORKFLOW_TIMED_OUT" });
  });

  it("fails fast at once, and starts the nodes that handle the failure when it is resumed", () => {
    const { stage, a } = running({ a: [], b: [], alarm: [{ node: "a", when: "FAILED" }] });
    stage.load({ a: "PENDING", b: "PARKED" }, "RUNNING", true);
    stage.end(a, "FAILED");
    const batch = stage.commit();
    assert.deepEqual(states(stage, batch), { a: "DEAD NOT_RETRYABLE" });
    read(stage, "b", [row(stage, "b", { queue: "PARKED" })]);
    assert.deepEqual(states(stage, stage.commit()), { b: "CANCELLED WORKFLOW_FAILED" });
    const { mode, paused } = change(stage, batch) ?? {};
    assert.deepEqual([mode, paused, stage.born(batch)], ["FAILING", true, []]);
    order(stage, "RESUME_RUN");
    assert.deepEqual(stage.born(stage.commit()), [{ name: "alarm", after: [] }]);
  });

  it("says so in the explanation of its nodes", () => {
    const stage = new Stage({ a: [] }).load({ a: "PARKED" }, "RUNNING", true);
    const reasons = explain(stage.story.state, row(stage, "a", { queue: "PARKED" }), START);
    assert.deepEqual(reasons, [{ reason: "WORKFLOW_PAUSED", workflowId: RUN }]);
    order(stage, "RESUME_RUN");
    const after = explain(stage.story.state, row(stage, "a", { queue: "PARKED" }), START);
    assert.deepEqual(
      after.map(({ reason }) => reason),
      ["QUEUED"],
    );
  });
});

describe("orders to pause and resume", () => {
  it("are done at once where nothing changes", () => {
    const stage = new Stage({ a: [] }).load({ a: "PARKED" }, "RUNNING", true);
    order(stage, "PAUSE_RUN");
    const batch = stage.commit();
    assert.deepEqual([done(stage, batch), change(stage, batch)], [completed("PAUSE_RUN", "PAUSED"), undefined]);
  });

  it("wait for the run to be read, and are done with FINAL where it is final", () => {
    const stage = new Stage({ a: [] });
    order(stage, "PAUSE_RUN");
    assert.deepEqual(stage.story.wants.splice(0), [{ kind: "LOAD_RUNS", runs: [RUN] }]);
    stage.story.tell({ kind: "LOADED_RUNS", asked: [RUN], runs: [], ...mark(stage) });
    assert.deepEqual(done(stage, stage.commit()), completed("PAUSE_RUN", "FINAL"));
  });

  it("have the last one count: a resume ends a pause that is on its way, and frees what is parked", () => {
    const stage = new Stage({ a: [], b: [] }).load({ a: "PENDING", b: "PENDING" });
    order(stage, "PAUSE_RUN");
    read(stage, "a", [row(stage, "a")]);
    order(stage, "RESUME_RUN");
    const batch = stage.commit();
    assert.deepEqual([queues(stage, batch), change(stage, batch)], [{ a: "PARKED" }, undefined]);
    assert.deepEqual(done(stage, batch).ids, ["PAUSE_RUN", "RESUME_RUN"]);
    read(stage, "a", [row(stage, "a", { queue: "PARKED" })]);
    read(stage, "b", [row(stage, "b")]);
    assert.equal(stage.commit().assigns.length, 2);
  });

  it("turn a run once in a commit", () => {
    const stage = new Stage({ a: [] }).load({ a: "PARKED" }, "RUNNING", true);
    order(stage, "RESUME_RUN", "first");
    read(stage, "a", [row(stage, "a", { queue: "PARKED" })]);
    order(stage, "PAUSE_RUN", "second");
    const resumed = stage.commit();
    assert.deepEqual([change(stage, resumed)?.paused, resumed.assigns.length], [false, 1]);
    assert.equal(change(stage, stage.commit())?.paused, true);
    assert.deepEqual(done(stage, stage.commit()).ids, ["first", "second"]);
  });

  it("have a node of a pause read again that is known only from a hint", () => {
    const stage = new Stage({ a: [] });
    stage.story.lose("w1");
    stage.hint("a").load({ a: "PENDING" });
    order(stage, "PAUSE_RUN");
    assert.equal(change(stage, stage.story.batch), undefined);
    read(stage, "a", [row(stage, "a", { attempt: 1, failures: 1 })]);
    const batch = stage.commit();
    assert.deepEqual([only(changesOf(batch)).wasAttempt, change(stage, batch)?.paused], [1, true]);
  });

  it("are repeated when the run was read again", () => {
    const { stage, a } = running({ a: [], b: [], c: ["a"] });
    stage.load({ a: "PENDING", b: "PENDING" });
    stage.end(a);
    order(stage, "PAUSE_RUN");
    stage.commit(["c"]);
    stage.commit();
    stage.load({ a: "SUCCEEDED", b: "PENDING" });
    read(stage, "b", [row(stage, "b")]);
    const batch = stage.commit();
    assert.deepEqual([queues(stage, batch), change(stage, batch)?.paused], [{ b: "PARKED" }, true]);
  });
});

describe("the next owner of a paused run", () => {
  it("creates no node that is ready", () => {
    const stage = new Stage({ a: [], b: ["a"] }).load({ a: "SUCCEEDED" }, "RUNNING", true);
    assert.deepEqual(stage.born(stage.commit()), []);
  });

  it("does not start a node whose attempt fails before the run is read", () => {
    const { stage, a } = running({ a: [] });
    stage.story.finish(a, {
      state: "FAILED",
      error: { name: "Error", message: "no" },
      advice: { kind: "AT", at: START },
    });
    const batch = stage.commit();
    assert.deepEqual(queues(stage, batch), { a: "PARKED" });
    assert.deepEqual(stage.commit().assigns, []);
    stage.load({ a: "PARKED" }, "RUNNING", true);
    assert.deepEqual(
      stage.story.wants.filter(({ kind }) => kind === "LOAD"),
      [],
    );
    assert.deepEqual(stage.commit().assigns, []);
  });

  it("starts what is parked where the run is not paused", () => {
    const stage = new Stage({ a: [] }).load({ a: "PARKED" });
    assert.deepEqual(
      stage.story.wants.filter(({ kind }) => kind === "LOAD"),
      [{ kind: "LOAD", ids: [stage.id("a")] }],
    );
    read(stage, "a", [row(stage, "a", { queue: "PARKED" })]);
    assert.equal(stage.commit().assigns.length, 1);
  });

  it("asks the store whether a hinted node is parked", () => {
    const stage = new Stage({ a: [] }).hint("a");
    const batch = stage.commit();
    assert.deepEqual(batch.shards.get(stage.shard)?.expected, [{ id: stage.id("a"), attempt: 0, isNode: true }]);
  });

  it("forgets a hinted node when it reads that the run is paused", () => {
    const stage = new Stage({ a: [] });
    stage.story.lose("w1");
    stage.hint("a").load({ a: "PARKED" }, "RUNNING", true);
    stage.story.worker("w2");
    const batch = stage.commit();
    assert.deepEqual([batch.assigns, changesOf(batch)], [[], []]);
  });
});

function mark({ story }: Stage): { since: number; term: number } {
  return { since: story.batch.number, term: story.state.term };
}
