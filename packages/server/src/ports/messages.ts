import type { DelayBuckets } from "../domain/delay-buckets.ts";
import type { AttemptState, Candidate, ExecutionError, ExecutionState, FinalState } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, ShardId, WorkerId } from "../domain/ids.ts";
import type { RetryAdvice } from "../domain/retry.ts";
import type { WaitReason } from "./explanation.ts";
import type { Command } from "./store.ts";

/** The messages that roles send each other. All of them may be lost, repeated or late. */

/** The fencing token of an attempt and the shard whose owner judges it. */
export interface Token {
  shard: ShardId;
  executionId: ExecutionId;
  attempt: number;
}

// ---- to the scheduler -----------------------------------------------------------------------------------------------

export type ToScheduler =
  | { kind: "HINT"; rows: readonly HintedRow[] }
  | { kind: "COMMAND"; command: Command }
  | { kind: "ASK"; request: string; executionIds: readonly ExecutionId[] }
  /** What have you seen lately? */
  | { kind: "ASK_TALLY"; request: string }
  /** Why does it wait? `row`: what the store says of it. */
  | { kind: "EXPLAIN"; request: string; row: Candidate }
  | { kind: "WATCH"; executionId: ExecutionId; shard: ShardId }
  | { kind: "UNWATCH"; executionId: ExecutionId; shard: ShardId }
  | FromGateway;

/** A row that was just submitted. Small payloads travel along, so that they need not be read again. */
export interface HintedRow {
  row: Candidate;
  payload: Uint8Array | null;
}

export type FromGateway =
  /**
   * A worker is connected to this gateway. `holds` is complete: every attempt of the owner's shards that the worker runs,
   * has waiting, or has an unacknowledged result of. Sent when it connects, and for every worker in answer to OWNER.
   */
  | { kind: "WORKER_UP"; worker: WorkerProfile; holds: readonly HeldAttempt[] }
  /** Declared lost, by the rules of liveness.ts. What it held is not coming back. */
  | { kind: "WORKER_LOST"; workerId: WorkerId; reason: string }
  /** Takes no more work and is leaving; what it has not started comes back as RELEASED. */
  | { kind: "WORKER_DRAINING"; workerId: WorkerId }
  /** How many assignments this incarnation of the owner may have sent to the worker in all. Never falls; resent each second. */
  | { kind: "CREDIT"; workerId: WorkerId; granted: number }
  | { kind: "STARTED"; tokens: readonly StartedAttempt[] }
  | { kind: "FINISHED"; results: readonly FinishedAttempt[] };

export interface WorkerProfile {
  workerId: WorkerId;
  name: string;
  pool: string;
  handlers: readonly string[];
  capabilities: readonly string[];
  slots: number;
  prefetch: number;
}

export interface HeldAttempt extends Token {
  /** null: not started yet. */
  startedAt: EpochMs | null;
}

export interface StartedAttempt extends Token {
  workerId: WorkerId;
  startedAt: EpochMs;
}

export interface FinishedAttempt extends Token {
  workerId: WorkerId;
  /** RELEASED: handed back or never delivered; it has not run. */
  state: Exclude<AttemptState, "WORKER_LOST">;
  startedAt: EpochMs | null;
  finishedAt: EpochMs;
  /** JSON text; null unless SUCCEEDED. */
  result: Uint8Array | null;
  error: ExecutionError | null;
  advice: RetryAdvice;
}

// ---- to a gateway ---------------------------------------------------------------------------------------------------

