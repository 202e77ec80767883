import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import { defaultPool } from "../../domain/pool.ts";
import { waitOf } from "../../domain/step.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { ReportedWait } from "../../ports/step-messages.ts";
import type { InFlightRow, RowChange } from "../../ports/store.ts";
import type { Batch } from "../batch.ts";
import { explain } from "../explain.ts";
import { answersOf, candidate, changesOf, GATEWAY, only, START, Story } from "../testing/story.ts";

const MINUTE = 60_000;
const LATER = { retry: { ...DEFAULT_POLICY.retry, maxAttempts: 2, initialDelayMs: 1_000, jitter: false } };

const sleep = (name: string, delayMs: number, isRecorded = false): ReportedWait => ({
  ...{ name, delayMs, isRecorded },
  signals: [],
});
const approval = (delayMs: number): ReportedWait => ({ ...sleep("approval", delayMs), signals: ["approved"] });

/** A story in which a worker runs an execution. */
function running(fields: Parameters<typeof candidate>[0] = {}, story = new Story()) {
  const row = candidate({ policy: LATER, ...fields });
  story.hint(row).worker("w1");
  const assign = only(story.commit().assigns);
  story.started(assign);
  return { story, row, assign };
}

const suspend = (story: Story, assign: Assignment, ...waits: ReportedWait[]): Batch =>
  story.finish(assign, { state: "SUSPENDED", waits }).commit();

const recordsOf = (batch: Batch) => [...batch.shards.values()].flatMap((draft) => [...draft.steps.values()]);
const doneIn = (batch: Batch) => [...batch.shards.values()].flatMap(({ commandsDone }) => commandsDone);
const outcomesOf = (batch: Batch) => answersOf(batch).map((answer) => "outcome" in answer && answer.outcome);

/** A signal, as the owner finds it in its inbox. */
const signalled = ({ id, shard }: Pick<Candidate, "id" | "shard">, command = "command-1") => ({
  kind: "COMMANDS" as const,
  commands: [{ id: command, shard, kind: "SIGNAL" as const, executionId: id }],
});

/** The row as the store has it after a change. */
const stored = (row: Candidate, change: RowChange): Candidate => ({
  ...row,
  ...{ state: "PENDING", queue: change.queue, attempt: change.attempt, dueAt: change.dueAt, rank: change.rank },
  ...{ failures: change.failures, lost: change.lost, startedAt: change.startedAt },
  ...(change.steps && { steps: change.steps }),
});

