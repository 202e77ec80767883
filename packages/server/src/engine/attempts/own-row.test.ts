import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Recovered, RowChange } from "../../ports/store.ts";
import type { Batch } from "../batch.ts";
import { countEntries } from "../counts.ts";
import { explain } from "../explain.ts";
import { liveExecution } from "../live.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

const WORKER = { slots: 1, prefetch: 10 };

/** Executions that were assigned at the start of the story to one worker, where none of them has started. */
function assigned(rows: readonly Candidate[] = [candidate()], story = new Story()) {
  const assigns = story
    .hint(...rows)
    .worker("w1", WORKER)
    .commit().assigns;
  return { story, assigns, assign: assigns[0] as Assignment };
}

/** Moves the clock second by second, with a list of living gateways and a message of the gateway in each. */
function pass(story: Story, ms: number): Batch {
  for (let leftMs = ms; leftMs > 0; leftMs -= 1_000) {
    story
      .later(Math.min(leftMs, 1_000))
      .tell({ kind: "GATEWAYS", nodes: [GATEWAY] })
      .credit("w1", 0);
  }
  return story.commit();
}

/** Commits, and returns what the rows say from then on. */
function written(batch: Batch): Pick<RowChange, "wasState" | "state" | "attemptStartedAt">[] {
  return changesOf(batch).map(({ wasState, state, attemptStartedAt }) => ({ wasState, state, attemptStartedAt }));
}

function settled(batch: Batch): number {
  return [...batch.shards.values()].reduce((sum, { settledJournals }) => sum + settledJournals.length, 0);
}

describe("the own row of an execution", () => {
  it("is written one second after the start, however long the attempt waited at its worker", () => {
    const { story, assign } = assigned();
    assert.deepEqual(written(pass(story, 20_000)), []);
    story.started(assign);
    assert.deepEqual(written(story.later(999).commit()), []);
    const batch = story.later(1).commit();
    const attemptStartedAt = START + 20_000;
    assert.deepEqual(written(batch), [{ wasState: "PENDING", state: "RUNNING", attemptStartedAt }]);
    assert.equal(settled(batch), 1);
  });

  it("is written once, at the end, after a run of less than a second", () => {
    const rows = Array.from({ length: 5 }, () => candidate());
    const { story, assigns } = assigned(rows);
    const changes: RowChange[] = [];
    for (const assign of assigns) {
      changes.push(...changesOf(pass(story.started(assign), 900)), ...changesOf(story.finish(assign).commit()));
    }
    assert.deepEqual(
      changes.map(({ wasState, state }) => [wasState, state]),
      rows.map(() => ["PENDING", "SUCCEEDED"]),
    );
  });

  it("is written after 30 seconds where the attempt still waits at its worker, and only once", () => {
    const { story, assigns, assign } = assigned([candidate(), candidate()]);
    story.finish(assigns[1] as Assignment).commit();
    assert.deepEqual(written(pass(story, 29_999)), []);
    const batch = pass(story, 1);
    assert.deepEqual(written(batch), [{ wasState: "PENDING", state: "RUNNING", attemptStartedAt: null }]);
    assert.equal(settled(batch), 1);
    assert.deepEqual(written(pass(story, 60_000)), []);
    assert.deepEqual(written(pass(story.started(assign), 5_000)), []);
    assert.equal(only(changesOf(story.finish(assign).commit())).wasState, "RUNNING");
  });

  it("comes in portions where thousands wait for 30 seconds", () => {
    const rows = Array.from({ length: 5 }, () => candidate());
    const story = new Story({ batchAssigns: 2 }).hint(...rows).worker("w1", WORKER);
    while (story.commit().assigns.length > 0);
    assert.deepEqual(
      [pass(story, 30_000), pass(story, 1_000), pass(story, 1_000), pass(story, 1_000)].map((b) => written(b).length),
      [2, 2, 1, 0],
    );
  });

  it("shows the attempt to readers as SCHEDULED until it starts, before and after the row is written", () => {
    const { story, assign } = assigned();
    const { executionId } = assign;
    const entry = story.state.entries.get(executionId);
    const shown = () => {
      const { assigned: held, running } = countEntries(story.state);
      const reason = explain(story.state, entry?.row as Candidate, story.now)[0]?.reason;
      return [liveExecution(story.state, executionId)?.state, held.get("default"), running.get("default"), reason];
    };
    pass(story, 10_000);
    assert.deepEqual(shown(), ["SCHEDULED", 1, undefined, "ASSIGNED"]);
    pass(story, 21_000);
    assert.equal(entry?.rowState, "RUNNING");
    assert.deepEqual(shown(), ["SCHEDULED", 1, undefined, "ASSIGNED"]);
    story.started(assign);
    assert.deepEqual(shown(), ["RUNNING", 1, 1, "RUNNING"]);
  });
});

