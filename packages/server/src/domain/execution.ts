import { type AttemptState, type ExecutionState, FINAL_STATES, type FinalState } from "@mainspring/contract/enums";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { EpochMs, ExecutionId, JobId, ShardId, WorkerId } from "./ids.ts";
import type { ExecutionPolicy } from "./job.ts";

export {
  ATTEMPT_STATES,
  type AttemptState,
  EXECUTION_STATES,
  type ExecutionState,
  FINAL_STATES,
  type FinalState,
  type Trigger,
} from "@mainspring/contract/enums";

/** Error of a failed attempt; `stack` is cut at 8 KiB by the worker. */
export interface ExecutionError {
  name: string;
  message: string;
  stack?: string;
}

/** An attempt that has ended, as history keeps it. */
export interface EndedAttempt {
  attempt: number;
  workerId: WorkerId;
  state: AttemptState;
  /** null: the attempt never started. */
  startedAt: EpochMs | null;
  finishedAt: EpochMs;
  error: ExecutionError | null;
}

/**
 * Queue of a row in the store: WAITING for its due time, READY to run (indexed by lane and rank), or HELD by a worker
 * while the row says RUNNING; NONE once final. OPEN: the row of a workflow run that has begun, which says RUNNING and has
 * no worker. PARKED: a node that its run keeps from starting. No read of due or ready work finds it.
 */
export const QUEUES = ["NONE", "WAITING", "READY", "HELD", "OPEN", "PARKED"] as const;
export type Queue = (typeof QUEUES)[number];

/** Mark of an execution that has records of handlers or signals; see `Candidate.steps`. */
export type StepsMark = "RECORDED" | "SLEEPING" | "AWAITING";

/** `Candidate.node` of the row of a workflow run. */
export const RUN_NODE = -1;

/** The part of an execution that its shard's owner works with. It contains the size of the payload, not the payload. */
export interface Candidate {
  id: ExecutionId;
  /** Job of the execution; for the execution of a node: the id of its run. */
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  pool: string;
  handler: string;
  /** Sorted, without repeats. */
  requires: readonly string[];
  concurrencyKey: string | null;
  concurrencyLimit: number;
  /** Whether the execution holds a unique key, which is released when it is final. */
  hasUniqueKey: boolean;
  priority: number;
  /** Rank of the execution, smallest first; see rank.ts. */
  rank: number;
  /**
   * Time at which the execution may run next: the scheduled time at first, later the end of a backoff. Deadline of a
   * workflow run.
   */
  dueAt: EpochMs;
  scheduledAt: EpochMs;
  /**
   * Time at which a backfill created the execution; left out: no backfill did. Its planned instant lies in the past, so
   * its lateness counts from this time.
   */
  backfilledAt?: EpochMs;
  policy: ExecutionPolicy;
  /** Version of the job's definition that the execution is a copy of. */
  jobVersion: number;
  payloadBytes: number;
  /** Content of the row: PENDING or RUNNING (rows never say SCHEDULED; the journal does). */
  state: "PENDING" | "RUNNING";
  queue: Queue;
  attempt: number;
  failures: number;
  lost: number;
  /** First start of any attempt; null: none has started. */
  startedAt: EpochMs | null;
  /**
   * RECORDED: the execution has records of handlers, or signals. SLEEPING and AWAITING: so it has, and it is PENDING until
   * `dueAt` because its last attempt suspended; a signal ends the waiting of an AWAITING one. Left out: it has none.
   */
  steps?: StepsMark;
  /** Number of the node of a workflow that the execution runs, from 0; RUN_NODE: the row of a run. Left out: a job's execution. */
  node?: number;
  /** Index of the item of a map that the execution runs, from 0. Left out: the node is no map. */
  item?: number;
}

/** Whether the execution is that of a node of a workflow. */
export function isNode({ node }: Pick<Candidate, "node">): boolean {
  return node !== undefined && node !== RUN_NODE;
}

/**
 * Whether the execution is that of a node with a concurrency key. It is in the shard of its key, whose owner does not know
 * the run: commands tell each owner what concerns it.
 */
export function isKeyedNode(row: Pick<Candidate, "node" | "concurrencyKey">): boolean {
  return isNode(row) && row.concurrencyKey !== null;
}

/** Whether the execution is that of a node whose run has the same owner, because both are in one shard. */
export function isNodeBesideRun(row: Pick<Candidate, "node" | "concurrencyKey">): boolean {
  return isNode(row) && row.concurrencyKey === null;
}

/** Whether the execution is a run of a workflow, or of a sub-workflow. */
export function isRun(row: Pick<Candidate, "node" | "handler">): boolean {
  return row.node === RUN_NODE || isChildRun(row);
}

/**
 * Whether the execution is that of a node which runs a sub-workflow. It is a node of its parent and a run of its own nodes
 * at once, so no second execution can disagree with it.
 */
function isChildRun(row: Pick<Candidate, "node" | "handler">): boolean {
  return isNode(row) && row.handler === SUB_WORKFLOW_HANDLER;
}

export function isFinal(state: ExecutionState): state is FinalState {
  return (FINAL_STATES as readonly string[]).includes(state);
}

export type RankCursor = Pick<Candidate, "rank" | "id">;
