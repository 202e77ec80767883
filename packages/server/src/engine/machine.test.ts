import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../domain/job.ts";
import { defaultPool } from "../domain/pool.ts";
import type { Assignment } from "../ports/messages.ts";
import { isStillWanted, sendableAt } from "./queue/sendable.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "./testing/story.ts";

describe("an execution that succeeds", () => {
  it("is journalled with its assignment and written once, when it ends", () => {
    const row = candidate({ hasUniqueKey: true });
    const story = new Story().hint(row).worker("w1");
    const first = story.commit();
    assert.deepEqual(changesOf(first), []);
    const draft = only([...first.shards.values()]);
    assert.deepEqual(draft.assigned, [{ id: row.id, attempt: 1, workerId: "w1", gateway: GATEWAY, assignedAt: START }]);
    assert.deepEqual(draft.expected, [{ id: row.id, attempt: 0 }]);

    const assign = only(first.assigns);
    story.now += 20;
    const second = story
      .started(assign)
      .finish(assign, { result: new Uint8Array([49]) })
      .commit();
    const change = only(changesOf(second));
    assert.equal(change.state, "SUCCEEDED");
    assert.equal(change.wasState, "PENDING");
    assert.equal(change.wasAttempt, 0);
    assert.equal(change.attempt, 1);
    assert.ok(change.releaseUniqueKey);
    assert.deepEqual(only([...second.shards.values()]).settledJournals, [{ epoch: 1, seq: 1 }]);
    const [ack, ...others] = second.acks.get(GATEWAY)?.get("w1") ?? [];
    assert.deepEqual([ack?.executionId, ack?.attempt, others.length], [row.id, 1, 0]);
    assert.equal(story.state.entries.size, 0);
  });

  it("gets its own row one second after its start, so that the journal stays short", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    story.started(assign);
    const batch = story.later(1_000).commit();
    const change = only(changesOf(batch));
    assert.equal(change.state, "RUNNING");
    assert.equal(change.queue, "HELD");
    assert.equal(change.workerId, "w1");
    assert.equal(only([...batch.shards.values()]).settledJournals.length, 1);
    const done = only(changesOf(story.finish(assign).commit()));
    assert.equal(done.wasState, "RUNNING");
    assert.equal(done.wasAttempt, 1);
  });

  it("is accepted although its start was never heard of", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    assert.equal(only(changesOf(story.finish(assign).commit())).state, "SUCCEEDED");
  });
});

describe("a failure", () => {
  it("is tried again after its backoff, and not earlier", () => {
    const policy = {
      retry: { ...DEFAULT_POLICY.retry, backoff: "FIXED" as const, initialDelayMs: 4_000, jitter: false },
    };
    const story = new Story().hint(candidate({ policy })).worker("w1");
    const assign = only(story.commit().assigns);
    story.started(assign).finish(assign, { state: "FAILED", error: { name: "E", message: "no" } });
    const change = only(changesOf(story.commit()));
    assert.equal(change.state, "PENDING");
    assert.equal(change.dueAt, START + 4_000);
    assert.equal(change.failures, 1);
    assert.equal(story.wakeAt, START + 1_000, "the queue of started attempts is looked at once more");
    const { leadMs } = story.state.limits;
    assert.deepEqual(story.later(3_999 - leadMs).assigned(), []);
    const again = only(story.later(1).commit().assigns);
    assert.equal(again.attempt, 2);
    assert.equal(sendableAt(story.state, again), START + 4_000, "it is sent when it is due");
  });

  it("is DEAD when the attempts are used up", () => {
    const policy = { retry: { ...DEFAULT_POLICY.retry, maxAttempts: 1 } };
    const story = new Story().hint(candidate({ policy })).worker("w1");
    story.finish(only(story.commit().assigns), { state: "FAILED" });
    const change = only(changesOf(story.commit()));
    assert.deepEqual([change.state, change.reason], ["DEAD", "ATTEMPTS_USED_UP"]);
  });

  it("is DEAD at once when the handler says so, and comes back when it says when", () => {
    const story = new Story().hint(candidate(), candidate()).worker("w1", { slots: 2 });
    const [a, b] = story.commit().assigns as [Assignment, Assignment];
    story.finish(a, { state: "FAILED", advice: { kind: "NEVER" } });
    story.finish(b, { state: "FAILED", advice: { kind: "AT", at: START + 7_000 } });
    const [first, second] = changesOf(story.commit());
    assert.deepEqual([first?.state, first?.reason], ["DEAD", "NOT_RETRYABLE"]);
    assert.deepEqual([second?.state, second?.dueAt], ["PENDING", START + 7_000]);
  });
});

