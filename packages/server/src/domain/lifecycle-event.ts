import type { EventKind, ExecutionState, Trigger } from "@mainspring/contract/enums";
import { type AttemptState, type Candidate, type FinalState, isNode } from "./execution.ts";
import type { EpochMs, ExecutionId, JobId, WorkerId } from "./ids.ts";

/**
 * A change in the life of an execution or a job, or of a worker's session. Its identity is `eventId`, which is the same in every repeat of the event.
 * A field that the kind does not have, or that is not known, is null.
 */
export interface LifecycleEvent {
  kind: EventKind;
  /** Instant of the change: of a start or an end, the instant at which the attempt started or ended. */
  at: EpochMs;
  /**
   * null: the event is about a job: JobReplaced, JobDeleted, JobCreated of a recurring job, and JobSkipped of instants that
   * its plan has skipped, of which `scheduledAt` is the first; or about a worker.
   */
  executionId: ExecutionId | null;
  /** Job of the execution; null: the execution is that of a node, and its run has the job, or the event is about a worker. */
  jobId: JobId | null;
  /** Run of the workflow whose node the execution is. */
  workflowId: ExecutionId | null;
  /** Number of the node in its workflow. */
  node: number | null;
  /** Index of the item of a map. */
  item: number | null;
  tenant: string;
  pool: string;
  /** Empty: the event is about a worker. */
  handler: string;
  /** Known of JobCreated. */
  trigger: Trigger | null;
  /** Number of the attempt, from 1; 0: no attempt. */
  attempt: number;
  workerId: WorkerId | null;
  /** State after the change. */
  state: ExecutionState | null;
  /** Reason for the state; of JobFailed, the state in which the attempt has ended. */
  reason: string | null;
  scheduledAt: EpochMs | null;
  /** Known of JobCreated. */
  createdAt: EpochMs | null;
  /** Start of the attempt; of a workflow's run, its own. */
  startedAt: EpochMs | null;
  /** End of the attempt, or of the execution where it ends without one. */
  finishedAt: EpochMs | null;
  failures: number;
  lost: number;
  errorName: string | null;
  /** Name of the step that StepRecorded tells. */
  step: string | null;
  /** Session of the worker that WorkerRegistered and WorkerDead tell. */
  session: string | null;
  /** Version of the job after JobReplaced; the version that the execution is a copy of otherwise. */
  jobVersion: number;
  /** Traceparent by W3C that the execution keeps; null: none, or the event is about a job. */
  traceparent: string | null;
}

/**
 * Id of an event: that of the execution with the attempt and the kind, or that of the job with its version and the kind. The id
 * of skipped instants is that of the job with the first of them. A step has its name in the place of the attempt, because an
 * execution has one value of each name, whichever attempt records it. The id of a worker's event is that of the worker with its
 * session.
 */
export function eventId(event: LifecycleEvent): string {
  const { executionId, jobId, attempt, jobVersion, kind, scheduledAt, step, workerId, session } = event;
  if (session !== null) return `${workerId}/${session}/${kind}`;
  if (executionId !== null && step !== null) return `${executionId}/${kind}/${step}`;
  if (executionId !== null) return `${executionId}/${attempt}/${kind}`;
  return kind === "JobSkipped" ? `${jobId}/${scheduledAt}/${kind}` : `${jobId}/v${jobVersion}/${kind}`;
}

/** Attribute `source` of CloudEvents. */
export const EVENT_SOURCE = "/mainspring";

/** Attribute `subject` of CloudEvents: the execution, the job of an event about a job, or the worker of an event about a worker. */
export function eventSubject({ executionId, jobId, workerId }: LifecycleEvent): string {
  return executionId ?? jobId ?? workerId ?? "";
}

/** Kinds of the events that tell the end of an execution. */
export const END_KINDS: Readonly<Record<FinalState, EventKind>> = {
  SUCCEEDED: "JobCompleted",
  CANCELLED: "JobCancelled",
  SKIPPED: "JobSkipped",
  DEAD: "JobDeadLettered",
};

const ENDS: ReadonlySet<string> = new Set(Object.values(END_KINDS));

/** Whether the kind tells the end of an execution; JobSkipped of instants that a plan has skipped has no execution. */
export function tellsEnd(kind: EventKind): boolean {
  return ENDS.has(kind);
}

/**
 * Kind of the event that tells the end of an attempt.
 * @returns null: none does. A RELEASED attempt has never run, and the end of the execution tells that of a SUCCEEDED or CANCELLED one
 */
export function attemptEndKind(state: AttemptState): "JobFailed" | "JobSuspended" | null {
  if (state === "SUSPENDED") return "JobSuspended";
  return state === "FAILED" || state === "TIMED_OUT" || state === "WORKER_LOST" ? "JobFailed" : null;
}

/** Fields that most events do not have, without those that every event has. */
export const NO_EVENT_FIELDS = {
  ...{ executionId: null, jobId: null, workflowId: null, node: null, item: null, trigger: null },
  ...{ attempt: 0, workerId: null, state: null, reason: null, scheduledAt: null, createdAt: null },
  ...{ startedAt: null, finishedAt: null, failures: 0, lost: 0, errorName: null, step: null, session: null },
  traceparent: null,
} as const;

/** Fields of every event about an execution. */
export function eventFields(row: Candidate): Omit<LifecycleEvent, "kind" | "at"> {
  const ofNode = isNode(row);
  return {
    executionId: row.id,
    jobId: ofNode ? null : row.jobId,
    workflowId: ofNode ? row.jobId : null,
    node: ofNode ? (row.node ?? null) : null,
    item: row.item ?? null,
    tenant: row.tenant,
    pool: row.pool,
    handler: row.handler,
    trigger: null,
    attempt: row.attempt,
    workerId: null,
    state: row.state,
    reason: null,
    scheduledAt: row.scheduledAt,
    createdAt: null,
    startedAt: null,
    finishedAt: null,
    failures: row.failures,
    lost: row.lost,
    errorName: null,
    step: null,
    session: null,
    jobVersion: row.jobVersion,
    traceparent: row.policy.traceparent ?? null,
  };
}
