import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import { DEFAULT_POLICY, type JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import { DEFAULT_ORDERING, rankOf } from "../../domain/rank.ts";
import type { DeleteCommand, ReplaceCommand } from "../../ports/store-commands.ts";
import type { Batch } from "../batch.ts";
import { candidate, changesOf, only, START, Story } from "../testing/story.ts";

let made = 0;

function replaceCommand(rows: readonly Candidate[], definition: Partial<JobDefinition> = {}): ReplaceCommand {
  const { jobId, shard } = rows[0] as Candidate;
  return {
    id: `command-${++made}`,
    shard,
    kind: "REPLACE",
    jobId,
    executionIds: rows.map(({ id }) => id),
    version: 2,
    definition: {
      ...{ name: null, pool: "default", handler: "new", requires: [], priority: 5, scheduledAt: START },
      ...{
        policy: DEFAULT_POLICY,
        concurrencyKey: null,
        concurrencyLimit: 1,
        uniqueKey: null,
        labels: {},
        recurrence: null,
      },
      ...definition,
    },
    payloadBytes: 7,
  };
}

function deleteCommand(rows: readonly Candidate[]): DeleteCommand {
  const { jobId, shard } = rows[0] as Candidate;
  return { id: `command-${++made}`, shard, kind: "DELETE", jobId, executionIds: rows.map(({ id }) => id) };
}

/** Answers the machine's last request for rows: these rows exist, and the other executions are final. */
function loaded(story: Story, rows: readonly Candidate[], since = story.batch.number, term = story.state.term): Story {
  const want = only(story.wants.splice(0).filter(({ kind }) => kind === "LOAD"));
  assert.ok(want.kind === "LOAD");
  return story.tell({
    kind: "LOADED",
    asked: want.ids,
    rows: rows.map((row) => ({ ...row })),
    since,
    term,
  });
}

/** Outcomes of commands. */
function said({ toApi }: Batch): { commandId: string; outcome: string }[] {
  return toApi.flatMap(({ message }) => {
    if (message.kind !== "COMMAND_DONE") return [];
    const { commandId, outcome } = message;
    return [{ commandId, outcome }];
  });
}

describe("replacing what waits", () => {
  it("is one change, which also takes the command away, and the new definition is what runs", () => {
    const row = candidate();
    const story = new Story().hint({ ...row });
    const command = replaceCommand([row], { requires: ["gpu"], priority: 9, concurrencyLimit: 3 });
    loaded(story.tell({ kind: "COMMANDS", commands: [command] }), [row]);
    const batch = story.commit();
    const change = only(changesOf(batch));
    assert.deepEqual([change.state, change.queue, change.wasAttempt, change.attempt], ["PENDING", "READY", 0, 1]);
    assert.equal(change.rank, rankOf(DEFAULT_ORDERING, START, 9));
    const { definition, payloadBytes } = command;
    const hash = laneHash({ ...definition, tenant: "default" });
    assert.deepEqual(change.replacement, { jobVersion: 2, definition, laneHash: hash, payloadBytes });
    assert.deepEqual(only([...batch.shards.values()]).commandsDone, [command.id]);
    assert.deepEqual(said(batch), [{ commandId: command.id, outcome: "REPLACED" }]);

    assert.deepEqual(story.worker("old", { handlers: ["echo"] }).commit().assigns, []);
    const assign = only(story.worker("new", { handlers: ["new"], capabilities: ["gpu"] }).commit().assigns);
    assert.deepEqual([assign.handler, assign.attempt, assign.payloadBytes], ["new", 2, 7]);
  });

  it("moves it to its new time, and out of memory when that is far", () => {
    const row = candidate();
    const story = new Story().hint({ ...row });
    const command = replaceCommand([row], { scheduledAt: START + 3_600_000 });
    loaded(story.tell({ kind: "COMMANDS", commands: [command] }), [row]);
    const change = only(changesOf(story.commit()));
    assert.deepEqual([change.queue, change.dueAt], ["WAITING", START + 3_600_000]);
    assert.equal(story.state.entries.size, 0);
    assert.deepEqual(story.worker("w", { handlers: ["new", "echo"] }).assigned(), []);
  });

  it("brings it forward when it waited for its time", () => {
    const row = candidate({ dueAt: START + 5_000 });
    const story = new Story().hint({ ...row }).worker("w", { handlers: ["new"] });
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row])] }), [row]);
    assert.deepEqual(story.assigned(), [row.id]);
    assert.equal(story.state.lanes.knowsHash(row.rank), false);
  });

  it("keeps the limit of its concurrency key, whose gate was forgotten while it waited for another attempt", () => {
    const policy = { retry: { ...DEFAULT_POLICY.retry, jitter: false, initialDelayMs: 4_000 } };
    const key = { concurrencyKey: "acme", concurrencyLimit: 1 };
    const [row, next, holder] = [candidate({ policy, ...key }), candidate(key), candidate(key)];
    const story = new Story().hint({ ...row }).worker("w", { handlers: ["echo", "new"], slots: 2 });
    story.finish(only(story.commit().assigns), { state: "FAILED" }).commit();
    story.hint({ ...next });
    story.finish(only(story.commit().assigns)).commit();
    story.hint({ ...holder });
    assert.deepEqual(story.assigned(), [holder.id]);
    const inStore = { ...row, attempt: 1, failures: 1, queue: "WAITING" as const, dueAt: START + 4_000 };
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row], key)] }), [inStore]);
    assert.deepEqual(story.assigned(), [], "the holder has the only permit of the key");
  });

  it("gives a new budget to what waits for another attempt, and keeps its history", () => {
    const policy = { retry: { ...DEFAULT_POLICY.retry, jitter: false, initialDelayMs: 4_000 } };
    const row = candidate({ policy });
    const story = new Story().hint({ ...row }).worker("w", { handlers: ["echo", "new"] });
    story.finish(only(story.commit().assigns), { state: "FAILED" });
    const inStore = { ...row, attempt: 1, failures: 1, queue: "WAITING" as const, dueAt: START + 4_000 };
    story.commit();
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row])] }), [inStore]);
    const batch = story.commit();
    const change = only(changesOf(batch));
    assert.deepEqual([change.wasAttempt, change.attempt, change.failures, change.startedAt], [1, 2, 0, null]);
    assert.equal(only(batch.assigns).attempt, 3);
  });

  it("leaves alone what a worker has, and says so", () => {
    const row = candidate();
    const story = new Story().hint({ ...row }).worker("w");
    const assign = only(story.commit().assigns);
    const command = replaceCommand([row]);
    loaded(story.tell({ kind: "COMMANDS", commands: [command] }), [row]);
    const batch = story.commit();
    assert.deepEqual(changesOf(batch), []);
    assert.deepEqual(only([...batch.shards.values()]).commandsDone, [command.id]);
    assert.deepEqual(said(batch), [{ commandId: command.id, outcome: "KEPT" }]);
    story.finish(assign, { state: "FAILED" });
    assert.equal(only(changesOf(story.commit())).replacement, undefined);
  });

  it("says of what has ended that it was kept", () => {
    const row = candidate();
    const story = new Story();
    const command = replaceCommand([row]);
    loaded(story.tell({ kind: "COMMANDS", commands: [command] }), []);
    const batch = story.commit();
    assert.deepEqual(said(batch), [{ commandId: command.id, outcome: "KEPT" }]);
    assert.equal(story.state.entries.size, 0);
  });

  it("does not believe a hint that came late: the row counts", () => {
    const row = candidate();
    const story = new Story().hint({ ...row });
    const before = { ...row, attempt: 3, failures: 2 };
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row])] }), [before]);
    const change = only(changesOf(story.commit()));
    assert.deepEqual([change.wasAttempt, change.attempt], [3, 4]);
  });

  it("waits for the commit that shows whether a hint was stale", () => {
    const row = candidate();
    const story = new Story().hint({ ...row }).worker("w", { handlers: ["echo", "new"] });
    story.commit();
    const before = { ...row, attempt: 3 };
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row])] }), [before]);
    assert.deepEqual(story.commit().toApi, []);
    story.tell({ kind: "CANDIDATES_MISSED", ids: [row.id] });
    loaded(story, [before]).credit("w", 1);
    const batch = story.commit();
    assert.deepEqual(only(changesOf(batch)).attempt, 4);
    assert.equal(only(batch.assigns).handler, "new");
  });

  it("reads again where the read began before the last change was durable", () => {
    const row = candidate({ dueAt: START + 3_600_000 });
    const story = new Story();
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row], { scheduledAt: row.dueAt })] }), [row]);
    const first = story.batch.number;
    story.commit();
    const second = { ...replaceCommand([row], { handler: "newer", scheduledAt: row.dueAt }), version: 3 };
    loaded(story.tell({ kind: "COMMANDS", commands: [second] }), [row], first);
    assert.deepEqual(changesOf(story.batch), []);
    loaded(story, [{ ...row, attempt: 1, jobVersion: 2 }]);
    const change = only(changesOf(story.commit()));
    assert.deepEqual([change.wasAttempt, change.attempt, change.replacement?.jobVersion], [1, 2, 3]);
  });

  it("lets the newest version win, whatever is heard first", () => {
    const row = candidate();
    const story = new Story().hint({ ...row });
    const [older, newer] = [replaceCommand([row]), { ...replaceCommand([row], { handler: "newest" }), version: 3 }];
    loaded(story.tell({ kind: "COMMANDS", commands: [newer, older] }), [row]);
    const batch = story.commit();
    assert.equal(only(changesOf(batch)).replacement?.jobVersion, 3);
    assert.deepEqual(only([...batch.shards.values()]).commandsDone, [newer.id, older.id]);
    assert.equal(only(story.worker("w", { handlers: ["new", "newest"] }).commit().assigns).handler, "newest");
  });

  it("changes all executions of a job at once", () => {
    const first = candidate();
    const second = candidate({ jobId: first.jobId, shard: first.shard });
    const story = new Story().hint({ ...first }, { ...second });
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([first, second])] }), [first, second]);
    assert.deepEqual(
      changesOf(story.commit()).map(({ replacement }) => replacement?.jobVersion),
      [2, 2],
    );
  });

  it("is applied by the next owner where this one died", () => {
    const row = candidate();
    const command = replaceCommand([row]);
    const recovered = { inFlight: [], journals: [], commands: [command] };
    const story = new Story();
    story.tell({ kind: "OWNED", term: 2, epochs: new Map([[row.shard, 2]]), recovered, incarnation: "node-2" });
    loaded(story, [row]);
    assert.equal(only(changesOf(story.commit())).replacement?.jobVersion, 2);
  });

  it("is left to the next owner where the shard is released before the rows were read", () => {
    const row = candidate();
    const story = new Story();
    const command = replaceCommand([row]);
    story.tell({ kind: "COMMANDS", commands: [command] }).tell({ kind: "LOST", shards: [row.shard] });
    loaded(story, [row]);
    assert.deepEqual([story.state.jobCommands.size, story.state.openCommands.size], [0, 0]);
    assert.equal(story.batch.hasWrites, false);
    const recovered = { inFlight: [], journals: [], commands: [command] };
    story.tell({ kind: "OWNED", term: 3, epochs: new Map([[row.shard, 3]]), recovered, incarnation: "node-1" });
    loaded(story, [row]);
    assert.equal(only(changesOf(story.commit())).replacement?.jobVersion, 2);
  });

  it("reads again what was read before the shard was taken over", () => {
    const row = candidate();
    const command = replaceCommand([row]);
    const story = new Story();
    const recovered = { inFlight: [], journals: [], commands: [command] };
    const late = story.state.term;
    story.tell({ kind: "OWNED", term: late + 1, epochs: new Map([[row.shard, 2]]), recovered, incarnation: "node-2" });
    loaded(story, [row], story.batch.number, late);
    assert.equal(story.batch.hasWrites, false);
    loaded(story, [row]);
    assert.equal(only(changesOf(story.commit())).replacement?.jobVersion, 2);
  });

  it("is one change together with the end, where it is cancelled before it was written", () => {
    const row = candidate();
    const story = new Story().hint({ ...row });
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row])] }), [row]);
    const cancel = { id: "cancel", shard: row.shard, kind: "CANCEL" as const, executionId: row.id };
    const change = only(changesOf(story.tell({ kind: "COMMANDS", commands: [cancel] }).commit()));
    assert.deepEqual([change.state, change.wasAttempt, change.replacement?.jobVersion], ["CANCELLED", 0, 2]);
  });
});

