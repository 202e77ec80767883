import { type Candidate, isNode } from "./execution.ts";
import { type ExecutionId, fnv1a } from "./ids.ts";
import type { ExecutionPolicy, JobDefinition } from "./job.ts";

/**
 * Trace context by W3C: ids of spans that follow from ids of executions, so that every server and every repeat names the same
 * span. The ids are part of what other systems store, so the functions must never change.
 */

/** Span in a trace, in hexadecimal digits of lower case. */
export interface SpanContext {
  /** 32 digits, not all 0. */
  traceId: string;
  /** 16 digits, not all 0. */
  spanId: string;
  /** Whether the trace is recorded. */
  isSampled: boolean;
}

/** Spans of an execution, or of one of its attempts. */
export interface ExecutionSpan extends SpanContext {
  /** Span that the span is a part of; null: the span is the first one of its trace. */
  parentId: string | null;
}

/** Facts about an execution from which its spans follow. */
interface Traced {
  executionId: ExecutionId;
  /** Run of whose node the execution is; null: a job's execution. */
  workflowId: ExecutionId | null;
  /** Text by `keptTraceparent`; null or left out: none. */
  traceparent?: string | null;
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;
const [HIGH_SEED, LOW_SEED] = [0x6d61696e, 0x73707261];

/**
 * The value of a header `traceparent` in the form in which jobs keep it.
 * @returns undefined: no valid traceparent, which W3C says to ignore
 */
export function keptTraceparent(text: string | undefined): string | undefined {
  const context = text === undefined ? null : spanContextOf(text);
  return context === null ? undefined : traceparentOf(context);
}

/** @returns null: the text is no valid traceparent */
export function spanContextOf(text: string): SpanContext | null {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(text.trim()) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return null;
  if (isZero(traceId) || isZero(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

export function traceparentOf({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/**
 * Span of an execution as a whole. Its trace is that of its submitter; without one, that of its run or its own, whose id is the
 * UUID.
 */
export function executionSpan({ executionId, workflowId, traceparent = null }: Traced): ExecutionSpan {
  const kept = traceparent === null ? null : spanContextOf(traceparent);
  return {
    traceId: kept?.traceId ?? (workflowId ?? executionId).replaceAll("-", ""),
    spanId: spanIdOf(executionId, 0),
    parentId: workflowId === null ? (kept?.spanId ?? null) : spanIdOf(workflowId, 0),
    isSampled: kept?.isSampled ?? true,
  };
}

/** Span of an attempt: a part of the execution's. @param attempt from 1 */
export function attemptSpan(traced: Traced, attempt: number): ExecutionSpan {
  const { traceId, spanId: parentId, isSampled } = executionSpan(traced);
  return { traceId, spanId: spanIdOf(traced.executionId, attempt), parentId, isSampled };
}

/**
 * Traceparent for the handler of an execution's current attempt.
 * @param isExporting whether the servers export spans. If they do not, no trace has a span of the attempt, so the handler's
 *   parent is the submitter's span
 * @returns undefined: the handler is in no trace
 */
export function handlerTraceparent(row: Candidate, isExporting: boolean): string | undefined {
  return isExporting ? traceparentOf(attemptSpan(tracedOf(row), row.attempt)) : row.policy.traceparent;
}

/**
 * Traceparent that the executions of a run's nodes keep.
 * @returns undefined: their trace follows from their ids
 */
export function nodesTraceparent(run: Candidate, isExporting: boolean): string | undefined {
  // The trace of a sub-workflow is that of the outermost run, whose id the nodes do not know.
  const isInner = isExporting && isNode(run);
  return run.policy.traceparent ?? (isInner ? traceparentOf(executionSpan(tracedOf(run))) : undefined);
}

/**
 * The definition of a job that a request with this header asks for. A job that recurs keeps no traceparent: each of its
 * executions has a trace of its own, because a trace that never ends is of no use.
 * @param header value of the request's `traceparent`; one that is not valid counts as none
 */
export function tracedDefinition(definition: JobDefinition, header: string | undefined): JobDefinition {
  const traceparent = definition.recurrence === null ? keptTraceparent(header) : undefined;
  return traceparent === undefined ? definition : { ...definition, policy: { ...definition.policy, traceparent } };
}

/** The policy with the traceparent; the same object if there is none. */
export function tracedPolicy(policy: ExecutionPolicy, traceparent: string | undefined): ExecutionPolicy {
  return traceparent === undefined ? policy : { ...policy, traceparent };
}

function tracedOf(row: Candidate): Traced {
  const { id: executionId, jobId, policy } = row;
  return { executionId, workflowId: isNode(row) ? jobId : null, traceparent: policy.traceparent ?? null };
}

/** @param attempt 0: the execution as a whole */
function spanIdOf(id: ExecutionId, attempt: number): string {
  const text = `${id}/${attempt}`;
  const digits = `${hex(fnv1a(text, HIGH_SEED))}${hex(fnv1a(text, LOW_SEED))}`;
  return isZero(digits) ? digits.replace(/0$/, "1") : digits;
}

function hex(value: number): string {
  return value.toString(16).padStart(8, "0");
}

function isZero(digits: string): boolean {
  return /^0+$/.test(digits);
}
