import type { DelayBuckets } from "../domain/delay-buckets.ts";
import type { AttemptState, Candidate, ExecutionError, ExecutionState, FinalState } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { PlannedOutcome } from "../domain/recurrence.ts";
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
  /** A recurring job was submitted, and fires soon. */
  | { kind: "PLANNED"; shard: ShardId; jobId: JobId }
  | { kind: "ASK"; request: string; executionIds: readonly ExecutionId[] }
  /** Asks for the counts of the last seconds. */
  | { kind: "ASK_TALLY"; request: string }
  /** Why does it wait? `row`: what the store says of it. */
  | { kind: "EXPLAIN"; request: string; row: Candidate }
  | { kind: "WATCH"; executionId: ExecutionId; shard: ShardId }
  | { kind: "UNWATCH"; executionId: ExecutionId; shard: ShardId }
  | PermitCall
  | PermitAnswer
  /** Asks a home for the use of its pools' limits. */
  | { kind: "ASK_POOLS"; request: string }
  /** Read the settings of all pools anew and go by them. Answered by POOLS_APPLIED; not answered while that is impossible. */
  | { kind: "APPLY_POOLS"; request: string }
  | FromGateway;

/**
 * Message of a machine to the home of a pool with limits: at once when it has news, and again each second. Numbers only
 * grow while an account is open: lost and repeated messages change nothing.
 */
export interface PermitCall {
  kind: "PERMIT_CALL";
  pool: string;
  /**
   * Epoch of the pool's home shard, as far as the caller knows; its account is with that one. 0: the caller knows none.
   */
  epoch: Epoch;
  /** Life of the caller's machine; each life has accounts of its own. */
  life: number;
  /** Grows: a machine opens another whenever its shards change, or its home. */
  account: number;
  /** Permits with which the account began; null once the home has answered under it. */
  opening: PermitOpening | null;
  /** Grows with each call: an older one does not say what is wanted now. */
  seq: number;
  /** Permits that were given back in all. */
  returned: number;
  /** How many more could be started at once, and the rank of the most urgent. */
  wanted: number;
  rank: number;
  /** The caller's time; comes back with the answer. */
  at: EpochMs;
}

export interface PermitOpening {
  /** Permits that its attempts have, and those that it has beside them. */
  held: number;
  /** All that it owns: what is granted may be used in these. */
  shards: readonly OwnedShard[];
  /** Attempts that were current in shards when it lost them. */
  departed: readonly (OwnedShard & { count: number })[];
}

/** The home's word to one account. */
export interface PermitAnswer {
  kind: "PERMITS";
  pool: string;
  /** Epoch of the home shard; a machine that hears of a later one opens an account with that. */
  epoch: Epoch;
  life: number;
  account: number;
  /** false: the home has no such account; the caller is to open another. */
  isKnown: boolean;
  /** Permits in all, with those that the account began with. */
  granted: number;
  /** Whether unused permits and permits that become free go back: another machine waits, or the limit was lowered. */
  giveBack: boolean;
  /** Grows with each answer to the account. */
  serial: number;
  /** Starts that a rate allows, to be used at once or never. */
  starts: number;
  /** `at` of the last call that was taken. */
  at: EpochMs;
  /** The limit by which the home has granted them; null: none. Older nodes do not say. */
  maxRunning?: number | null;
  /** Figures for people: permits that are out or may be, whether all owners have said what they hold, */
  taken: number;
  isComplete: boolean;
  /** and how long it is until the rate allows a start; null: there is no rate. */
  nextStartMs: number | null;
}

/** A row that was just submitted. Small payloads travel along, so that they need not be read again. */
export interface HintedRow {
  row: Candidate;
  payload: Uint8Array | null;
}

/**
 * Messages of gateways to the owners of shards. `term`: the last one that this owner announced to the gateway
 * (`OWNER`); what was said in an older term does not know of all shards that the owner has now, and is ignored.
 */