describe("the deadline of an attempt", () => {
  for (const waitedMs of [20_000, 40_000]) {
    it(`counts from the start after a wait of ${waitedMs} ms at the worker`, () => {
      const { story, assign } = assigned([candidate({ policy: { timeoutMs: 5_000 } })]);
      assert.deepEqual(ordersOf(pass(story, waitedMs)), []);
      assert.deepEqual(ordersOf(story.started(assign).later(1_000).later(3_999).commit()), []);
      const order = only(ordersOf(story.later(1).commit()));
      assert.equal(order.kind === "CANCEL" && order.reason, "TIMED_OUT");
    });
  }
});

describe("an attempt that waits at its worker without an own row", () => {
  it("is cancelled by its worker's answer, as an attempt that runs", () => {
    const { story, assign } = assigned();
    pass(story, 20_000);
    const { shard, executionId } = assign;
    story.tell({ kind: "COMMANDS", commands: [{ id: "command-1", shard, kind: "CANCEL", executionId }] });
    assert.equal(only(ordersOf(story.commit())).kind, "CANCEL");
    const batch = story.finish(assign, { state: "RELEASED" }).commit();
    const { wasState, wasAttempt, state } = only(changesOf(batch));
    assert.deepEqual([wasState, wasAttempt, state, settled(batch)], ["PENDING", 0, "CANCELLED", 1]);
  });

  it("keeps its definition when its job is edited", () => {
    const row = candidate();
    const { story, assign } = assigned([row]);
    pass(story, 20_000);
    const { pool, requires, policy, priority, scheduledAt, concurrencyKey, concurrencyLimit } = row;
    const kept = { pool, requires, policy, priority, scheduledAt, concurrencyKey, concurrencyLimit };
    const definition = { ...kept, handler: "new", name: null, uniqueKey: null, labels: {}, recurrence: null };
    const about = { id: "command-1", shard: row.shard, jobId: row.jobId, executionIds: [row.id] };
    story.tell({
      kind: "COMMANDS",
      commands: [{ ...about, kind: "REPLACE", version: 2, definition, payloadBytes: 0 }],
    });
    assert.deepEqual(changesOf(story.commit()), []);
    assert.equal(only(changesOf(story.finish(assign).commit())).replacement, undefined);
  });

  it("is given to another worker when its worker is lost", () => {
    const { story } = assigned();
    pass(story, 20_000);
    const batch = story.worker("w2").lose("w1").commit();
    assert.equal(only(only(changesOf(batch)).ended).state, "WORKER_LOST");
    assert.deepEqual([only(batch.assigns).attempt, settled(batch)], [2, 1]);
  });

  it("may be taken back from a full worker after one second", () => {
    const { story, assigns } = assigned([candidate({ dueAt: START - 1 }), candidate()]);
    const [running, waiting] = assigns as [Assignment, Assignment];
    story.started(running).worker("w2").commit();
    const slots = { account: 1, highest: 11, missing: [], stuck: 0 };
    const credits = [
      { ...slots, workerId: "w1", granted: 11, free: 0 },
      { ...slots, workerId: "w2", granted: 1, free: 1 },
    ];
    story.gateway({ kind: "CREDITS", term: 1, roll: true, credits });
    const look = (ms: number) =>
      ordersOf(
        story
          .later(ms)
          .tell({ kind: "GATEWAYS", nodes: [GATEWAY] })
          .commit(),
      );
    assert.deepEqual(look(999), []);
    const order = only(look(1));
    assert.ok(order.kind === "TAKE_BACK");
    assert.equal(only(order.tokens).executionId, waiting.executionId);
    assert.equal(only(changesOf(story.finish(waiting, { state: "RELEASED" }).commit())).wasState, "PENDING");
  });
});

