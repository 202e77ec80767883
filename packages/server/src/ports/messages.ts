import type { DelayBuckets } from "../domain/delay-buckets.ts";
import type { AttemptState, Candidate, ExecutionError, ExecutionState, FinalState } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { PlannedOutcome } from "../domain/recurrence.ts";
import type { RetryAdvice } from "../domain/retry.ts";
import type { ToldSeries } from "../domain/series/figures.ts";
import type { WaitReason } from "./explanation.ts";
import type { HandlerOutput, Progress } from "./handler-output.ts";
import type { HandlerOffer } from "./handler-policies.ts";
import type { Demand, ToldShare } from "./share-messages.ts";
import type { DurableStep, ReportedStep, ReportedWait, Spawned } from "./step-messages.ts";
import type { Command } from "./store-commands.ts";
import type { LogPart } from "./store-logs.ts";

export type { HandlerOutput, LogLine, Progress } from "./handler-output.ts";

/** Messages between roles. Each of them may be lost, repeated or late. */
/** Fencing token of an attempt, with the shard whose owner decides about the attempt. */
export interface Token {
  shard: ShardId;
  executionId: ExecutionId;
  attempt: number;
}

// ---- to the scheduler -----------------------------------------------------------------------------------------------

export type ToScheduler =
  | { kind: "HINT"; rows: readonly HintedRow[] }
  | { kind: "COMMAND"; command: Command }
  /** A recurring job was submitted whose first instant is near. */
  | { kind: "PLANNED"; shard: ShardId; jobId: JobId }
  | { kind: "ASK"; request: string; executionIds: readonly ExecutionId[] }
  /** Asks for the scheduler's statistics. Answered by TALLY. */
  | { kind: "ASK_TALLY"; request: string }
  /** Asks why an execution waits. `row`: its row in the store. Answered by EXPLAINED. */
  | { kind: "EXPLAIN"; request: string; row: Candidate }
  | { kind: "WATCH"; executionId: ExecutionId; shard: ShardId }
  | { kind: "UNWATCH"; executionId: ExecutionId; shard: ShardId }
  | PermitCall
  | PermitAnswer
  /** Asks a coordinator for the use of its pools' limits. Answered by POOLS_USED. */
  | { kind: "ASK_POOLS"; request: string }
  /** Makes an owner read all pool settings again and apply them. Answered by POOLS_APPLIED, once that is done. */
  | { kind: "APPLY_POOLS"; request: string }
  /** Attempts that the sender has had in the last second, by pool and tenant. Sent to the other schedulers once a second. */
  | { kind: "SHARES"; shares: readonly ToldShare[] }
  | FromGateway;

/**
 * Message of a machine to the coordinator of a pool with limits, sent when something changes and once a second. Numbers
 * only grow while an account is open, so a lost or repeated message changes nothing.
 */
export interface PermitCall {
  kind: "PERMIT_CALL";
  pool: string;
  /** Epoch of the coordinator shard that the caller's account is with; 0: the caller knows none. */
  epoch: Epoch;
  /** Life of the caller's machine. Each life has accounts of its own. */
  life: number;
  /** Number of the account. A machine opens another account when its shards or its coordinator change. */
  account: number;
  /** Content of the account when it was opened; null once the coordinator has answered under it. */
  opening: PermitOpening | null;
  /** Grows with each call. An older call does not count, because it does not say what the machine wants now. */
  seq: number;
  /** Number of all permits that the account has given back. */
  returned: number;
  /** Number of further executions that could start now, and the rank of the most urgent one. */
  wanted: number;
  rank: number;
  /** The caller's time, which the answer repeats. */
  at: EpochMs;
}

export interface PermitOpening {
  /** Permits in use by the machine's attempts, plus its unused permits. */
  held: number;
  /** All shards of the machine. Its attempts in these shards may use the permits. */
  shards: readonly OwnedShard[];
  /** Attempts that were current in shards when the machine lost them. */
  departed: readonly (OwnedShard & { count: number })[];
}

