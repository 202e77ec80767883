import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment } from "../../ports/messages.ts";
import type { Recovered } from "../../ports/store.ts";
import { answersOf, candidate, changesOf, only, START, Story } from "../testing/story.ts";
import { WaitingRuns } from "../testing/waiting-runs.ts";

const KEY = { concurrencyKey: "etl", concurrencyLimit: 1, shard: 7 };

describe("a workflow run that waits", () => {
  it("is opened in the commit that creates its first nodes, and its deadline counts from then", () => {
    const world = new WaitingRuns();
    const run = world.run({ dueAt: START - 5_000, policy: { timeoutMs: 60_000 } });
    world.hint(run);
    assert.deepEqual(changesOf(world.story.batch), [], "its graph is not known yet");
    world.answer();
    const batch = world.commit();
    const change = only(changesOf(batch));
    assert.deepEqual(
      [change.id, change.wasState, change.wasAttempt, change.state, change.queue, change.startedAt, change.dueAt],
      [run.id, "PENDING", 0, "RUNNING", "OPEN", START, START + 60_000],
    );
    const births = batch.shards.get(run.shard)?.births.map(({ row, after }) => [row.id, after]);
    assert.deepEqual(births, [[world.nodeId(run, "a"), [run.id]]]);
  });

  it("is opened when it is due, and not a moment before", () => {
    const world = new WaitingRuns();
    const run = world.run({ dueAt: START + 5_000 });
    world.hint(run);
    assert.equal(world.story.wakeAt, START + 5_000);
    world.story.later(4_999);
    assert.deepEqual(world.settle(), []);
    world.story.later(1);
    assert.deepEqual(world.settle(), [`${run.id} OPEN`]);
  });

  it("is skipped where its key lets it start too late", () => {
    const world = new WaitingRuns();
    const [first, late] = [world.run(KEY), world.run({ ...KEY, policy: { startBefore: START + 1_000 } })];
    world.hint(first, late);
    assert.deepEqual(world.settle(), [`${first.id} OPEN`]);
    world.story.later(1_000);
    assert.deepEqual(world.settle(), [`${late.id} SKIPPED`]);
  });

  it("is skipped where its graph arrives too late", () => {
    const world = new WaitingRuns();
    const run = world.run({ policy: { startBefore: START + 1_000 } });
    world.hint(run).story.later(1_000);
    assert.deepEqual(world.settle(), [`${run.id} SKIPPED`]);
  });

  it("keeps signals to its nodes until it creates them, and is not paused", () => {
    const world = new WaitingRuns();
    const run = world.run();
    const { story } = world.hint(run);
    const { id, shard } = run;
    const executionId = world.nodeId(run, "a");
    const signal = { kind: "SIGNAL", id: "signal-1", shard, executionId, ofNode: { run: id, node: 0 } } as const;
    const pause = { kind: "PAUSE_RUN", id: "pause-1", shard, executionId: id } as const;
    story.tell({ kind: "COMMANDS", commands: [signal, pause] });
    const mark = { since: story.batch.number, term: story.state.term };
    story.tell({ kind: "LOADED", asked: [executionId], rows: [], ...mark });
    world.answer();
    const batch = world.commit();
    assert.deepEqual(
      batch.shards.get(shard)?.births.map(({ row }) => row.steps),
      ["RECORDED"],
    );
    assert.deepEqual(
      answersOf(batch)
        .map((answer) => ("outcome" in answer ? answer.outcome : answer))
        .sort(),
      ["RESUMED", "SIGNALLED"],
    );
    assert.equal(story.state.runs.byId.get(id)?.paused, false);
  });

  it("is not opened again by a late hint", () => {
    const world = new WaitingRuns();
    const run = world.run();
    world.hint(run);
    assert.deepEqual(world.settle(), [`${run.id} OPEN`]);
    world.story.state.recentWrites.prune(1_000);
    world.hint(run);
    assert.deepEqual(world.settle(), []);
    assert.equal(world.story.state.runs.byId.size, 1);
    // The run is in the store alone.
    world.story.state.runs.drop(only([...world.story.state.runs.byId.values()]));
    world.hint(run);
    assert.deepEqual(world.settle(), []);
    assert.deepEqual([world.story.state.runs.byId.size, world.story.state.runs.openings.size], [1, 0]);
  });

  it("is forgotten where a late hint brings it back after its end", () => {
    const world = new WaitingRuns();
    const [run, next] = [world.run(KEY), world.run(KEY)];
    world.rows.delete(run.id);
    world.hint(run, next);
    assert.deepEqual(world.settle(), [`${next.id} OPEN`]);
  });

  it("is read again where the read began before its last write", () => {
    const world = new WaitingRuns();
    const run = world.run();
    world.hint(run);
    world.story.state.recentWrites.add(run.id, world.story.batch.number);
    assert.deepEqual(world.answer(world.story.batch.number), [run.id]);
    assert.deepEqual(changesOf(world.story.batch), []);
    world.commit();
    assert.deepEqual(world.answer(), [run.id]);
    assert.deepEqual(world.changes(world.commit()), [`${run.id} OPEN`]);
  });

  it("is cancelled at once, also while its graph is read, and its key is free then", () => {
    const world = new WaitingRuns();
    const [first, second, third] = [world.run(KEY), world.run(KEY), world.run(KEY)];
    world.hint(first, second, third);
    const cancel = (id: string) => {
      const command = { kind: "CANCEL", id: `cancel ${id}`, shard: KEY.shard, executionId: id } as const;
      world.story.tell({ kind: "COMMANDS", commands: [command] });
      const since = world.story.batch.number;
      const rows = [...world.rows.values()].filter((row) => row.id === id);
      world.story.tell({ kind: "LOADED", asked: [id], rows, since, term: world.story.state.term });
    };
    cancel(first.id);
    cancel(second.id);
    assert.deepEqual(world.settle(), [`${first.id} CANCELLED`, `${second.id} CANCELLED`, `${third.id} OPEN`]);
  });

  it("does not share a lane with jobs of the same handler, and goes to no worker", () => {
    const world = new WaitingRuns();
    world.story.worker("w1", { handlers: ["workflow"], slots: 5 });
    const [run, job] = [world.run(), candidate({ handler: "workflow" })];
    world.hint(run, job);
    assert.deepEqual(
      world.commit().assigns.map(({ executionId }) => executionId),
      [job.id],
    );
    assert.deepEqual(world.settle(), [`${run.id} OPEN`]);
  });

  it("waits for room in a batch behind a thousand others, and every one is opened once", () => {
    const world = new WaitingRuns(200);
    const runs = Array.from({ length: 250 }, () => world.run());
    world.hint(...runs);
    const nodes: number[] = [];
    const opened: string[] = [];
    for (let i = 0; opened.length < runs.length && i < 20; i++) {
      assert.ok(world.answer().length <= 100);
      const batch = world.commit();
      nodes.push([...batch.shards.values()].reduce((sum, { births }) => sum + births.length, 0));
      opened.push(...world.changes(batch));
    }
    assert.deepEqual(opened.sort(), runs.map(({ id }) => `${id} OPEN`).sort());
    assert.ok(Math.max(...nodes) < 10_300, `at most 10,000 nodes and those of one run: ${nodes.join(", ")}`);
  });
});