describe("an attempt of an open journal row that a node takes over", () => {
  const worker = { workerId: "w1", name: "w1", pool: "default", handlers: ["echo"], capabilities: [], slots: 1 };
  const ref = { epoch: 0, seq: 9 };
  const takenOver = (assignedAt: number, policy = {}) => {
    const row = candidate({ policy, dueAt: START - 20_000 });
    const attempt = { attempt: 1, workerId: "w1", gateway: GATEWAY, assignedAt, attemptStartedAt: null };
    const journals = [{ shard: row.shard, ref, unsettled: 1 }];
    const recovered: Recovered = { inFlight: [{ row, ...attempt, journal: ref }], journals, commands: [] };
    const story = new Story().tell({ kind: "GATEWAYS", nodes: [GATEWAY] }).tell({ kind: "LOST", shards: [row.shard] });
    story.tell({ kind: "OWNED", term: 2, epochs: new Map([[row.shard, 2]]), recovered, incarnation: "node-2" });
    const token = { shard: row.shard, executionId: row.id, attempt: 1 };
    const answer = (startedAt: number | null) => story.up({ ...worker, prefetch: 9 }, [{ ...token, startedAt }]);
    return { story, row, answer, assign: { ...token, workerId: "w1" } as Assignment };
  };
  const journalsOf = (batch: Batch, row: Candidate) => batch.shards.get(row.shard)?.settledJournals ?? [];

  it("gets its own row 30 seconds after the assignment, although its worker is not found yet", () => {
    const { story, row } = takenOver(START - 5_000);
    assert.deepEqual(written(pass(story, 24_999)), []);
    const batch = pass(story, 1);
    assert.deepEqual(written(batch), [{ wasState: "PENDING", state: "RUNNING", attemptStartedAt: null }]);
    assert.deepEqual(journalsOf(batch, row), [ref]);
    const lost = only(changesOf(pass(story, 5_000)));
    assert.deepEqual([lost.wasState, lost.state, only(lost.ended).state], ["RUNNING", "PENDING", "WORKER_LOST"]);
  });

  it("gets its own row 30 seconds after the takeover where the store's clock was set back since the assignment", () => {
    const { story, answer } = takenOver(START + 86_400_000);
    answer(null);
    assert.deepEqual(written(pass(story, 29_999)), []);
    assert.equal(only(written(pass(story, 1))).state, "RUNNING");
  });

  it("gets its own row one second after the worker said that the attempt runs, and its deadline from the start", () => {
    const { story, row, answer } = takenOver(START - 20_000, { timeoutMs: 22_000 });
    answer(START - 19_000);
    assert.deepEqual(written(story.later(999).commit()), []);
    const batch = story.later(1).commit();
    assert.deepEqual(written(batch), [{ wasState: "PENDING", state: "RUNNING", attemptStartedAt: START - 19_000 }]);
    assert.deepEqual(journalsOf(batch, row), [ref]);
    assert.deepEqual(ordersOf(story.later(1_999).commit()), []);
    assert.equal(only(ordersOf(story.later(1).commit())).kind, "CANCEL");
  });

  it("is written once where it starts later and runs for less than a second", () => {
    const { story, row, answer, assign } = takenOver(START - 500);
    answer(null);
    assert.deepEqual(written(pass(story, 20_000)), []);
    const batch = story.started(assign).later(500).finish(assign).commit();
    assert.deepEqual(
      written(batch).map(({ wasState, state }) => [wasState, state]),
      [["PENDING", "SUCCEEDED"]],
    );
    assert.deepEqual(journalsOf(batch, row), [ref]);
  });

  it("is left to the next owner where the shard is released before it has an own row", () => {
    const { story, assign } = assigned();
    pass(story, 20_000);
    story.tell({ kind: "LOST", shards: [assign.shard] });
    const batch = pass(story, 40_000);
    assert.deepEqual([written(batch), settled(batch), story.state.unstarted.size], [[], 0, 0]);
  });
});
