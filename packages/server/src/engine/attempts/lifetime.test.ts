import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_LIFETIME_MS } from "@mainspring/contract/limits";
import type { Candidate } from "../../domain/execution.ts";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { ReportedWait } from "../../ports/step-messages.ts";
import type { RowChange } from "../../ports/store.ts";
import type { Batch } from "../batch.ts";
import { explain } from "../explain.ts";
import { candidate, changesOf, only, ordersOf, START, Story } from "../testing/story.ts";

const MINUTE = 60_000;
const LIFETIME = 10 * MINUTE;
const RETRY = { ...DEFAULT_POLICY.retry, backoff: "FIXED" as const, initialDelayMs: MINUTE, jitter: false };
const BOUNDED = { retry: RETRY, maxLifetimeMs: LIFETIME };

const sleep = (delayMs: number): ReportedWait => ({ name: "night", delayMs, isRecorded: false, signals: [] });
const approval = (delayMs: number): ReportedWait => ({ ...sleep(delayMs), signals: ["approved"] });

/** A story in which a worker runs an execution of the lifetime. */
function running(fields: Parameters<typeof candidate>[0] = {}) {
  const row = candidate({ policy: BOUNDED, ...fields });
  const story = new Story().hint(row).worker("w1");
  const assign = only(story.commit().assigns);
  story.started(assign);
  return { story, row, assign };
}

const suspend = (story: Story, assign: Assignment, ...waits: ReportedWait[]): Batch =>
  story.finish(assign, { state: "SUSPENDED", waits }).commit();

/** The suspended row as the store has it. */
const stored = (row: Candidate, change: RowChange): Candidate => ({
  ...row,
  ...{ state: "PENDING", queue: change.queue, attempt: change.attempt, dueAt: change.dueAt, rank: change.rank },
  ...(change.steps && { steps: change.steps }),
});

/** The owner reads the row, which is due soon. */
const read = (story: Story, row: Candidate, change: RowChange) =>
  story.tell({ kind: "READ_WAITING", rows: [stored(row, change)], since: story.batch.number, term: 1 });

const endOf = ({ state, reason, queue }: RowChange) => [state, reason, queue];
const EXCEEDED = ["DEAD", "LIFETIME_EXCEEDED", "NONE"];

