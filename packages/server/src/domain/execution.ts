import { type AttemptState, type ExecutionState, FINAL_STATES, type FinalState } from "@mainspring/contract/enums";
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
  /** null: it never started. */
  startedAt: EpochMs | null;
  finishedAt: EpochMs;
  error: ExecutionError | null;
}

/**
 * Where the store keeps a row that is not final: WAITING for its time, READY to run (indexed by lane and rank),
 * or HELD by a worker, its row saying RUNNING; NONE once final.
 */
export const QUEUES = ["NONE", "WAITING", "READY", "HELD"] as const;
export type Queue = (typeof QUEUES)[number];

/** The part of an execution that its shard's owner works with. Payloads are known by their size only. */
export interface Candidate {
  id: ExecutionId;
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  pool: string;
  handler: string;
  /** Sorted, without repeats. */
  requires: readonly string[];
  concurrencyKey: string | null;
  concurrencyLimit: number;
  /** Whether a unique key is to be released when it is final. */
  hasUniqueKey: boolean;
  priority: number;
  /** Smallest first; see rank.ts. */
  rank: number;
  /** When it may run next: the scheduled time at first, later the end of a backoff. */
  dueAt: EpochMs;
  scheduledAt: EpochMs;
  /** A backfill made it, then. Its planned instant is of the past: from when on it is late is this. */
  backfilledAt?: EpochMs;
  policy: ExecutionPolicy;
  /** Which version of its job's definition it is a copy of. */
  jobVersion: number;
  payloadBytes: number;
  /** Content of the row: PENDING or RUNNING (rows never say SCHEDULED; the journal does). */
  state: "PENDING" | "RUNNING";
  queue: Queue;
  attempt: number;
  failures: number;
  lost: number;
  /** First start of any attempt. */
  startedAt: EpochMs | null;
}

export function isFinal(state: ExecutionState): state is FinalState {
  return (FINAL_STATES as readonly string[]).includes(state);
}