/** Answer of the coordinator to one account. */
export interface PermitAnswer {
  kind: "PERMITS";
  pool: string;
  /** Epoch of the coordinator shard. A machine that receives a later one opens a new account with it. */
  epoch: Epoch;
  life: number;
  account: number;
  /** false: the coordinator has no such account, so the caller opens another one. */
  isKnown: boolean;
  /** Number of all permits granted, including those that the account began with. */
  granted: number;
  /** Whether the machine gives permits back: another machine waits, or the limit was lowered. */
  giveBack: boolean;
  /** Number of the answer; grows within an account. */
  serial: number;
  /** Starts that the pool's rate allows. They expire if they are not used at once. */
  starts: number;
  /** `at` of the last call that the coordinator has applied. */
  at: EpochMs;
  /** Limit by which the coordinator granted the permits; null: no limit. Older nodes leave it out. */
  maxRunning?: number | null;
  /** For display: upper bound of the permits in use, and whether all owners have declared theirs. */
  taken: number;
  isComplete: boolean;
  /** For display: milliseconds until the rate allows a start; null: the pool has no rate. */
  nextStartMs: number | null;
}

/** A row that was just submitted. A small payload comes with the row, so that nobody reads it again. */
export interface HintedRow {
  row: Candidate;
  payload: Uint8Array | null;
}

/**
 * Messages of gateways to the owners of shards. `term`: the last one that this owner announced to the gateway
 * (`OWNER`). The owner ignores messages of an older term, because they do not cover all shards that it owns now.
 */
export type FromGateway =
  /**
   * A worker is connected to this gateway. `holds` is complete: every attempt of the owner's shards that the worker
   * runs, has waiting, or has an unacknowledged result of. Sent when a worker connects, and as answer to a new term and
   * to WHO.
   */
  | {
      kind: "WORKER_UP";
      term: number;
      worker: WorkerProfile;
      /** Number of the worker's connection, counted over all gateways. The highest one tells where the worker is. */
      connection: number;
      /** Number of the owner's account. The gateway delivers no assignments of older accounts. */
      account: number;
      holds: readonly HeldAttempt[];
      /**
       * Whether the worker itself has answered, under the owner's present epochs. It then has no other attempts of
       * older epochs, and will not start them. Left out by older nodes.
       */
      isAnswer?: boolean;
    }
  /** Workers without a connection to this gateway, now and shortly before. Answers the WHO with `askedAt`. */
  | { kind: "ABSENT"; askedAt: EpochMs; workerIds: readonly WorkerId[] }
  /** A worker is lost by the rules of liveness.ts. Attempts held over that connection do not come back. */
  | { kind: "WORKER_LOST"; workerId: WorkerId; connection: number; reason: string }
  /** A worker takes no more work and ends. Attempts that it has not started come back as RELEASED. */
  | { kind: "WORKER_DRAINING"; workerId: WorkerId }
  /** Credits of the owner. `roll`: a full sync of all workers, sent once a second; else only changed ones. */
  | { kind: "CREDITS"; term: number; roll: boolean; credits: readonly Credit[] }
  /** Asks the owner to give back unusable credits of these workers, because another owner has waiting work. */
  | { kind: "RECALL"; term: number; workers: readonly { workerId: WorkerId; account: number }[] }
  | { kind: "STARTED"; tokens: readonly StartedAttempt[] }
  | { kind: "FINISHED"; results: readonly FinishedAttempt[] }
  /** Records of handlers. Sent only where every node has the feature DURABLE_STEPS. Answered by STEPPED or REFUSED. */
  | { kind: "STEPS"; steps: readonly ReportedStep[] };

/**
 * Credit of one worker for one owner. Counters only grow within an account, so lost and repeated messages are harmless.
 */