describe("a timeout", () => {
  it("is ordered at the deadline and forced after the grace time; the late result is refused", () => {
    const policy = { timeoutMs: 5_000, cancelGraceMs: 2_000, retry: { ...DEFAULT_POLICY.retry, maxAttempts: 1 } };
    const story = new Story().hint(candidate({ policy })).worker("w1");
    const assign = only(story.commit().assigns);
    story.started(assign).later(1_000).commit();
    const order = only(ordersOf(story.later(4_000).commit()));
    assert.equal(order.kind === "CANCEL" && order.reason, "TIMED_OUT");
    const forced = story.later(3_000).commit();
    const change = only(changesOf(forced));
    assert.equal(change.state, "DEAD");
    assert.equal(change.ended[0]?.state, "TIMED_OUT");
    const late = story.finish(assign).commit();
    assert.deepEqual(changesOf(late), []);
    assert.equal(only(ordersOf(late)).kind, "REFUSED");
  });
});

describe("startBefore", () => {
  it("skips what nobody could start in time", () => {
    const story = new Story().hint(candidate({ policy: { startBefore: START + 3_000 } }));
    assert.deepEqual(changesOf(story.later(2_999).commit()), []);
    const change = only(changesOf(story.later(1).commit()));
    assert.deepEqual([change.state, change.reason], ["SKIPPED", "START_BEFORE_PASSED"]);
  });
});

describe("order and placement", () => {
  it("runs by priority, and lets age win over it in the end", () => {
    const low = candidate({ id: "low", priority: 2 });
    const high = candidate({ id: "high", priority: 7 });
    const old = candidate({ id: "old", priority: 2, dueAt: START - 6 * 3_600_000 });
    const story = new Story().hint(low, high, old).worker("w1", { slots: 3 });
    assert.deepEqual(story.assigned(), ["old", "high", "low"]);
  });

  it("lets work that nobody can run hide nothing", () => {
    const rows = Array.from({ length: 50 }, () => candidate({ priority: 9, requires: ["gpu"] }));
    const plain = candidate();
    const story = new Story().hint(...rows, plain).worker("w1", { slots: 5 });
    assert.deepEqual(story.assigned(), [plain.id]);
    story.worker("w2", { capabilities: ["gpu", "fast"], slots: 2 });
    assert.equal(story.assigned().length, 2);
  });

  it("LEAST_LOADED fills workers by the share of their slots; ROUND_ROBIN takes turns", () => {
    const rows = () => Array.from({ length: 6 }, () => candidate());
    const spread = (story: Story) => {
      story
        .worker("big", { slots: 40 })
        .worker("small", { slots: 4 })
        .hint(...rows());
      const by = Object.groupBy(story.commit().assigns, (assign) => assign.workerId);
      return [by.big?.length, by.small?.length];
    };
    assert.deepEqual(spread(new Story()), [5, 1]);
    const pool = { ...defaultPool("default"), placement: "ROUND_ROBIN" as const };
    assert.deepEqual(spread(new Story().tell({ kind: "POOLS", pools: [pool] })), [3, 3]);
  });

  it("assigns nothing of a paused pool, and everything once it goes on", () => {
    const pool = { ...defaultPool("default"), paused: true };
    const story = new Story()
      .tell({ kind: "POOLS", pools: [pool] })
      .hint(candidate())
      .worker("w1");
    assert.deepEqual(story.assigned(), []);
    assert.equal(story.tell({ kind: "POOLS", pools: [{ ...pool, paused: false }] }).assigned().length, 1);
  });

  it("lets as many of a concurrency key run as it allows, and others pass by", () => {
    const keyed = Array.from({ length: 4 }, () =>
      candidate({ concurrencyKey: "acme", concurrencyLimit: 2, priority: 9 }),
    );
    const plain = candidate();
    const story = new Story().hint(...keyed, plain).worker("w1", { slots: 10 });
    const { assigns } = story.commit();
    assert.deepEqual(
      assigns.map((assign) => assign.executionId),
      [keyed[0]?.id, keyed[1]?.id, plain.id],
    );
    assert.deepEqual(story.finish(assigns[0] as Assignment).assigned(), [keyed[2]?.id]);
  });
});