describe("a suspension that would outlive its execution", () => {
  it("is due at the end of the lifetime, and ends there without an attempt", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story.later(MINUTE), assign, sleep(60 * MINUTE))));
    assert.deepEqual([asleep.reason, asleep.queue, asleep.dueAt], ["SLEEPING", "WAITING", START + LIFETIME]);
    assert.equal(story.state.entries.size, 0, "it is beyond the horizon");
    read(story.later(LIFETIME - MINUTE - 5_000), row, asleep);
    const early = story.later(4_999).commit();
    assert.deepEqual([changesOf(early), early.assigns], [[], []], "its lifetime is not over");
    const batch = story.later(1).commit();
    const change = only(changesOf(batch));
    assert.deepEqual([endOf(change), change.attempt, batch.assigns], [EXCEEDED, 1, []]);
    const message = "it was not final 600 s after it was due: maxLifetimeSec is 600";
    assert.deepEqual(change.error, { name: "LifetimeExceeded", message });
    assert.deepEqual([batch.deadLetters, story.state.entries.size], [["default"], 0]);
  });

  it("ends also where its owner reads it late", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story, assign, approval(60 * MINUTE))));
    assert.deepEqual([asleep.reason, asleep.dueAt], ["AWAITS_SIGNAL", START + LIFETIME]);
    const batch = read(story.later(2 * LIFETIME), row, asleep).commit();
    assert.deepEqual([endOf(only(changesOf(batch))), batch.assigns], [EXCEEDED, []]);
  });

  it("can be ended by a signal before", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story, assign, approval(60 * MINUTE))));
    const { shard } = row;
    const command = { id: "command-1", shard, kind: "SIGNAL" as const, executionId: row.id };
    story.later(LIFETIME - 5_000).tell({ kind: "COMMANDS", commands: [command] });
    const rows = [stored(row, asleep)];
    story.tell({ kind: "LOADED", asked: [row.id], rows, since: story.batch.number, term: 1 });
    const again = only(story.commit().assigns);
    assert.deepEqual([again.attempt, again.timeoutMs], [2, 5_000]);
  });

  it("is not cut off where it ends before", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story, assign, sleep(9 * MINUTE))));
    assert.equal(asleep.dueAt, START + 9 * MINUTE);
    const again = only(read(story.later(9 * MINUTE), row, asleep).commit().assigns);
    assert.deepEqual([again.attempt, again.timeoutMs], [2, MINUTE]);
  });

  it("is dead at once where its attempt was late itself", () => {
    const { story, assign } = running();
    const batch = suspend(story.later(LIFETIME), assign, sleep(MINUTE));
    const change = only(changesOf(batch));
    assert.deepEqual([endOf(change), only(change.ended).state], [EXCEEDED, "SUSPENDED"]);
    assert.equal(change.error?.name, "LifetimeExceeded");
    const records = [...batch.shards.values()].flatMap((draft) => [...draft.steps.values()]);
    assert.deepEqual(records, []);
  });

  it("lasts for 365 days where the job says nothing", () => {
    const { story, assign } = running({ policy: {} });
    const asleep = only(changesOf(suspend(story, assign, sleep(DEFAULT_LIFETIME_MS + MINUTE))));
    assert.equal(asleep.dueAt, START + DEFAULT_LIFETIME_MS);
  });

  it("says so when it is asked why it waits", () => {
    const { story, row, assign } = running();
    const asleep = stored(row, only(changesOf(suspend(story, assign, sleep(60 * MINUTE)))));
    assert.deepEqual(explain(new Story().state, asleep, START).slice(0, 2), [
      { reason: "SLEEPING", until: START + LIFETIME },
      { reason: "LIFETIME_ENDS", endsAt: START + LIFETIME, maxLifetimeSec: 600 },
    ]);
    const shorter = { ...asleep, dueAt: START + LIFETIME - 1 };
    const names = explain(new Story().state, shorter, START).map(({ reason }) => reason);
    assert.ok(!names.includes("LIFETIME_ENDS"));
  });
});