export type FromGateway =
  /**
   * A worker is connected to this gateway. `holds` is complete: every attempt of the owner's shards that the worker runs,
   * has waiting, or has an unacknowledged result of. Sent when it connects, and in answer to a new term and to WHO.
   */
  | {
      kind: "WORKER_UP";
      term: number;
      worker: WorkerProfile;
      /** The how-manieth connection of the worker it is, at any gateway: the highest one says where it is. */
      connection: number;
      /** Assignments under older accounts are not delivered any more. */
      account: number;
      holds: readonly HeldAttempt[];
      /**
       * Whether the worker itself has answered, under the owner's present epochs: attempts of older epochs that it does not name
       * were never taken, and never will be. Older nodes do not say.
       */
      isAnswer?: boolean;
    }
  /** These workers have no connection to this gateway, nor one that broke a moment ago. The answer to WHO with `askedAt`. */
  | { kind: "ABSENT"; askedAt: EpochMs; workerIds: readonly WorkerId[] }
  /**
   * Declared lost, by the rules of liveness.ts. Attempts that the worker held over that connection do not come back.
   */
  | { kind: "WORKER_LOST"; workerId: WorkerId; connection: number; reason: string }
  /** Takes no more work and is leaving; what it has not started comes back as RELEASED. */
  | { kind: "WORKER_DRAINING"; workerId: WorkerId }
  /**
   * Credits lent to the owner. `roll`: of every worker of this gateway, once a second; else of those where it changed.
   */
  | { kind: "CREDITS"; term: number; roll: boolean; credits: readonly Credit[] }
  /** Give back what you cannot use of these workers: another owner has work that waits for them. */
  | { kind: "RECALL"; term: number; workers: readonly { workerId: WorkerId; account: number }[] }
  | { kind: "STARTED"; tokens: readonly StartedAttempt[] }
  | { kind: "FINISHED"; results: readonly FinishedAttempt[] };

/**
 * Credit of one worker for one owner. Counters only grow while the account is open: lost and repeated messages change
 * nothing.
 */
export interface Credit {
  workerId: WorkerId;
  /** Grows with every account that the gateway opens; a new one starts from 0. */
  account: number;
  /** How many assignments the owner may have sent in all. */
  granted: number;
  /** The highest number of an assignment that came, and the lower ones that did not (in a roll; else empty). */
  highest: number;
  missing: readonly number[];
  /** Slots of the worker that nothing occupies, in a roll. Older nodes do not say. */
  free?: number;
  /** Slots of handlers that still run although their attempts are over, in a roll. Older nodes do not say. */
  stuck?: number;
}

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
   * A node owns these shards, all of them, under these epochs; said when it has taken any over, and repeated each second.
   * The gateway records the epochs before all else, and drops Assigns of older ones from then on. To a new `term` (they grow
   * within an incarnation, with every takeover) it answers with a WORKER_UP of every worker that holds attempts of the shards
   * that came, which it asks for results that were not acknowledged, and with a roll of all. `life`: the term in which the
   * owner began with nothing in memory; a new one begins new accounts, and each worker is introduced.
   */
  | { kind: "OWNER"; term: number; life: number; shards: readonly OwnedShard[]; demand: readonly Demand[] }
  /** Pools for which the owner has ready work and no credit, in full; said when that changes. */
  | { kind: "DEMAND"; term: number; demand: readonly Demand[] }
  /** Numbers of assignments that were not and will not be sent: their slots are free. */
  | { kind: "VOID"; workerId: WorkerId; account: number; credits: readonly number[] }
  /**
   * Introduce these workers (again). With `askedAt`, the owner's time, the gateway first asks each worker what it holds, and
   * answers ABSENT for workers that it does not have.
   */
  | { kind: "WHO"; workerIds: readonly WorkerId[]; askedAt?: EpochMs }
  /** Another worker has a free slot for these attempts: the worker hands back those that have not started. */
  | { kind: "TAKE_BACK"; workerId: WorkerId; tokens: readonly Token[] }
  | { kind: "ASSIGN"; assigns: readonly Assignment[] }
  | { kind: "CANCEL"; workerId: WorkerId; token: Token; reason: "REQUESTED" | "TIMED_OUT"; graceMs: number }
  /** The result is durable: forget it. */
  | { kind: "ACK"; workerId: WorkerId; tokens: readonly Token[] }
  /** The attempt is not current (any more): the worker aborts and forgets it. */
  | { kind: "REFUSED"; workerId: WorkerId; tokens: readonly Token[] }
  /** `workerId`: that worker alone, with the attempts that it holds. Older nodes answer with all workers, without attempts. */
  | { kind: "LIST_WORKERS"; request: string; workerId?: WorkerId }
  /** The worker takes no more work, hands back what it has not started, and ends. Answered by WORKERS: the one, or none. */
  | { kind: "DRAIN_WORKER"; request: string; workerId: WorkerId }
  /**
   * An api wants to hear what handlers of these executions say: what is kept beyond `after` at once, the rest when it comes.
   * Lapses after some seconds unless it is repeated, which also brings what was lost on the way.
   */
  | { kind: "FOLLOW"; follows: readonly { executionId: ExecutionId; after: number }[] }
  | { kind: "UNFOLLOW"; executionIds: readonly ExecutionId[] }
  | { kind: "ASK_PROGRESS"; request: string; executionId: ExecutionId };

export interface OwnedShard {
  shard: ShardId;
  epoch: Epoch;
}