describe("an attempt that suspends", () => {
  it("ends, records its waits and makes the row sleep in one commit, and spends no budget", () => {
    const { story, row, assign } = running();
    story.later(500);
    const batch = suspend(story, assign, sleep("night", MINUTE), sleep("day", 2 * MINUTE));
    const change = only(changesOf(batch));
    assert.deepEqual(
      [change.state, change.queue, change.reason, change.steps, change.dueAt],
      ["PENDING", "WAITING", "SLEEPING", "SLEEPING", START + 500 + MINUTE],
    );
    assert.deepEqual([change.attempt, change.failures, change.lost, only(change.ended).state], [1, 0, 0, "SUSPENDED"]);
    const records = recordsOf(batch);
    assert.deepEqual(
      records.map(({ executionId, name, kind, attempt, number, at }) => [executionId, name, kind, attempt, number, at]),
      [
        [row.id, "night", "WAIT", 1, 0, START + 500],
        [row.id, "day", "WAIT", 1, 0, START + 500],
      ],
    );
    assert.deepEqual(records.map(waitOf), [
      { until: START + 500 + MINUTE, signals: [] },
      { until: START + 500 + 2 * MINUTE, signals: [] },
    ]);
    assert.equal(batch.acks.get(GATEWAY)?.get("w1")?.length, 1);
  });

  it("costs no memory while its wait is beyond the horizon, and runs again when it is over", () => {
    const { story, row, assign } = running();
    const change = only(changesOf(suspend(story, assign, sleep("night", MINUTE))));
    assert.equal(story.state.entries.has(row.id), false);
    story.later(MINUTE - 5_000);
    story.tell({ kind: "READ_WAITING", rows: [stored(row, change)], since: story.batch.number, term: 1 });
    assert.deepEqual(story.commit().assigns, [], "the wait is not over");
    const again = only(story.later(5_000).commit().assigns);
    assert.deepEqual([again.attempt, again.steps, again.failures], [2, null, 0]);
  });

  it("sleeps from its end on, although the clock of its worker is an hour behind", () => {
    const { story, assign } = running();
    story.later(20_000);
    const behind = { startedAt: story.now - 20_000 - 60 * MINUTE, finishedAt: story.now - 60 * MINUTE };
    const waits = [sleep("night", MINUTE)];
    const change = only(changesOf(story.finish(assign, { state: "SUSPENDED", waits, ...behind }).commit()));
    assert.equal(change.dueAt, START + 20_000 + MINUTE);
    const [ended] = change.ended;
    assert.deepEqual([ended?.startedAt, ended?.finishedAt], [START, START + 20_000]);
  });

  it("does not record again what an earlier attempt has recorded", () => {
    const { story, assign } = running();
    const batch = suspend(story, assign, sleep("night", 1_000, true), sleep("day", 5_000));
    assert.deepEqual(
      recordsOf(batch).map(({ name }) => name),
      ["day"],
    );
    assert.equal(only(changesOf(batch)).dueAt, START + 1_000);
  });

  it("gives back its slot, its permit and its place at the gate of its key", () => {
    const story = new Story();
    story.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 1 }] }).exchangePermits();
    const key = { concurrencyKey: "acme", concurrencyLimit: 1 };
    const first = candidate({ ...key, policy: LATER });
    const next = candidate(key);
    story.hint(first).worker("w1").exchangePermits();
    const assign = only(story.commit().assigns);
    story.hint(next).exchangePermits();
    assert.deepEqual(story.assigned(), []);
    suspend(story, assign, sleep("night", MINUTE));
    story.exchangePermits();
    assert.deepEqual(story.assigned(), [next.id]);
  });

  it("is cancelled where that was asked for", () => {
    const { story, row, assign } = running();
    story.tell({
      kind: "COMMANDS",
      commands: [{ id: "command-1", shard: row.shard, kind: "CANCEL", executionId: row.id }],
    });
    const batch = suspend(story, assign, sleep("night", MINUTE));
    const change = only(changesOf(batch));
    assert.deepEqual([change.state, only(change.ended).state, recordsOf(batch)], ["CANCELLED", "SUSPENDED", []]);
  });

  it("can be cancelled while it sleeps", () => {
    const { story, row, assign } = running();
    const change = only(changesOf(suspend(story, assign, sleep("night", MINUTE))));
    story.tell({
      kind: "COMMANDS",
      commands: [{ id: "command-1", shard: row.shard, kind: "CANCEL", executionId: row.id }],
    });
    const rows = [stored(row, change)];
    story.tell({ kind: "LOADED", asked: [row.id], rows, since: story.batch.number, term: 1 });
    assert.equal(only(changesOf(story.commit())).state, "CANCELLED");
  });

  it("leaves an ordinary failure after a resumption: the budget is whole, and the row does not sleep", () => {
    const { story, assign } = running();
    suspend(story, assign, sleep("night", 1_000));
    const again = only(story.later(1_000).commit().assigns);
    const change = only(changesOf(story.finish(again, { state: "FAILED" }).commit()));
    assert.deepEqual([change.reason, change.steps, change.failures], ["BACKOFF", "RECORDED", 1]);
    const third = only(story.later(5_000).commit().assigns);
    assert.equal(only(changesOf(story.finish(third, { state: "FAILED" }).commit())).state, "DEAD");
  });

  it("says so when it is asked why it waits", () => {
    const { story, row, assign } = running();
    suspend(story, assign, sleep("night", 5_000));
    const [first] = explain(story.state, row, story.now);
    assert.deepEqual(first, { reason: "SLEEPING", until: START + 5_000 });
    const waiting = { ...row, steps: "AWAITING" as const, dueAt: START + 10 };
    const [second] = explain(new Story().state, waiting, START);
    assert.deepEqual(second, { reason: "AWAITS_SIGNAL", until: START + 10 });
  });
});

