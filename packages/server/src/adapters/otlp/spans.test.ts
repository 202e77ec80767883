import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AT, eventOf, idOf } from "../../api/events/events.fixture.ts";
import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { attemptSpan, executionSpan } from "../../domain/trace.ts";
import { spansOf } from "./spans.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const NOT_RECORDED = TRACEPARENT.replace(/01$/, "00");
const traced = { executionId: idOf(1), workflowId: null };
const FAILED = { kind: "JobFailed", reason: "FAILED", errorName: "SmtpError", state: "PENDING" } as const;
const DEAD = { kind: "JobDeadLettered", state: "DEAD", reason: "ATTEMPTS_USED_UP", errorName: "SmtpError" } as const;

/** Spans as name, id, error and duration in milliseconds. */
function read(...events: Partial<LifecycleEvent>[]) {
  return spansOf(events.map((fields) => eventOf(1, fields))).map((span) => ({
    name: span.name,
    id: Buffer.from(span.spanId).toString("hex"),
    error: span.status?.message ?? null,
    ms: Number(span.endTimeUnixNano - span.startTimeUnixNano) / 1e6,
  }));
}

describe("spans of lifecycle events", () => {
  const first = attemptSpan(traced, 1).spanId;
  const root = executionSpan(traced).spanId;

  it("are that of the last attempt and that of the execution, for an execution that succeeds", () => {
    assert.deepEqual(read({}), [
      { name: "run echo", id: first, error: null, ms: 7 },
      { name: "execution echo", id: root, error: null, ms: 9 },
    ]);
  });

  it("are none of events before an end, of jobs, and of traces that are not recorded", () => {
    const kinds = ["JobCreated", "JobAssigned", "JobStarted", "JobReplaced", "JobDeleted"] as const;
    assert.deepEqual(read(...kinds.map((kind) => ({ kind }))), []);
    assert.deepEqual(read({ kind: "JobSkipped", executionId: null }), []);
    assert.deepEqual(read({ traceparent: NOT_RECORDED }), []);
  });

  it("have one of a failed attempt, also where it ends the execution", () => {
    assert.deepEqual(read(FAILED), [{ name: "run echo", id: first, error: "SmtpError", ms: 7 }]);
    const spans = read({ ...FAILED, state: "DEAD" }, DEAD);
    assert.deepEqual(
      spans.map(({ name, error }) => [name, error]),
      [
        ["run echo", "SmtpError"],
        ["execution echo", "ATTEMPTS_USED_UP"],
      ],
    );
    assert.equal(read(DEAD).length, 2, "a result that the store refused ends an attempt that had not failed");
  });

  it("have one of each stretch between suspensions, also where the execution ends with one", () => {
    const suspended = {
      kind: "JobSuspended",
      state: "PENDING",
      startedAt: AT - 30,
      finishedAt: AT - 10,
      at: AT - 10,
    } as const;
    assert.deepEqual(read(suspended, { attempt: 2 }), [
      { name: "run echo", id: first, error: null, ms: 20 },
      { name: "run echo", id: attemptSpan(traced, 2).spanId, error: null, ms: 7 },
      { name: "execution echo", id: root, error: null, ms: 9 },
    ]);
    const [span] = spansOf([eventOf(1, suspended)]);
    assert.equal(Buffer.from(span?.parentSpanId ?? []).toString("hex"), root);
    const state = span?.attributes.find(({ key }) => key === "mainspring.attempt.state");
    assert.equal(state?.value?.value.value, "SUSPENDED");
    const cancelled = { kind: "JobCancelled", state: "CANCELLED" } as const;
    assert.deepEqual(
      read({ ...suspended, state: "CANCELLED" }, cancelled).map(({ name }) => name),
      ["run echo", "execution echo"],
    );
  });

  it("have none of an attempt that did not start, but one of a lost worker's", () => {
    const names = (fields: Partial<LifecycleEvent>) => read(fields).map(({ name, ms }) => [name, ms]);
    const cancelled = { kind: "JobCancelled", state: "CANCELLED", startedAt: null } as const;
    assert.deepEqual(names(cancelled), [["execution echo", 9]]);
    assert.deepEqual(names({ ...cancelled, startedAt: AT - 7 })[0], ["run echo", 7]);
    assert.deepEqual(names({ ...FAILED, reason: "WORKER_LOST", startedAt: null }), [["run echo", 0]]);
    assert.deepEqual(names({ handler: "workflow", workerId: null, attempt: 0 }), [["execution workflow", 9]]);
  });

  it("name their parent and where it is", () => {
    const parents = (fields: Partial<LifecycleEvent>) =>
      spansOf([eventOf(1, fields)]).map(({ parentSpanId, flags }) => [
        Buffer.from(parentSpanId).toString("hex"),
        flags.toString(16),
      ]);
    assert.deepEqual(parents({ traceparent: TRACEPARENT }), [
      [root, "101"],
      ["00f067aa0ba902b7", "301"],
    ]);
    assert.deepEqual(parents({})[1], ["", "101"]);
    const workflowId = idOf(7);
    const run = executionSpan({ executionId: workflowId, workflowId: null }).spanId;
    assert.deepEqual(parents({ traceparent: TRACEPARENT, jobId: null, workflowId })[1], [run, "101"]);
  });

  it("have attributes by the conventions for messages, and ids of this program", () => {
    const [span] = spansOf([eventOf(1, { ...FAILED, node: 3, workflowId: idOf(7), jobId: null })]);
    const attributes = Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, value?.value.value]));
    assert.deepEqual(attributes, {
      ...{ "messaging.system": "mainspring", "messaging.operation.name": "run" },
      ...{ "messaging.operation.type": "process", "messaging.destination.name": "default" },
      ...{ "messaging.message.id": idOf(1), "messaging.client.id": "w1", "error.type": "SmtpError" },
      ...{ "mainspring.attempt": 1n, "mainspring.attempt.state": "FAILED", "mainspring.handler": "echo" },
      ...{ "mainspring.workflow.id": idOf(7), "mainspring.workflow.node": 3n },
    });
  });
});