describe("a lifetime", () => {
  it("ends an execution whose retry would come too late, with the error of its last attempt", () => {
    const error = { name: "Error", message: "no answer" };
    for (const advice of [null, { kind: "AT", at: START + LIFETIME } as const]) {
      const { story, assign } = running();
      story.later(LIFETIME - (advice === null ? MINUTE : 2 * MINUTE));
      const change = only(changesOf(story.finish(assign, { state: "FAILED", error, advice }).commit()));
      assert.deepEqual([endOf(change), change.error, change.failures], [EXCEEDED, error, 1]);
    }
    const { story, assign } = running();
    const change = only(
      changesOf(
        story
          .later(LIFETIME - MINUTE - 1)
          .finish(assign, { state: "FAILED" })
          .commit(),
      ),
    );
    assert.deepEqual([change.reason, change.dueAt], ["BACKOFF", START + LIFETIME - 1]);
  });

  it("ends an execution whose worker was lost, or gave it back, after its end", () => {
    const lost = running();
    const batch = lost.story.worker("w2").later(LIFETIME).lose("w1").commit();
    assert.deepEqual([endOf(only(changesOf(batch))), batch.assigns], [EXCEEDED, []]);
    const released = running();
    const change = only(
      changesOf(released.story.later(LIFETIME).finish(released.assign, { state: "RELEASED" }).commit()),
    );
    assert.deepEqual(endOf(change), EXCEEDED);
  });

  it("bounds a running attempt, which is told to stop like one that times out", () => {
    const { story, row, assign } = running({ policy: { ...BOUNDED, retry: { ...RETRY, maxAttempts: 1 } } });
    assert.equal(assign.timeoutMs, LIFETIME);
    story.later(1_000);
    assert.deepEqual(explain(story.state, row, story.now), [
      { reason: "RUNNING", attempt: 1, workerId: "w1", startedAt: START, timesOutAt: START + LIFETIME },
      { reason: "LIFETIME_ENDS", endsAt: START + LIFETIME, maxLifetimeSec: 600 },
    ]);
    assert.deepEqual(ordersOf(story.later(LIFETIME - 1_001).commit()), []);
    const [order] = ordersOf(story.later(1).commit());
    assert.ok(order?.kind === "CANCEL");
    assert.equal(order.reason, "TIMED_OUT");
    const change = only(changesOf(story.finish(assign, { state: "CANCELLED" }).commit()));
    assert.deepEqual([endOf(change), only(change.ended).state, change.failures], [EXCEEDED, "TIMED_OUT", 1]);
  });

  it("does not take the success of a handler that ended late", () => {
    const { story, assign } = running();
    assert.equal(
      only(
        changesOf(
          story
            .later(2 * LIFETIME)
            .finish(assign)
            .commit(),
        ),
      ).state,
      "SUCCEEDED",
    );
  });

  it("ends an execution that waits for a worker, whether it has started or not", () => {
    const waiting = candidate({ policy: BOUNDED });
    const retried = candidate({ policy: BOUNDED, attempt: 1, failures: 1, startedAt: START });
    const resumed = candidate({ attempt: 1, startedAt: START, steps: "RECORDED" });
    const story = new Story().hint(waiting, retried, resumed);
    assert.deepEqual(changesOf(story.later(LIFETIME - 1).commit()), []);
    const changes = changesOf(story.later(1).commit());
    assert.deepEqual(changes.map(({ id }) => id).sort(), [waiting.id, retried.id]);
    assert.deepEqual(changes.map(endOf), [EXCEEDED, EXCEEDED]);
    const last = only(changesOf(story.later(DEFAULT_LIFETIME_MS - LIFETIME).commit()));
    assert.deepEqual([last.id, endOf(last)], [resumed.id, EXCEEDED]);
  });

  it("is checked before an assignment where no timer watches it", () => {
    const row = candidate();
    const story = new Story().hint(row).later(DEFAULT_LIFETIME_MS);
    assert.deepEqual(changesOf(story.commit()), []);
    const next = candidate({ dueAt: story.now });
    const batch = story.hint(next).worker("w1").commit();
    assert.deepEqual(
      batch.assigns.map(({ executionId }) => executionId),
      [next.id],
    );
    const change = only(changesOf(batch));
    assert.deepEqual([change.id, endOf(change)], [row.id, EXCEEDED]);
  });

  it("leaves SKIPPED what had to start before", () => {
    const row = candidate({ policy: { ...BOUNDED, startBefore: START + MINUTE } });
    const change = only(changesOf(new Story().hint(row).later(MINUTE).commit()));
    assert.deepEqual([change.state, change.reason], ["SKIPPED", "START_BEFORE_PASSED"]);
  });

  it("of a backfilled execution counts from the backfill", () => {
    const scheduledAt = START - 2 * LIFETIME;
    const row = candidate({ policy: BOUNDED, scheduledAt, backfilledAt: START - MINUTE });
    const assign = only(new Story().hint(row).worker("w1").commit().assigns);
    assert.equal(assign.timeoutMs, LIFETIME - MINUTE);
  });

  it("begins anew with a new definition of an execution that no worker has", () => {
    const { story, row, assign } = running();
    const asleep = only(changesOf(suspend(story, assign, sleep(60 * MINUTE))));
    story.later(LIFETIME - MINUTE);
    const { jobId, shard, pool, handler, requires, priority, concurrencyKey, concurrencyLimit } = row;
    const policy = { ...DEFAULT_POLICY, maxLifetimeMs: 2 * MINUTE };
    const definition = { pool, handler, requires, priority, concurrencyKey, concurrencyLimit, policy };
    const rest = { name: null, uniqueKey: null, labels: {}, recurrence: null, scheduledAt: story.now };
    const about = { id: "command-1", shard, jobId, executionIds: [row.id], version: 2, payloadBytes: 0 };
    const command = { ...about, kind: "REPLACE" as const, definition: { ...definition, ...rest } };
    story.tell({ kind: "COMMANDS", commands: [command] });
    const rows = [stored(row, asleep)];
    story.tell({ kind: "LOADED", asked: [row.id], rows, since: story.batch.number, term: 1 });
    assert.equal(only(story.commit().assigns).timeoutMs, 2 * MINUTE);
  });
});
