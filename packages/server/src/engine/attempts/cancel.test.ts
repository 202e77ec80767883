import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStillWanted } from "../queue/sendable.ts";
import { answersOf, candidate, changesOf, only, ordersOf, START, Story } from "../testing/story.ts";

describe("cancel", () => {
  const command = (row: { id: string; shard: number }) => ({
    kind: "COMMANDS" as const,
    commands: [{ id: "command-1", shard: row.shard, kind: "CANCEL" as const, executionId: row.id }],
  });

  it("ends what waits for its time, for a worker, or in the store only", () => {
    const ready = candidate();
    const timed = candidate({ dueAt: START + 3_000 });
    for (const row of [ready, timed]) {
      const story = new Story().hint(row).tell(command(row));
      const batch = story.tell({ kind: "LOADED", asked: [row.id], rows: [row], since: 1, term: 1 }).commit();
      assert.equal(only(changesOf(batch)).state, "CANCELLED");
      assert.deepEqual(only([...batch.shards.values()]).commandsDone, ["command-1"]);
      assert.deepEqual(answersOf(batch), [{ kind: "COMMAND_DONE", commandId: "command-1", outcome: "CANCELLED" }]);
    }
    const far = candidate({ dueAt: START + 86_400_000 });
    const story = new Story().hint(far).tell(command(far));
    assert.deepEqual(story.wants, [{ kind: "LOAD", ids: [far.id] }]);
    story.tell({ kind: "LOADED", asked: [far.id], rows: [far], since: 1, term: 1 });
    assert.equal(only(changesOf(story.commit())).state, "CANCELLED");
  });

  it("asks the worker, keeps the command until the attempt has ended, and does not retry", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    const asked = story.started(assign).tell(command(row)).tell(command(row)).commit();
    assert.equal(only(ordersOf(asked)).kind, "CANCEL");
    assert.deepEqual(answersOf(asked), [{ kind: "COMMAND_DONE", commandId: "command-1", outcome: "REQUESTED" }]);
    const ended = story.finish(assign, { state: "FAILED" }).commit();
    assert.equal(only(changesOf(ended)).state, "CANCELLED");
    assert.deepEqual(only([...ended.shards.values()]).commandsDone, ["command-1"]);
  });

  it("never sends what was given up while its assignment was on its way to the store", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    story.tell(command(row)).later(60_000);
    const batch = story.commit();
    assert.equal(only(changesOf(batch)).state, "CANCELLED");
    assert.ok(!isStillWanted(story.state, only(batch.assigns)));
    story.hint(candidate()).commit();
    assert.equal(story.credit("w1", 1).assigned().length, 1);
  });

  it("keeps the limit of a concurrency key, whose gate was forgotten while the execution waited for a retry", () => {
    const key = { concurrencyKey: "acme", concurrencyLimit: 1 };
    const [row, next, holder] = [candidate(key), candidate(key), candidate(key)];
    const story = new Story().hint({ ...row }).worker("w", { handlers: ["echo", "other"], slots: 2 });
    story.finish(only(story.commit().assigns), { state: "FAILED" }).commit();
    story.hint({ ...next });
    story.finish(only(story.commit().assigns)).commit();
    story.hint({ ...holder });
    assert.deepEqual(story.assigned(), [holder.id]);
    const inStore = { ...row, attempt: 1, failures: 1, queue: "WAITING" as const, dueAt: START + 60_000 };
    story
      .tell(command(row))
      .tell({ kind: "LOADED", asked: [row.id], rows: [inStore], since: 9, term: 1 })
      .commit();
    story.hint(candidate({ ...key, handler: "other" }));
    assert.deepEqual(story.assigned(), [], "the holder has the only permit of the key");
    assert.ok(!story.state.entries.has(row.id));
  });

  it("is honest about a handler that finished all the same", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    assert.equal(only(changesOf(story.tell(command(row)).finish(assign).commit())).state, "SUCCEEDED");
  });

  it("says so when the execution is final already", () => {
    const row = candidate();
    const story = new Story().tell(command(row));
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows: [], since: 1, term: 1 }).commit();
    assert.deepEqual(answersOf(batch), [{ kind: "COMMAND_DONE", commandId: "command-1", outcome: "FINAL" }]);
  });

  it("believes no hint that came late: what waits by its word may have ended", () => {
    const row = candidate();
    const story = new Story().hint(row).tell(command(row));
    assert.deepEqual([answersOf(story.commit()), story.wants], [[], [{ kind: "LOAD", ids: [row.id] }]]);
    const batch = story.tell({ kind: "LOADED", asked: [row.id], rows: [], since: 2, term: 1 }).commit();
    assert.deepEqual(changesOf(batch), []);
    assert.deepEqual(answersOf(batch), [{ kind: "COMMAND_DONE", commandId: "command-1", outcome: "FINAL" }]);
    assert.equal(story.state.entries.size, 0);
  });

  it("waits for what was already written by a hint's word: the row as it was before says nothing", () => {
    const row = candidate();
    const before = { ...row };
    const story = new Story().hint(row).worker("w1");
    story.commit();
    const written = story.lose("w1").commit();
    assert.equal(only(changesOf(written)).attempt, 1);
    story.tell(command(row)).tell({ kind: "LOADED", asked: [row.id], rows: [before], since: written.number, term: 1 });
    assert.deepEqual(story.wants.slice(-1), [{ kind: "LOAD", ids: [row.id] }]);
    const since = story.batch.number;
    const batch = story
      .tell({ kind: "LOADED", asked: [row.id], rows: [{ ...before, attempt: 1 }], since, term: 1 })
      .commit();
    const { state, wasAttempt } = only(changesOf(batch));
    assert.deepEqual([state, wasAttempt], ["CANCELLED", 1]);
  });

  it("is not forgotten together with a hint that turns out to be stale", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1").tell(command(row));
    assert.deepEqual(answersOf(story.commit()), [
      { kind: "COMMAND_DONE", commandId: "command-1", outcome: "REQUESTED" },
    ]);
    story.tell({ kind: "CANDIDATES_MISSED", ids: [row.id] });
    // The next read of the inbox returns the command again.
    story.tell(command(row)).tell({ kind: "LOADED", asked: [row.id], rows: [], since: 2, term: 1 });
    assert.deepEqual(only([...story.commit().shards.values()]).commandsDone, ["command-1"]);
  });
});
