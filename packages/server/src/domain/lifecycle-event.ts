import type { EventKind, ExecutionState, Trigger } from "@mainspring/contract/enums";
import type { EpochMs, ExecutionId, JobId, WorkerId } from "./ids.ts";

/**
 * A change in the life of an execution or a job. Its identity is `eventId`, which is the same in every repeat of the event.
 * A field that the kind does not have, or that is not known, is null.
 */
export interface LifecycleEvent {
  kind: EventKind;
  /** Instant of the change: of a start or an end, the instant at which the attempt started or ended. */
  at: EpochMs;
  /** null: the event is about a job (JobReplaced, JobDeleted, and JobCreated of a recurring job). */
  executionId: ExecutionId | null;
  /** Job of the execution; of the execution of a node, that of its workflow's run. */
  jobId: JobId;
  /** Run of the workflow whose node the execution is. */
  workflowId: ExecutionId | null;
  /** Number of the node in its workflow. */
  node: number | null;
  /** Index of the item of a map. */
  item: number | null;
  tenant: string;
  pool: string;
  handler: string;
  trigger: Trigger | null;
  /** Number of the attempt, from 1; 0: no attempt. */
  attempt: number;
  workerId: WorkerId | null;
  /** State after the change. */
  state: ExecutionState | null;
  reason: string | null;
  scheduledAt: EpochMs | null;
  createdAt: EpochMs | null;
  startedAt: EpochMs | null;
  finishedAt: EpochMs | null;
  failures: number;
  lost: number;
  errorName: string | null;
  /** Version of the job after JobReplaced; the version that the execution is a copy of otherwise. */
  jobVersion: number;
}

/** Id of an event: that of the execution with the attempt and the kind, or that of the job with its version and the kind. */
export function eventId({ executionId, jobId, attempt, jobVersion, kind }: LifecycleEvent): string {
  return executionId === null ? `${jobId}/v${jobVersion}/${kind}` : `${executionId}/${attempt}/${kind}`;
}