describe("deleting a job", () => {
  it("cancels what waits and leaves what a worker has", () => {
    const running = candidate();
    const waiting = candidate({ jobId: running.jobId, shard: running.shard });
    const story = new Story().hint({ ...running }).worker("w");
    const assign = only(story.commit().assigns);
    story.hint({ ...waiting });
    const command = deleteCommand([running, waiting]);
    loaded(story.tell({ kind: "COMMANDS", commands: [command] }), [running, waiting]);
    const batch = story.commit();
    const change = only(changesOf(batch));
    assert.deepEqual([change.id, change.state, change.reason], [waiting.id, "CANCELLED", "JOB_DELETED"]);
    assert.deepEqual(only([...batch.shards.values()]).commandsDone, [command.id]);
    assert.deepEqual(said(batch), [{ commandId: command.id, outcome: "DELETED" }]);
    assert.equal(only(changesOf(story.finish(assign).commit())).state, "SUCCEEDED");
  });
});

describe("cancelling what has just left memory", () => {
  it("does not take it for ended because a read came too early", () => {
    const row = candidate();
    const story = new Story().hint({ ...row });
    const far = { scheduledAt: START + 3_600_000 };
    loaded(story.tell({ kind: "COMMANDS", commands: [replaceCommand([row], far)] }), [row]);
    const first = story.batch.number;
    story.commit();
    const cancel = { id: "cancel", shard: row.shard, kind: "CANCEL" as const, executionId: row.id };
    loaded(story.tell({ kind: "COMMANDS", commands: [cancel] }), [row], first);
    assert.deepEqual(story.commit().toApi, []);
    loaded(story, [{ ...row, attempt: 1, jobVersion: 2, queue: "WAITING", dueAt: far.scheduledAt }]);
    assert.equal(only(changesOf(story.commit())).state, "CANCELLED");
  });
});