/** Work that waits for a free slot. `rank`: of the most urgent. */
export interface Demand {
  pool: string;
  rank: number;
}

export interface Assignment extends Token {
  epoch: Epoch;
  workerId: WorkerId;
  /** The gateway that the worker was connected to; another incarnation drops it. */
  gateway: Incarnation;
  /** Account under which the credit was lent; the gateway drops an assignment of another account. */
  account: number;
  /** The how-manieth assignment under this account it is; from 1. A repeated number is dropped. */
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
  /** As to gateways: who is to be asked and told about these shards. */
  | { kind: "OWNER"; term: number; shards: readonly OwnedShard[] }
  | { kind: "LIVE"; request: string; executions: readonly LiveExecution[] }
  | { kind: "TALLY"; request: string; tally: Tally }
  | { kind: "EXPLAINED"; request: string; reasons: readonly WaitReason[] }
  | { kind: "POOLS_USED"; request: string; pools: readonly PoolUse[] }
  /**
   * The owner of these shards goes by settings of pools that it read after it was asked, and each assignment that it made by
   * older ones is durable.
   */
  | { kind: "POOLS_APPLIED"; request: string; shards: readonly OwnedShard[] }
  | { kind: "FINAL"; executionId: ExecutionId; state: ExecutionState }
  | { kind: "COMMAND_DONE"; commandId: string; outcome: CommandOutcome }
  | { kind: "WORKERS"; request: string; workers: readonly WorkerStatus[] }
  /** The latest that the current attempt has said; null: nothing, or the gateway does not have it. */
  | { kind: "PROGRESS"; request: string; progress: Progress | null }
  /** In the order in which it was said. */
  | { kind: "CHATTER"; items: readonly Chatter[] };

/** Progress and log lines of a running handler: nice to have, never the truth. */
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
  /** Planned instants of recurring jobs that were accounted for since then. Older nodes do not say. */
  planned?: readonly { outcome: PlannedOutcome; count: number }[];
  /** When that fell due which has waited longest for a worker, of what is in memory; null: nothing waits. Older nodes do not say. */
  oldestReadyAt?: EpochMs | null;
}

/** Use of a pool's limits, reported by its home. */
export interface PoolUse {
  pool: string;
  /** Permits that are out: current attempts, and the few that wait to be used. */
  taken: number;
  /** When the rate allows the next start; null: there is no rate. */
  nextStartAt: EpochMs | null;
}

/** The owner's knowledge of an execution that is not final, beyond its row. */
export interface LiveExecution {
  executionId: ExecutionId;
  state: "PENDING" | "SCHEDULED" | "RUNNING";
  attempt: number;
  workerId: WorkerId | null;
  startedAt: EpochMs | null;
  /** Time at which the present attempt was assigned, or started where it runs; null: there is none. Left out by the release before. */
  since?: EpochMs | null;
  cancelRequested: boolean;
}

/**
 * CANCELLED: it had not started. REQUESTED: its worker was told. FINAL: it was final already; the row says how.
 * REPLACED: what was not final runs by the new definition. KEPT: some of it had started, and keeps what it started with.
 * DELETED: nothing of the job waits any more. PLANNED: the plan follows. NOT_PLANNED: it had ended. BACKFILL_OPEN: one at a time.
 */
export type CommandOutcome =
  | "CANCELLED"
  | "REQUESTED"
  | "FINAL"
  | "REPLACED"
  | "KEPT"
  | "DELETED"
  | "PLANNED"
  | "NOT_PLANNED"
  | "BACKFILL_OPEN";

export interface WorkerStatus extends WorkerProfile {
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  running: number;
  /** Slots that nothing occupies. Older nodes do not say. */
  free?: number;
  /** Slots of handlers that still run although their attempts are over. Older nodes do not say. */
  stuck?: number;
  connectedAt: EpochMs;
  lastHeartbeatAt: EpochMs;
  /** How late the worker's own loop was at its last heartbeat. */
  loopLagMs: number;
  /** Attempts that the worker holds, a bounded number; only where this one worker was asked for. Older nodes do not say. */
  executions?: readonly WorkerExecution[];
  /** Number of all attempts that the worker holds, with those that `executions` leaves out. */
  executionsTotal?: number;
}

/** An attempt that occupies a slot of a worker or waits for one there. */
export interface WorkerExecution {
  executionId: ExecutionId;
  attempt: number;
  /** null: the gateway knows the attempt from the worker's hello alone. */
  handler: string | null;
  /** STUCK: the attempt is over, but its handler still runs and keeps its slot. */
  state: "WAITING" | "RUNNING" | "STUCK";
  /** null: the handler has not started, or the time of its start is not known. */
  startedAt: EpochMs | null;
}