export interface Credit {
  workerId: WorkerId;
  /** Number of the account; grows with every account that the gateway opens. A new account starts from 0. */
  account: number;
  /** Highest number of an assignment that the owner may send. */
  granted: number;
  /** Highest number of an assignment that arrived, and in a full sync the lower numbers that did not arrive. */
  highest: number;
  missing: readonly number[];
  /** Free slots of the worker, in a full sync. Left out by older nodes. */
  free?: number;
  /** Slots of handlers that still run after the end of their attempts, in a full sync. Left out by older nodes. */
  stuck?: number;
  /** Number of attempts that may wait at a worker with automatic prefetch. Left out for other workers. */
  ahead?: number;
}

export interface WorkerProfile {
  workerId: WorkerId;
  name: string;
  pool: string;
  handlers: readonly string[];
  capabilities: readonly string[];
  slots: number;
  /** Number of attempts that may wait at the worker; 0 with `autoPrefetch`, but in a status the present number. */
  prefetch: number;
  /** Whether the gateway measures how many attempts may wait at the worker. Left out: `prefetch` says it. */
  autoPrefetch?: boolean;
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
  /** RELEASED: the attempt was handed back or never delivered, and has not run. */
  state: Exclude<AttemptState, "WORKER_LOST">;
  startedAt: EpochMs | null;
  finishedAt: EpochMs;
  /** JSON text; null unless SUCCEEDED. */
  result: Uint8Array | null;
  error: ExecutionError | null;
  advice: RetryAdvice;
  /** Waits of a SUSPENDED attempt, at least one; left out otherwise. */
  waits?: readonly ReportedWait[];
  /** Branch that the handler of a workflow's node named; left out: none. */
  branch?: string;
  /** Nodes that the handler of a workflow's node adds to its run; left out: none. */
  spawn?: Spawned;
}

// ---- to a gateway ---------------------------------------------------------------------------------------------------

export type ToGateway =
  /**
   * A node owns exactly these shards, under these epochs. Sent after a takeover, and repeated each second. The gateway
   * first records the epochs, and from then on drops Assigns of older ones. A new `term` (terms grow within an
   * incarnation, with every takeover) is answered with a WORKER_UP of every worker that holds attempts of the new
   * shards, and with a full sync. The gateway also asks these workers for unacknowledged results. `life`: the term in
   * which the owner began with an empty memory. A new life begins new accounts, and each worker is introduced.
   */
  | { kind: "OWNER"; term: number; life: number; shards: readonly OwnedShard[]; demand: readonly Demand[] }
  /** All pools for which the owner has ready work and no credit. Sent when that changes. */
  | { kind: "DEMAND"; term: number; demand: readonly Demand[] }
  /** Numbers of assignments that were not and will not be sent, so their slots are free. */
  | { kind: "VOID"; workerId: WorkerId; account: number; credits: readonly number[] }
  /**
   * Asks for a WORKER_UP of each of these workers. With `askedAt`, the owner's time, the gateway first asks each worker
   * what it holds, and answers ABSENT for workers that are not connected.
   */
  | { kind: "WHO"; workerIds: readonly WorkerId[]; askedAt?: EpochMs }
  /** Another worker has a free slot for these attempts, so this one hands back those that it has not started. */
  | { kind: "TAKE_BACK"; workerId: WorkerId; tokens: readonly Token[] }
  | { kind: "ASSIGN"; assigns: readonly Assignment[] }
  | { kind: "CANCEL"; workerId: WorkerId; token: Token; reason: "REQUESTED" | "TIMED_OUT"; graceMs: number }
  /** The results are durable, so the worker forgets them. */
  | { kind: "ACK"; workerId: WorkerId; tokens: readonly Token[] }
  /** These records are durable. */
  | { kind: "STEPPED"; workerId: WorkerId; steps: readonly DurableStep[] }
  /** The attempts are not current, so the worker aborts and forgets them. */
  | { kind: "REFUSED"; workerId: WorkerId; tokens: readonly Token[] }
  /** `workerId`: only this worker, with its attempts. Older nodes list all workers, without attempts. */
  | { kind: "LIST_WORKERS"; request: string; workerId?: WorkerId }
  /** Which handlers the workers of the gateway offer. Sent only where every node has the feature HANDLER_OFFERS. */
  | { kind: "LIST_HANDLERS"; request: string }
  /** Makes a worker take no more work, hand back what it has not started, and end. Answered by WORKERS. */
  | { kind: "DRAIN_WORKER"; request: string; workerId: WorkerId }
  /**
   * An api subscribes to the handler output of these executions: kept output after `after` at once, new output as it
   * comes. It expires after some seconds. A repeated FOLLOW renews it and brings lost items. The gateway leaves out the output of
   * workers that belong to a tenant other than `tenant`, the one of the execution.
   */
  | { kind: "FOLLOW"; follows: readonly { executionId: ExecutionId; after: number; tenant?: string }[] }
  | { kind: "UNFOLLOW"; executionIds: readonly ExecutionId[] }
  | { kind: "ASK_PROGRESS"; request: string; executionId: ExecutionId; tenant?: string }
  /** Asks for the log lines of an attempt that are in the gateway's memory. Sent only where every node has LOG_LINES. */
  | { kind: "ASK_LOGS"; request: string; executionId: ExecutionId; attempt: number; tenant?: string }
  | { kind: "KEYS_CHANGED" };