describe("a signal", () => {
  it("ends the suspension of an execution that is in memory, at once and in one commit", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story, assign, approval(5_000))));
    assert.deepEqual([asleep.reason, asleep.steps], ["AWAITS_SIGNAL", "AWAITING"]);
    // The row was known from a hint, so the owner reads it first.
    const rows = [stored(row, asleep)];
    story.later(100).tell(signalled(row));
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows, since: story.batch.number, term: 1 }).commit();
    const change = only(changesOf(batch));
    assert.deepEqual(
      [change.queue, change.dueAt, change.steps, change.reason],
      ["READY", START + 100, "RECORDED", null],
    );
    assert.deepEqual([doneIn(batch), outcomesOf(batch)], [["command-1"], ["SIGNALLED"]]);
    assert.equal(only(batch.assigns).attempt, 2);
  });

  it("ends the suspension of an execution that only the store has", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story, assign, approval(MINUTE))));
    story.tell(signalled(row));
    assert.deepEqual(story.wants.at(-1), { kind: "LOAD", ids: [row.id] });
    const rows = [stored(row, asleep)];
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows, since: story.batch.number, term: 1 }).commit();
    assert.deepEqual(doneIn(batch), ["command-1"]);
    assert.equal(only(batch.assigns).attempt, 2);
  });

  it("that comes during an attempt keeps the attempt from suspending unseen", () => {
    const { story, row, assign } = running();
    const seen = story.tell(signalled(row)).commit();
    assert.deepEqual([doneIn(seen), outcomesOf(seen)], [[], ["SIGNALLED"]], "the next owner needs the command too");
    assert.deepEqual([only(changesOf(seen)).state, only(changesOf(seen)).steps], ["RUNNING", "RECORDED"]);
    const batch = suspend(story, assign, approval(MINUTE));
    const change = only(changesOf(batch));
    assert.deepEqual([change.queue, change.dueAt, change.steps, change.reason], ["READY", START, "RECORDED", null]);
    assert.deepEqual([doneIn(batch), recordsOf(batch).length], [["command-1"], 1]);
    assert.equal(only(batch.assigns).attempt, 2);
  });

  it("that comes during an attempt does not end a sleep", () => {
    const { story, row, assign } = running();
    story.tell(signalled(row)).commit();
    const batch = suspend(story, assign, sleep("night", MINUTE));
    assert.deepEqual([only(changesOf(batch)).steps, doneIn(batch)], ["SLEEPING", ["command-1"]]);
  });

  it("is done with the attempt during which it came, however that ends", () => {
    for (const state of ["SUCCEEDED", "FAILED", "RELEASED"] as const) {
      const { story, row, assign } = running();
      story.tell(signalled(row)).commit();
      const batch = story.finish(assign, { state }).commit();
      assert.deepEqual(doneIn(batch), ["command-1"], state);
      assert.equal(story.tell(signalled(row)).batch.shards.size, 0, "an older read of the inbox returned it again");
    }
  });

  it("is not lost with a worker: the next attempt gets it", () => {
    const { story, row } = running();
    story.tell(signalled(row)).commit();
    const batch = story.worker("w2").lose("w1").commit();
    assert.deepEqual(doneIn(batch), ["command-1"]);
    assert.deepEqual([only(batch.assigns).attempt, only(batch.assigns).steps], [2, null]);
  });

  it("marks an execution that has not started, so that its first attempt gets the signal", () => {
    const story = new Story();
    const row = candidate({ dueAt: START + MINUTE });
    story.tell(signalled(row));
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows: [row], since: 1, term: 1 }).commit();
    const change = only(changesOf(batch));
    assert.deepEqual(
      [change.state, change.queue, change.steps, change.dueAt],
      ["PENDING", "WAITING", "RECORDED", row.dueAt],
    );
    assert.deepEqual([doneIn(batch), story.state.entries.size], [["command-1"], 0]);
  });

  it("does not shorten a backoff or a sleep", () => {
    for (const steps of ["RECORDED", "SLEEPING"] as const) {
      const story = new Story();
      const row = candidate({ dueAt: START + 5_000, steps, attempt: 1 });
      story.tell({ kind: "READ_WAITING", rows: [row], since: 1, term: 1 });
      const batch = story.tell(signalled(row)).commit();
      assert.deepEqual([changesOf(batch), doneIn(batch)], [[], ["command-1"]]);
      assert.deepEqual(story.assigned(), []);
    }
  });

  it("is applied before and beside a cancel of the same execution", () => {
    const story = new Story();
    const row = candidate({ dueAt: START + MINUTE });
    story.tell(signalled(row, "command-1"));
    const cancel = { id: "command-2", shard: row.shard, kind: "CANCEL" as const, executionId: row.id };
    story.tell({ kind: "COMMANDS", commands: [cancel] });
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows: [row], since: 1, term: 1 }).commit();
    assert.equal(only(changesOf(batch)).state, "CANCELLED");
    assert.deepEqual(
      [doneIn(batch).sort(), outcomesOf(batch)],
      [
        ["command-1", "command-2"],
        ["SIGNALLED", "CANCELLED"],
      ],
    );
  });

  it("says so where the execution is final", () => {
    const story = new Story();
    const row = candidate();
    story.tell(signalled(row));
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows: [], since: 1, term: 1 }).commit();
    assert.deepEqual([doneIn(batch), outcomesOf(batch)], [["command-1"], ["FINAL"]]);
  });
});

