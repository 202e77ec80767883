import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import type { Assignment } from "../../ports/messages.ts";
import { candidate, changesOf, only, ordersOf, START, Story } from "../testing/story.ts";

const AT_ONCE = { retry: { ...DEFAULT_POLICY.retry, backoff: "FIXED" as const, initialDelayMs: 0, jitter: false } };

describe("the attempt before", () => {
  /** The same worker has the second attempt, and its gateway may still bring a report about the first. */
  const tried = () => {
    const row = candidate({ policy: AT_ONCE });
    const story = new Story().hint(row).worker("w1");
    const first = only(story.commit().assigns);
    story.finish(first, { state: "FAILED" });
    const second = only(story.commit().assigns);
    assert.deepEqual([first.attempt, second.attempt, second.workerId], [1, 2, "w1"]);
    return { story, row, first, second };
  };

  it("brings no result once the next attempt was assigned to the same worker", () => {
    const { story, row, first, second } = tried();
    const late = story.finish(first, { state: "SUCCEEDED", result: Buffer.from("1") }).commit();
    assert.deepEqual(changesOf(late), []);
    const tokens = [{ shard: row.shard, executionId: row.id, attempt: 1 }];
    assert.deepEqual(ordersOf(late), [{ kind: "REFUSED", workerId: "w1", tokens }]);
    const change = only(changesOf(story.finish(second, { result: Buffer.from("2") }).commit()));
    assert.deepEqual(
      [change.state, change.attempt, change.failures, change.result],
      ["SUCCEEDED", 2, 1, Buffer.from("2")],
    );
  });

  it("does not start the next one", () => {
    const { story, row, first } = tried();
    assert.equal(only(ordersOf(story.started(first).commit())).kind, "REFUSED");
    assert.equal(story.state.entries.get(row.id)?.assigned?.startedAt, null);
  });
});

describe("the start of an attempt", () => {
  /** An execution that is assigned one millisecond before its due time, so that its gateway has it then. */
  const assignedEarly = () => {
    const story = new Story({ leadMs: 1 }).hint(candidate({ dueAt: START + 1_000 })).worker("w1");
    return { story, assign: only(story.later(999).commit().assigns) };
  };
  const startOf = (story: Story) => only(only(changesOf(story.commit())).ended).startedAt;

  it("is at the due time where the worker's clock is behind", () => {
    const { story, assign } = assignedEarly();
    story.later(1);
    story.finish(assign, { startedAt: START + 999, finishedAt: START + 999 });
    assert.equal(startOf(story), START + 1_000);
  });

  it("is at the due time where a timer sent the assignment before it, and the attempt has ended by then", () => {
    const { story, assign } = assignedEarly();
    story.finish(assign);
    assert.equal(startOf(story), START + 1_000);
  });

  it("is no later than the report where the worker's clock is ahead", () => {
    const { story, assign } = assignedEarly();
    story.later(5);
    story.finish(assign, { startedAt: START + 9_000, finishedAt: START + 9_000 });
    assert.equal(startOf(story), START + 1_004);
  });
});

describe("a unique key", () => {
  const row = () => candidate({ hasUniqueKey: true, policy: { startBefore: START + 1_000, ...AT_ONCE } });
  const cancel = ({ id, shard }: { id: string; shard: number }) => {
    const commands = [{ id: "command-1", shard, kind: "CANCEL" as const, executionId: id }];
    return { kind: "COMMANDS" as const, commands };
  };
  const said = (story: Story) => {
    const { state, releaseUniqueKey } = only(changesOf(story.commit()));
    return [state, releaseUniqueKey];
  };
  const assigned = (waits = row()) => {
    const story = new Story().hint(waits).worker("w1");
    return { story, waits, assign: only(story.commit().assigns) };
  };

  it("is freed by the end of its execution, whichever end that is", () => {
    const waits = row();
    const loaded = { kind: "LOADED" as const, asked: [waits.id], rows: [waits], since: 1, term: 1 };
    assert.deepEqual(said(new Story().hint(waits).tell(cancel(waits)).tell(loaded)), ["CANCELLED", true]);
    assert.deepEqual(said(new Story().hint(row()).later(2_000)), ["SKIPPED", true]);
    const ends = assigned();
    assert.deepEqual(said(ends.story.finish(ends.assign)), ["SUCCEEDED", true]);
    const dies = assigned();
    const advice = { kind: "NEVER" } as const;
    assert.deepEqual(said(dies.story.finish(dies.assign, { state: "FAILED", advice })), ["DEAD", true]);
    const stops = assigned();
    stops.story.tell(cancel(stops.waits)).commit();
    assert.deepEqual(said(stops.story.finish(stops.assign, { state: "CANCELLED" })), ["CANCELLED", true]);
  });

  it("is kept by a change that does not end its execution", () => {
    const fails = assigned();
    assert.deepEqual(said(fails.story.finish(fails.assign, { state: "FAILED" })), ["PENDING", false]);
    const runs = assigned();
    assert.deepEqual(said(runs.story.started(runs.assign).later(5_000)), ["RUNNING", false]);
  });
});

describe("an attempt that cannot be sent", () => {
  const error = { name: "ReferenceNotFound", message: "the reference leads nowhere" };
  const unsendable = (story: Story, { shard, executionId, attempt, workerId }: Assignment) =>
    story.tell({
      kind: "UNSENDABLE",
      attempts: [{ shard, executionId, attempt, workerId, reason: "REFERENCE_NOT_FOUND", error }],
    });

  it("makes its execution DEAD at once, whatever its budget, and leaves its place to others", () => {
    const story = new Story().hint(candidate({ policy: AT_ONCE })).worker("w1");
    const assign = only(story.commit().assigns);
    const change = only(changesOf(unsendable(story, assign).commit()));
    assert.deepEqual(
      [change.state, change.reason, change.error, change.queue, change.failures],
      ["DEAD", "REFERENCE_NOT_FOUND", error, "NONE", 1],
    );
    const ended = only(change.ended);
    assert.deepEqual([ended.state, ended.startedAt, ended.error], ["FAILED", null, error]);
    assert.equal(story.state.entries.size, 0);
    assert.equal(story.state.workers.get("w1")?.held.size, 0);
  });

  it("is CANCELLED where its cancellation was asked for", () => {
    const row = candidate({});
    const story = new Story().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    story.tell({ kind: "COMMANDS", commands: [{ id: "c", shard: row.shard, kind: "CANCEL", executionId: row.id }] });
    story.commit();
    const change = only(changesOf(unsendable(story, assign).commit()));
    assert.deepEqual([change.state, change.reason], ["CANCELLED", null]);
  });

  it("leaves a later attempt alone", () => {
    const story = new Story().hint(candidate({ policy: AT_ONCE })).worker("w1");
    const first = only(story.commit().assigns);
    story.finish(first, { state: "FAILED" });
    const second = only(story.commit().assigns);
    assert.deepEqual(changesOf(unsendable(story, first).commit()), []);
    assert.equal(story.state.entries.get(second.executionId)?.row.attempt, 2);
  });
});

describe("the acknowledgement of a result", () => {
  it("is its token alone: the mesh would send the bytes of the result back as text", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    const { acks } = story.finish(assign, { result: Uint8Array.of(110) }).commit();
    const told = [...acks.values()].flatMap((workers) => [...workers.values()].flat());
    assert.deepEqual(told, [{ shard: row.shard, executionId: row.id, attempt: 1 }]);
  });
});