export interface OwnedShard {
  shard: ShardId;
  epoch: Epoch;
}

export interface Assignment extends Token {
  epoch: Epoch;
  workerId: WorkerId;
  /** Gateway that the worker was connected to. Another incarnation drops the assignment. */
  gateway: Incarnation;
  /** Account of the credit. The gateway drops an assignment of another account. */
  account: number;
  /** Number of the assignment under this account, from 1. The gateway drops a repeated number. */
  credit: number;
  handler: string;
  /** JSON text; null: no payload. */
  payload: Uint8Array | null;
  /** 0: no payload. */
  payloadBytes: number;
  timeoutMs: number;
  cancelGraceMs: number;
  /** Number of earlier attempts that ended as FAILED or TIMED_OUT. */
  failures: number;
  maxAttempts: number;
  scheduledAt: EpochMs;
  /** Records of earlier attempts, a `RecordedSteps` of the worker protocol; null: not read yet. Left out: there are none. */
  steps?: Uint8Array | null;
  /** Whether the handler may add nodes to the run of its node. Left out: it may not. */
  maySpawn?: true;
  /** Traceparent by W3C for the handler. Left out: the handler is in no trace. */
  traceparent?: string;
}

// ---- to the api -----------------------------------------------------------------------------------------------------

export type ToApi =
  /** A node owns exactly these shards. The api sends questions and commands about them to this node. */
  | { kind: "OWNER"; term: number; shards: readonly OwnedShard[] }
  | { kind: "LIVE"; request: string; executions: readonly LiveExecution[] }
  | { kind: "TALLY"; request: string; tally: SchedulerStats }
  | { kind: "EXPLAINED"; request: string; reasons: readonly WaitReason[] }
  | { kind: "POOLS_USED"; request: string; pools: readonly PoolUse[] }
  /** The owner of these shards applies pool settings read after the request; assignments by older ones are durable. */
  | { kind: "POOLS_APPLIED"; request: string; shards: readonly OwnedShard[] }
  | { kind: "FINAL"; executionId: ExecutionId; state: ExecutionState }
  | { kind: "COMMAND_DONE"; commandId: string; outcome: CommandOutcome }
  | { kind: "WORKERS"; request: string; workers: readonly WorkerStatus[] }
  /** `isWhole`: whether these are all handlers that the gateway's workers offer. */
  | { kind: "HANDLERS"; request: string; offers: readonly HandlerOffer[]; isWhole: boolean }
  /** Last progress of the current attempt; null: there is none, or the gateway does not know it. */
  | { kind: "PROGRESS"; request: string; progress: Progress | null }
  /** Log lines of an attempt in the memory of the gateway; null: none. */
  | { kind: "LOGS"; request: string; part: LogPart | null }
  /** Handler output, in the order in which the gateway received it. */
  | { kind: "CHATTER"; items: readonly HandlerOutput[] }
  /** The owner has written lifecycle events since its last message of this kind. Sent only where the servers keep events. */
  | { kind: "EVENTS_WRITTEN" }
  | { kind: "SERIES"; request: string; series: ToldSeries }
  | { kind: "KEYS_CHANGED" };