export type ToGateway =
  /**
   * A node owns these shards from now on, under these epochs. The gateway records them, drops Assigns of older epochs
   * from then on, starts the credit of that node anew, answers with a WORKER_UP and a CREDIT for every worker and asks
   * workers for results that were not acknowledged.
   */
  | { kind: "OWNER"; shards: readonly { shard: ShardId; epoch: Epoch }[] }
  | { kind: "ASSIGN"; assigns: readonly Assignment[] }
  | { kind: "CANCEL"; workerId: WorkerId; token: Token; reason: "REQUESTED" | "TIMED_OUT"; graceMs: number }
  /** The result is durable: forget it. */
  | { kind: "ACK"; workerId: WorkerId; tokens: readonly Token[] }
  /** Not the current attempt (any more): abort it and forget it. */
  | { kind: "REFUSED"; workerId: WorkerId; tokens: readonly Token[] }
  | { kind: "LIST_WORKERS"; request: string }
  /** The worker takes no more work, hands back what it has not started, and ends. Answered by WORKERS: the one, or none. */
  | { kind: "DRAIN_WORKER"; request: string; workerId: WorkerId }
  /**
   * An api wants to hear what handlers of these executions say: what is kept beyond `after` at once, the rest when it comes.
   * Lapses after some seconds unless it is repeated, which also brings what was lost on the way.
   */
  | { kind: "FOLLOW"; follows: readonly { executionId: ExecutionId; after: number }[] }
  | { kind: "UNFOLLOW"; executionIds: readonly ExecutionId[] }
  | { kind: "ASK_PROGRESS"; request: string; executionId: ExecutionId };

export interface Assignment extends Token {
  epoch: Epoch;
  workerId: WorkerId;
  /** The gateway that the worker was connected to; another incarnation drops it. */
  gateway: Incarnation;
  /** The how-manieth assignment to this worker by this owner it is; from 1. A repeated number is dropped. */
  credit: number;
  handler: string;
  /** JSON text; null: none. */
  payload: Uint8Array | null;
  /** 0: there is no payload. */
  payloadBytes: number;
  timeoutMs: number;
  cancelGraceMs: number;
  /** 1 for the first failure budget entry: how many FAILED or TIMED_OUT attempts came before. */
  failures: number;
  maxAttempts: number;
  scheduledAt: EpochMs;
}

// ---- to the api -----------------------------------------------------------------------------------------------------

export type ToApi =
  | { kind: "LIVE"; request: string; executions: readonly LiveExecution[] }
  | { kind: "TALLY"; request: string; tally: Tally }
  | { kind: "EXPLAINED"; request: string; reasons: readonly WaitReason[] }
  | { kind: "FINAL"; executionId: ExecutionId; state: ExecutionState }
  | { kind: "COMMAND_DONE"; commandId: string; outcome: CommandOutcome }
  | { kind: "WORKERS"; request: string; workers: readonly WorkerStatus[] }
  /** The latest that the current attempt has said; null: nothing, or the gateway does not have it. */
  | { kind: "PROGRESS"; request: string; progress: Progress | null }
  /** In the order in which it was said. */
  | { kind: "CHATTER"; items: readonly Chatter[] };

/** What a handler says while it runs: nice to have, never the truth. */
export type Chatter = Progress | LogLine;

interface Said {
  executionId: ExecutionId;
  attempt: number;
  /** Grows with everything that is said of an execution, over its attempts and, about, over gateways. */
  seq: number;
  at: EpochMs;
}

export interface Progress extends Said {
  kind: "PROGRESS";
  /** 0 to 1 */
  fraction: number;
  message: string;
}

export interface LogLine extends Said {
  kind: "LOG";
  level: string;
  line: string;
}

/** Figures of one scheduler. */
export interface Tally {
  ownedShards: number;
  /** First starts of the last minute or two. */
  lateness: DelayBuckets;
  /** Since it was started. */
  finished: readonly { state: FinalState; count: number }[];
}

/** What the owner knows of an execution that is not final, beyond its row. */
export interface LiveExecution {
  executionId: ExecutionId;
  state: "PENDING" | "SCHEDULED" | "RUNNING";
  attempt: number;
  workerId: WorkerId | null;
  startedAt: EpochMs | null;
  cancelRequested: boolean;
}

/**
 * CANCELLED: it had not started. REQUESTED: its worker was told. FINAL: it was final already; the row says how.
 * REPLACED: what was not final runs by the new definition. KEPT: some of it had started, and keeps what it started with.
 * DELETED: nothing of the job waits any more.
 */
export type CommandOutcome = "CANCELLED" | "REQUESTED" | "FINAL" | "REPLACED" | "KEPT" | "DELETED";

export interface WorkerStatus extends WorkerProfile {
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  running: number;
  connectedAt: EpochMs;
  lastHeartbeatAt: EpochMs;
  /** How late the worker's own loop was at its last heartbeat. */
  loopLagMs: number;
}
