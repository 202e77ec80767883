import { create } from "@bufbuild/protobuf";
import { type Span, Span_SpanKind, SpanSchema, Status_StatusCode } from "@mainspring/proto/otlp";
import { type LifecycleEvent, tellsEnd } from "../../domain/lifecycle-event.ts";
import { idTimeMs } from "../../domain/occurrence-id.ts";
import { attemptSpan, type ExecutionSpan, executionSpan } from "../../domain/trace.ts";
import { attributesOf, nanosOf } from "./attributes.ts";

/** Bits of a span's flags: the trace is recorded; it is known whether the parent is in another process. */
const [SAMPLED, KNOWS_REMOTE, IS_REMOTE] = [0x1, 0x100, 0x200];

/** An event about an execution. */
type OfExecution = LifecycleEvent & { executionId: string };

/**
 * Spans of the events of one commit: one for each attempt that has ended, and one for each execution that is final. Equal
 * events give equal spans, and no span needs an event of another commit.
 */
export function spansOf(events: readonly LifecycleEvent[]): Span[] {
  const told = new Set<string>();
  const spans: Span[] = [];
  for (const event of events) {
    if (!isOfExecution(event) || !executionSpan(event).isSampled) continue;
    const attempt = `${event.executionId}/${event.attempt}`;
    const isOfAttempt = event.kind === "JobFailed" || event.kind === "JobSuspended";
    if (isOfAttempt) told.add(attempt);
    // The end of an execution tells its last attempt, too, and the commit of a failed or suspended one has told that before.
    const hasAttempt = isOfAttempt || (tellsEnd(event.kind) && hasRun(event) && !told.has(attempt));
    if (hasAttempt) spans.push(spanOfAttempt(event));
    if (tellsEnd(event.kind)) spans.push(spanOfExecution(event));
  }
  return spans;
}

function isOfExecution(event: LifecycleEvent): event is OfExecution {
  return event.executionId !== null;
}

/** Whether the event tells of an attempt whose handler has started. */
function hasRun({ attempt, workerId, startedAt }: LifecycleEvent): boolean {
  return attempt > 0 && workerId !== null && startedAt !== null;
}

function spanOfAttempt(event: OfExecution): Span {
  const { kind, handler, pool, executionId, attempt, workerId, startedAt, finishedAt, at, errorName, reason } = event;
  const end = finishedAt ?? at;
  const isError = kind === "JobFailed" || kind === "JobDeadLettered";
  return create(SpanSchema, {
    ...idsOf(attemptSpan(event, attempt), false),
    name: `run ${handler}`,
    kind: Span_SpanKind.CONSUMER,
    startTimeUnixNano: nanosOf(Math.min(startedAt ?? end, end)),
    endTimeUnixNano: nanosOf(end),
    attributes: attributesOf({
      "messaging.system": "mainspring",
      "messaging.operation.name": "run",
      "messaging.operation.type": "process",
      "messaging.destination.name": pool,
      "messaging.message.id": executionId,
      "messaging.client.id": workerId,
      "mainspring.attempt": attempt,
      "mainspring.attempt.state": attemptState(event),
      ...ofJob(event),
      "error.type": isError ? (errorName ?? reason) : null,
    }),
    ...(isError && { status: { code: Status_StatusCode.ERROR, message: errorName ?? reason ?? "" } }),
  });
}

function attemptState({ kind, reason }: LifecycleEvent): string | null {
  if (kind === "JobFailed") return reason;
  if (kind === "JobSuspended") return "SUSPENDED";
  if (kind === "JobCompleted") return "SUCCEEDED";
  return kind === "JobCancelled" ? "CANCELLED" : null;
}

function spanOfExecution(event: OfExecution): Span {
  const { kind, handler, executionId, scheduledAt, startedAt, finishedAt, at, errorName, reason, workflowId } = event;
  const end = finishedAt ?? at;
  // The time in the id is that of the creation; the id of a node has that of its run, and the node is planned later.
  const begin = Math.max(idTimeMs(executionId), scheduledAt ?? 0);
  const span = executionSpan(event);
  const isDead = kind === "JobDeadLettered";
  return create(SpanSchema, {
    ...idsOf(span, workflowId === null && span.parentId !== null),
    name: `execution ${handler}`,
    kind: Span_SpanKind.INTERNAL,
    startTimeUnixNano: nanosOf(Math.min(begin, startedAt ?? end, end)),
    endTimeUnixNano: nanosOf(end),
    attributes: attributesOf({
      "messaging.message.id": executionId,
      "messaging.destination.name": event.pool,
      ...ofJob(event),
      "mainspring.execution.state": event.state,
      "mainspring.execution.reason": reason,
      "mainspring.execution.attempts": event.attempt,
      "mainspring.execution.failures": event.failures,
      "mainspring.execution.lost": event.lost,
      "error.type": isDead ? (errorName ?? reason) : null,
    }),
    ...(isDead && { status: { code: Status_StatusCode.ERROR, message: reason ?? errorName ?? "" } }),
  });
}

function ofJob({ handler, jobId, workflowId, node, item }: LifecycleEvent) {
  return {
    "mainspring.handler": handler,
    "mainspring.job.id": jobId,
    "mainspring.workflow.id": workflowId,
    "mainspring.workflow.node": node,
    "mainspring.workflow.item": item,
  };
}

/** @param isRemote whether the parent is a span of another program */
function idsOf({ traceId, spanId, parentId }: ExecutionSpan, isRemote: boolean) {
  return {
    traceId: Buffer.from(traceId, "hex"),
    spanId: Buffer.from(spanId, "hex"),
    parentSpanId: Buffer.from(parentId ?? "", "hex"),
    flags: SAMPLED | KNOWS_REMOTE | (isRemote ? IS_REMOTE : 0),
  };
}
