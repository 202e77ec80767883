import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventId, type LifecycleEvent } from "../domain/lifecycle-event.ts";
import type { Assignment } from "../ports/messages.ts";
import type { ReportedStep } from "../ports/step-messages.ts";
import { deadLetterRefused } from "./attempts/dead-letter-refused.ts";
import type { Batch } from "./batch.ts";
import { RUN, Stage } from "./testing/run-stage.ts";
import { candidate, changesOf, only, START, Story } from "./testing/story.ts";

function telling(): Story {
  const story = new Story();
  story.state.events = true;
  return story;
}

const recorded = ({ shard, executionId, attempt, workerId }: Assignment, record: Partial<ReportedStep> = {}) => ({
  ...{ shard, executionId, attempt, workerId, number: 1, name: "a", step: "RESULT" as const, data: null },
  ...record,
});

const eventsOf = (batch: Batch): LifecycleEvent[] => [...batch.shards.values()].flatMap(({ events }) => events ?? []);
const kindsOf = (batch: Batch) => eventsOf(batch).map(({ kind, state, reason }) => [kind, state, reason]);

describe("lifecycle events of a batch", () => {
  it("tell the assignment, and the start with the end", () => {
    const row = candidate();
    const story = telling().hint(row).worker("w1");
    const assigning = story.commit();
    assert.deepEqual(kindsOf(assigning), [["JobAssigned", "SCHEDULED", null]]);
    const assign = only(assigning.assigns);
    assert.deepEqual(eventsOf(story.later(10).started(assign).commit()), []);
    const [started, completed, ...rest] = eventsOf(
      story
        .later(5)
        .finish(assign, { startedAt: START + 10 })
        .commit(),
    );
    assert.deepEqual(rest, []);
    assert.equal(eventId(started as LifecycleEvent), `${row.id}/1/JobStarted`);
    assert.deepEqual([started?.at, started?.workerId, started?.startedAt], [START + 10, "w1", START + 10]);
    assert.equal(eventId(completed as LifecycleEvent), `${row.id}/1/JobCompleted`);
    const { at, state, startedAt, finishedAt, jobId, tenant, handler } = completed as LifecycleEvent;
    assert.deepEqual([at, state, startedAt, finishedAt], [START + 15, "SUCCEEDED", START + 10, START + 15]);
    assert.deepEqual([jobId, tenant, handler], [row.jobId, row.tenant, row.handler]);
  });

  it("tell the start with the own row of an attempt that runs for long, and not again", () => {
    const story = telling().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    const own = story.started(assign).later(1_000).commit();
    assert.deepEqual(kindsOf(own), [["JobStarted", "RUNNING", null]]);
    assert.deepEqual(
      kindsOf(story.finish(assign).commit()).map(([kind]) => kind),
      ["JobCompleted"],
    );
  });

  it("tell failed attempts and the dead letter, and no failure of an attempt that is given back", () => {
    const error = { name: "Oh", message: "no" };
    const story = telling().hint(candidate()).worker("w1");
    const first = only(story.commit().assigns);
    const retried = story.finish(first, { state: "RELEASED", startedAt: null }).commit();
    assert.deepEqual(
      kindsOf(retried).map(([kind]) => kind),
      ["JobAssigned"],
    );
    const failed = story.finish(only(retried.assigns), { state: "FAILED", error, advice: { kind: "NEVER" } }).commit();
    assert.deepEqual(kindsOf(failed), [
      ["JobStarted", "RUNNING", null],
      ["JobFailed", "DEAD", "FAILED"],
      ["JobDeadLettered", "DEAD", "NOT_RETRYABLE"],
    ]);
    assert.deepEqual(
      eventsOf(failed).map(({ attempt, errorName }) => [attempt, errorName]),
      [
        [2, null],
        [2, "Oh"],
        [2, "Oh"],
      ],
    );
  });

  it("tell each attempt that suspends, also where the execution is cancelled meanwhile", () => {
    const waits = [{ name: "nap", delayMs: 60_000, signals: [], isRecorded: false }];
    const suspended = (isCancelled: boolean) => {
      const row = candidate();
      const story = telling().hint(row).worker("w1");
      const assign = only(story.commit().assigns);
      const cancel = { id: "command-1", shard: row.shard, kind: "CANCEL", executionId: row.id } as const;
      if (isCancelled) story.tell({ kind: "COMMANDS", commands: [cancel] });
      return story.later(10).finish(assign, { state: "SUSPENDED", waits, startedAt: START }).commit();
    };
    const event = eventsOf(suspended(false)).at(-1) as LifecycleEvent;
    assert.equal(eventId(event), `${event.executionId}/1/JobSuspended`);
    const { at, state, reason, workerId, startedAt, finishedAt } = event;
    assert.deepEqual([at, state, reason, workerId], [START + 10, "PENDING", null, "w1"]);
    assert.deepEqual([startedAt, finishedAt], [START, START + 10]);
    const [, end, last] = kindsOf(suspended(true));
    assert.deepEqual(
      [end?.slice(0, 2), last?.slice(0, 2)],
      [
        ["JobSuspended", "CANCELLED"],
        ["JobCancelled", "CANCELLED"],
      ],
    );
  });

  it("tell the end that is written in the place of one that the store refuses", () => {
    const row = candidate();
    const story = telling().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    const ended = story.finish(assign).commit();
    deadLetterRefused(story.state, ended, story.batch, [
      { change: only(changesOf(ended)), shard: row.shard, message: "odd" },
    ]);
    assert.deepEqual(kindsOf(story.commit()), [
      ["JobStarted", "RUNNING", null],
      ["JobDeadLettered", "DEAD", "RESULT_REFUSED"],
    ]);
  });

  it("tell the first value of each step, and no checkpoint", () => {
    const row = candidate();
    const story = telling().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    const records: Partial<ReportedStep>[] = [
      { name: "a" },
      { name: "", step: "CHECKPOINT" },
      { name: "b", signalId: "s" },
      { name: "b" },
    ];
    const steps = records.map((record, number) => recorded(assign, { ...record, number }));
    story.later(10).started(assign).gateway({ kind: "STEPS", steps });
    const [started, ...told] = eventsOf(story.commit());
    assert.equal(started?.kind, "JobStarted");
    assert.deepEqual(told.map(eventId), [`${row.id}/StepRecorded/a`, `${row.id}/StepRecorded/b`]);
    const fields = told.map(({ at, workerId, attempt, state, reason, step }) => [
      at,
      workerId,
      attempt,
      state,
      reason,
      step,
    ]);
    assert.deepEqual(fields, [
      [START + 10, "w1", 1, "RUNNING", null, "a"],
      [START + 10, "w1", 1, "RUNNING", "SIGNAL", "b"],
    ]);
  });

  it("tell no step whose record the store has refused with the row", () => {
    const story = telling().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    const ended = story
      .gateway({ kind: "STEPS", steps: [recorded(assign)] })
      .finish(assign)
      .commit();
    assert.ok(eventsOf(ended).some(({ kind }) => kind === "StepRecorded"));
    const [change] = changesOf(ended);
    assert.ok(change);
    deadLetterRefused(story.state, ended, story.batch, [{ change, shard: assign.shard, message: "odd" }]);
    assert.ok(!eventsOf(story.commit()).some(({ kind }) => kind === "StepRecorded"));
  });

  it("tell an execution that ends without an attempt", () => {
    const row = candidate();
    const late = { ...row, policy: { ...row.policy, startBefore: START - 1 } };
    assert.deepEqual(kindsOf(telling().hint(late).commit()), [["JobSkipped", "SKIPPED", "START_BEFORE_PASSED"]]);
  });

  it("are taken back with the nodes of a run whose last end the store has refused", () => {
    const stage = new Stage(
      { a: [], b: ["a"], c: ["b"] },
      "FAIL_FAST",
      null,
      undefined,
      undefined,
      telling().worker("w1", { slots: 2 }),
    ).hint("a");
    const { story } = stage;
    const a = only(story.commit().assigns);
    stage.load({ a: "PENDING" });
    const { batch } = stage.story.finish(a);
    const nodeB = { executionId: stage.id("b"), jobId: null, workflowId: RUN, node: stage.number("b") };
    const ofB = eventsOf(batch).filter(({ executionId }) => executionId === stage.id("b"));
    assert.deepEqual(
      ofB.map(({ kind, attempt }) => [kind, attempt]),
      [
        ["JobCreated", 0],
        ["JobAssigned", 1],
      ],
    );
    for (const { executionId, jobId, workflowId, node } of ofB)
      assert.deepEqual({ executionId, jobId, workflowId, node }, nodeB);
    batch.withdraw(RUN);
    assert.deepEqual(
      eventsOf(batch).filter(({ executionId }) => executionId === stage.id("b")),
      [],
    );
  });

  it("take members of the inbox once, until their batch is answered", () => {
    const story = telling();
    const rows = [
      { id: "a", shard: 1 },
      { id: "b", shard: 2 },
    ];
    const number = story.tell({ kind: "INBOX", rows }, { kind: "INBOX", rows }).batch.number;
    const taking = story.commit();
    assert.deepEqual(taking.shards.get(1)?.inbox, ["a"]);
    assert.deepEqual(taking.shards.get(2)?.inbox, ["b"]);
    assert.equal(story.tell({ kind: "INBOX", rows }).batch.hasWrites, false);
    const nodes = { created: [], notCreated: [] };
    story.tell({ kind: "CREATED", rows: [], notCreated: [], missedPlans: [], nodes, missedRuns: [], batch: number });
    assert.equal(story.state.inbox.size, 0);
  });

  it("are none where the node writes no events", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const batch = story.tell({ kind: "INBOX", rows: [{ id: "a", shard: 1 }] }).commit();
    assert.equal(batch.assigns.length, 1);
    for (const { events, inbox } of batch.shards.values()) assert.deepEqual([events, inbox], [null, null]);
  });
});