/** Statistics of one scheduler. */
export interface SchedulerStats {
  ownedShards: number;
  /** Delays of the first starts of the last one to two minutes. */
  lateness: DelayBuckets;
  /** Executions that became final since the scheduler's start. */
  finished: readonly { state: FinalState; count: number }[];
  /** Planned instants of recurring jobs that were accounted for since the start. Left out by older nodes. */
  planned?: readonly { outcome: PlannedOutcome; count: number }[];
  /** Earliest due time of a ready execution in memory; null: nothing is ready. Left out by older nodes. */
  oldestReadyAt?: EpochMs | null;
}

/** Use of a pool's limits, reported by its coordinator. */
export interface PoolUse {
  pool: string;
  /** Permits in use by current attempts, plus the few that wait to be used. */
  taken: number;
  /** Time of the next start that the rate allows; null: the pool has no rate. */
  nextStartAt: EpochMs | null;
}

/** State of an unfinished execution as its owner knows it, beyond its row. */
export interface LiveExecution {
  executionId: ExecutionId;
  state: "PENDING" | "SCHEDULED" | "RUNNING";
  attempt: number;
  workerId: WorkerId | null;
  startedAt: EpochMs | null;
  /** Start of the present attempt, or else its assignment; null: no attempt. Left out by older nodes. */
  since?: EpochMs | null;
  cancelRequested: boolean;
}

/**
 * CANCELLED: the execution had not started. REQUESTED: its worker was told. FINAL: it was final already, as its row
 * says. SIGNALLED: the execution has the signal. REPLACED: all unfinished executions use the new definition. KEPT: some
 * had started, and keep their definition. DELETED: no execution of the job waits. PLANNED: the plan is updated.
 * NOT_PLANNED: the plan had ended. BACKFILL_OPEN: another backfill of the job is open. PAUSED and RESUMED: the workflow run
 * is paused, or is not paused.
 */
export type CommandOutcome =
  | ("CANCELLED" | "REQUESTED" | "FINAL" | "SIGNALLED" | "REPLACED" | "KEPT" | "DELETED")
  | ("PLANNED" | "NOT_PLANNED" | "BACKFILL_OPEN" | "PAUSED" | "RESUMED");

export interface WorkerStatus extends WorkerProfile {
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  running: number;
  /** Free slots. Left out by older nodes. */
  free?: number;
  /** Slots of handlers that still run after the end of their attempts. Left out by older nodes. */
  stuck?: number;
  connectedAt: EpochMs;
  lastHeartbeatAt: EpochMs;
  /** Delay in ms of the worker's event loop at its last heartbeat. */
  loopLagMs: number;
  /** Some attempts of the worker, if only this worker was asked for. Left out by older nodes. */
  executions?: readonly WorkerExecution[];
  /** Number of all attempts of the worker, including those that `executions` leaves out. */
  executionsTotal?: number;
}

/** An attempt that occupies a slot of a worker or waits for one there. */
export interface WorkerExecution {
  executionId: ExecutionId;
  attempt: number;
  /** null: the gateway knows the attempt only from the worker's hello. */
  handler: string | null;
  /** STUCK: the attempt is over, but its handler still runs and keeps its slot. */
  state: "WAITING" | "RUNNING" | "STUCK";
  /** null: the handler has not started, or its start is not known. */
  startedAt: EpochMs | null;
}