describe("workers that go", () => {
  it("a lost worker's executions run elsewhere, and its late words are refused", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    story.lose("w1", "silent").worker("w2");
    const moved = story.commit();
    assert.equal(only(changesOf(moved)).ended[0]?.state, "WORKER_LOST");
    assert.deepEqual([only(moved.assigns).attempt, only(moved.assigns).workerId], [2, "w2"]);
    assert.equal(only(ordersOf(story.finish(assign).commit())).kind, "REFUSED");
  });

  it("keeps what it has where a gateway that it passed through says that it is gone: the one that has it now may not have spoken", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const { workerId, executionId } = only(story.commit().assigns);
    const lost = { kind: "WORKER_LOST", workerId, connection: 2, reason: "it was sent to another gateway" } as const;
    story.tell({ kind: "GATEWAY", from: "gateway-2", message: lost });
    assert.deepEqual(changesOf(story.commit()), []);
    assert.equal(story.state.entries.get(executionId)?.place, "ASSIGNED");
    story.lose(workerId, "silent");
    assert.equal(only(changesOf(story.commit())).ended[0]?.state, "WORKER_LOST");
  });

  it("is DEAD after maxLost losses", () => {
    const story = new Story().hint(candidate({ policy: { maxLost: 2 } }));
    for (const name of ["w1", "w2"]) {
      story.worker(name).commit();
      story.lose(name, "silent");
    }
    const change = only(changesOf(story.commit()));
    assert.deepEqual([change.state, change.reason, change.lost], ["DEAD", "WORKER_LOST", 2]);
  });

  it("what a worker hands back has spent nothing", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    story.gateway({ kind: "WORKER_DRAINING", workerId: "w1" }).finish(assign, { state: "RELEASED" });
    const change = only(changesOf(story.commit()));
    assert.deepEqual([change.state, change.failures, change.lost, change.attempt], ["PENDING", 0, 0, 1]);
    assert.equal(only(story.worker("w2").commit().assigns).attempt, 2);
  });
});

describe("memory", () => {
  it("keeps the front of a lane, leaves the rest in the store, and asks for it in time", () => {
    const rows = Array.from({ length: 30 }, () => candidate());
    const story = new Story({ laneEntries: 10 }).hint(...rows);
    assert.equal(story.state.entries.size, 10);
    story.worker("w1", { slots: 6 });
    assert.equal(story.assigned().length, 6);
    const want = only(story.wants);
    assert.ok(want.kind === "READY" && want.after?.id === rows[9]?.id);
    const more = rows.slice(10, 20);
    story.tell({
      kind: "READ_READY",
      laneHash: want.laneHash,
      after: want.after,
      rows: more,
      full: true,
      since: 2,
      term: 1,
    });
    assert.equal(story.state.entries.size, 20);
  });

  it("writes READY what falls due and finds no room", () => {
    const rows = Array.from({ length: 12 }, () => candidate({ dueAt: START + 1_000 }));
    const story = new Story({ laneEntries: 10 }).hint(...rows).later(1_000);
    const changes = changesOf(story.commit());
    assert.deepEqual(
      changes.map((change) => change.queue),
      ["READY", "READY"],
    );
  });

  it("ignores a row in a read that began before the row was written", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    story.finish(assign);
    const reading = {
      kind: "READ_READY" as const,
      laneHash: 1,
      after: null,
      rows: [row],
      full: false,
      since: 2,
      term: 1,
    };
    story.tell(reading);
    assert.deepEqual(story.assigned(), []);
  });

  it("ignores a hint that comes when the execution has gone on, before that is written", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    story.finish(only(story.commit().assigns)).hint({ ...row, attempt: 0, queue: "READY" });
    const batch = story.commit();
    assert.deepEqual([only(changesOf(batch)).state, batch.assigns], ["SUCCEEDED", []]);
  });

  it("forgets a hint whose row is not as it said, and gives the slot to the next", () => {
    const stale = candidate();
    const story = new Story().hint(stale).worker("w1");
    const first = story.commit();
    const { assigns } = first;
    story.tell({ kind: "CANDIDATES_MISSED", ids: [stale.id] });
    assert.ok(assigns.every((assign) => !isStillWanted(story.state, assign)));
    const next = candidate();
    story.hint(next).commit();
    const again = story.credit("w1", 1).commit();
    assert.equal(only(again.assigns).executionId, next.id);
    assert.equal(only(again.assigns).credit, 2, "a number is never used twice");
  });
});