describe("the concurrency key of workflow runs", () => {
  /** Ends both nodes of a run. @returns what happened to runs */
  const finish = (world: WaitingRuns, run: { id: string }, assigns: readonly Assignment[] = []): string[] => {
    const changes: string[] = [];
    for (const assign of assigns) world.story.finish(assign);
    for (let i = 0; i < 20; i++) {
      world.answer();
      const batch = world.commit();
      changes.push(...world.changes(batch));
      for (const assign of batch.assigns) world.story.finish(assign);
    }
    assert.ok(!world.rows.has(run.id));
    return changes;
  };

  it("holds a run back until the one before has ended", () => {
    const world = new WaitingRuns();
    world.story.worker("w1");
    const [first, second] = [world.run(KEY), world.run(KEY)];
    world.hint(first, second);
    assert.deepEqual(world.changes(world.commit()), []);
    assert.deepEqual(world.answer(), [first.id], "a run that is read has its place already");
    const opening = world.commit();
    assert.deepEqual(world.changes(opening), [`${first.id} OPEN`]);
    assert.deepEqual(world.answer(), []);
    const [end, ...later] = finish(world, first, opening.assigns);
    assert.deepEqual([end, later[0]], [`${first.id} SUCCEEDED`, `${second.id} OPEN`]);
    assert.equal(world.rows.size, 0);
    assert.equal(world.story.state.gates.size, 0, "a gate that nothing needs is forgotten");
  });

  it("counts runs and jobs alike", () => {
    const world = new WaitingRuns();
    world.story.worker("w1", { slots: 5 });
    const [job, run] = [candidate(KEY), world.run({ ...KEY, dueAt: START + 1 })];
    world.hint(job);
    const assign = only(world.commit().assigns);
    world.hint(run).story.later(1);
    assert.deepEqual(world.settle(), []);
    world.story.finish(assign);
    assert.deepEqual(world.settle(), [`${run.id} OPEN`]);
    const next = candidate(KEY);
    world.hint(next);
    const nodes = [world.nodeId(run, "a"), world.nodeId(run, "b")];
    assert.ok(world.commit().assigns.every(({ executionId }) => nodes.includes(executionId)));
  });

  it("counts open runs from a takeover on, before anything is opened", () => {
    const world = new WaitingRuns();
    const [open, waits] = [
      world.run({ ...KEY, state: "RUNNING", queue: "OPEN", dueAt: START + 9_000 }),
      world.run(KEY),
    ];
    const { id, shard, tenant, concurrencyKey, concurrencyLimit } = open;
    const keyedRuns = [{ id, shard, tenant, concurrencyKey, concurrencyLimit }];
    const recovered: Recovered = { inFlight: [], journals: [], commands: [], runs: [], keyedRuns };
    const own = (term: number) =>
      world.story.tell({ kind: "OWNED", term, epochs: new Map([[KEY.shard, term]]), recovered, incarnation: "node-1" });
    world.story.tell({ kind: "LOST", shards: [KEY.shard] });
    own(2);
    world.hint(waits);
    assert.deepEqual(world.settle(), []);
    // The shard goes away and comes back: the place is counted once.
    world.story.tell({ kind: "LOST", shards: [KEY.shard] });
    assert.equal(world.story.state.gates.size, 0);
    own(3);
    world.story.worker("w1").tell({ kind: "OPEN_RUNS", runs: [id] });
    world.hint(waits);
    world.answer();
    const changes = finish(world, open);
    assert.deepEqual(changes.slice(0, 2), [`${open.id} SUCCEEDED`, `${waits.id} OPEN`]);
  });

  it("is kept by a run that has left memory", () => {
    const world = new WaitingRuns();
    const [first, second] = [world.run(KEY), world.run(KEY)];
    world.hint(first, second);
    assert.deepEqual(world.settle(), [`${first.id} OPEN`]);
    world.story.state.runs.drop(only([...world.story.state.runs.byId.values()]));
    assert.deepEqual(world.settle(), []);
  });
});

it("a node that runs no workflow has no lane of runs", () => {
  assert.equal(new Story().hint(candidate()).state.lanes.ofRuns().size, 0);
});