describe("a takeover", () => {
  const takenOver = (recovered: { inFlight?: InFlightRow[]; commands?: ReturnType<typeof signalled>["commands"] }) => {
    const story = new Story();
    const epochs = new Map(Array.from({ length: 64 }, (_, shard) => [shard, 2]));
    const all = { inFlight: [], journals: [], commands: [], ...recovered };
    return story.tell({ kind: "OWNED", term: 2, epochs, recovered: all, incarnation: "node-1" });
  };

  it("between the signal and the suspension loses neither", () => {
    const row = candidate({ steps: "RECORDED", attempt: 1, state: "RUNNING", queue: "HELD", policy: LATER });
    const inFlight = {
      row,
      attempt: 1,
      workerId: "w1",
      gateway: GATEWAY,
      assignedAt: START,
      attemptStartedAt: START,
      journal: null,
    };
    const story = takenOver({ inFlight: [inFlight], commands: signalled(row).commands });
    assert.deepEqual(doneIn(story.commit()), []);
    const { shard } = row;
    const profile = { name: "w1", pool: "default", handlers: ["echo"], capabilities: [], slots: 1, prefetch: 0 };
    const held = { shard, executionId: row.id, attempt: 1, startedAt: START };
    story.up({ workerId: "w1", ...profile }, [held]).credit("w1", 1);
    const assign = { shard, executionId: row.id, attempt: 1, workerId: "w1" } as Assignment;
    const batch = suspend(story, assign, approval(MINUTE));
    assert.deepEqual([doneIn(batch), only(changesOf(batch)).queue], [["command-1"], "READY"]);
  });

  it("between the suspension and the signal loses neither", () => {
    const row = candidate({ steps: "AWAITING", attempt: 1, queue: "WAITING", dueAt: START + MINUTE });
    const story = takenOver({ commands: signalled(row).commands });
    story.tell({ kind: "LOADED", asked: [row.id], rows: [row], since: 1, term: 2 }).worker("w1");
    const batch = story.commit();
    assert.deepEqual([doneIn(batch), only(batch.assigns).attempt], [["command-1"], 2]);
  });

  it("keeps the mark of a resumed attempt whose row still sleeps", () => {
    const row = candidate({ steps: "SLEEPING", attempt: 1, queue: "WAITING", policy: LATER });
    const journal = { epoch: 1, seq: 1 };
    const inFlight = {
      row,
      attempt: 2,
      workerId: "w1",
      gateway: GATEWAY,
      assignedAt: START,
      attemptStartedAt: null,
      journal,
    };
    const story = takenOver({ inFlight: [inFlight] });
    const batch = story.worker("w2").later(MINUTE).commit();
    const change = only(changesOf(batch));
    assert.deepEqual([change.state, change.attempt, change.steps], ["PENDING", 2, "RECORDED"]);
    assert.deepEqual([only(batch.assigns).attempt, only(batch.assigns).steps], [3, null]);
  });
});
