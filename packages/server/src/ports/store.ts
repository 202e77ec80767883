import type { Candidate, EndedAttempt, ExecutionError, ExecutionState, Queue } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { Pool } from "../domain/pool.ts";
import type { RecurrenceRule } from "../domain/recurrence.ts";
import type { StoreDeadLetters } from "./store-dead-letters.ts";
import type { StoreJobs } from "./store-jobs.ts";
import type { StoreQueries } from "./store-queries.ts";
import type { PlanChange, StoreRecurrences } from "./store-recurrences.ts";
import type { StoreTimeZones } from "./store-time-zones.ts";

/**
 * The truth. Every write of an execution goes through `commit`, fenced by its shard's epoch; `submit` only inserts.
 * Implementations throw `StoreUnavailable` for an outage; after it, a write may or may not have happened.
 */
export interface Store {
  /** For the api: reading, with cursors. Never on the connections of the hot path. */
  readonly queries: StoreQueries;
  /** For the api: jobs that were accepted are changed, deleted, run again. */
  readonly jobs: StoreJobs;
  /** For owners of shards: recurring jobs and how far they have come. */
  readonly recurrences: StoreRecurrences;
  /** For the api: executions that used up their budget. */
  readonly deadLetters: StoreDeadLetters;
  /** For every node: which time zone data is in force. */
  readonly timeZones: StoreTimeZones;

  /**
   * Writes jobs and their first executions. Each submission is all or nothing; submissions that arrive together share
   * transactions. The answer has one outcome a submission, in order.
   */
  submit(batch: readonly Submission[]): Promise<SubmitOutcome[]>;

  /**
   * The fenced commit: one autocommit statement for all shards of a tick. A shard whose epoch is not current is
   * FENCED and nothing of it is written. Rows whose state or attempt is not what the change expects are left alone
   * and named in `missed`. Rows that the store refuses for their data are left alone and named in `refused`.
   */
  commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]>;

  /** Every shard with its owner and epoch, in order. */
  readShards(): Promise<ShardHolder[]>;
  /**
   * Makes `owner` the owner of those shards that still have the epoch that is named: ends the store connections of the
   * owners before it, waits for or shuts out their transactions in doubt, and raises the epochs. An epoch is greater than
   * every one that was given before, also where the store has gone back (a restore, a failover) and has lost those.
   * @returns in the order of `shards` the new epochs; null where another was faster
   */
  takeOver(shards: readonly SeenShard[], owner: Incarnation): Promise<(Epoch | null)[]>;
  /**
   * A takeover stands as long as the connection to the store lasts on which it was made, because another connection may
   * lead to a store that has gone back: `commit` throws `StoreUnavailable` afterwards.
   * @param tell called when a takeover of this process has ended that way
   */
  watchTakeovers(tell: () => void): void;
  /** Leaves these shards without an owner, where they still have these epochs. */
  letGo(shards: readonly { shard: ShardId; epoch: Epoch }[]): Promise<void>;
  /** All that is in flight or to be obeyed in the shards: open journal rows, rows that say RUNNING, open commands. */
  recover(shards: readonly ShardId[]): Promise<Recovered>;
  /** Whether there is anything to read of the shards: one look, that costs the same whatever there is. */
  lookOut(shards: readonly ShardId[], ahead: LookAhead): Promise<Signs>;
  /** WAITING rows with `dueAt` up to `dueUntil`, earliest first, from the start. @param limit 1 to 100_000 */
  readWaiting(shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<Candidate[]>;
  /** READY rows of a lane in order of (rank, id), after `after` or from the start. @param limit 1 to 100_000 */
  readReady(
    shards: readonly ShardId[],
    laneHash: number,
    after: RankCursor | null,
    limit: number,
  ): Promise<Candidate[]>;
  /** Lanes that have READY rows of any shard, ascending, beyond `after`; a page of at most `limit`. */
  readLanes(after: number | null, limit: number): Promise<number[]>;
  /** Rows that are not final, by id; ids that are unknown or final are left out. */
  load(ids: readonly ExecutionId[]): Promise<Candidate[]>;
  /** Payloads by id, as they were submitted. Executions without one are left out. */
  payloads(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array>>;

  /** Puts a command into the durable inbox; it stays there until a commit names it in `commandsDone`. */
  addCommand(command: Command): Promise<void>;
  /**
   * Open commands of the shards that are not among the known ones, in order of their ids, by one snapshot. A command
   * that is committed late is found whatever its id is, and a command that is left open hides none.
   * @param known ids of commands that the caller has, at most 20_000
   * @param limit 1 to 10_000
   */
  readCommands(shards: readonly ShardId[], known: ReadonlySet<string>, limit: number): Promise<Command[]>;
  /** Every pool that has settings of its own. */
  readPools(): Promise<Pool[]>;
  /** Sets up a pool, or changes what is named of one that is set up. @returns it as it is then */
  putPool(change: PoolChange): Promise<Pool>;

  /** The store's clock in milliseconds, as finely as it tells it; for an offset kept by the caller. */
  clock(): Promise<number>;
  /** Makes partitions ahead of time, drops what retention lets go, forgets old idempotency keys. Safe to repeat. */
  maintain(now: EpochMs, retention: Retention): Promise<void>;
  /** Ends what is under way and closes every connection. */
  close(): Promise<void>;
}

/** Jobs that are accepted or answered together; a single submit is a batch of one. */
export interface Submission {
  /** Gates all of it: a repeat with the same hash answers as the first did. */
  idempotency: { tenant: string; key: string; requestHash: string } | null;
  jobs: readonly (NewJob | NewRecurringJob)[];
}

export interface NewJob {
  jobId: JobId;
  executionId: ExecutionId;
  tenant: string;
  shard: ShardId;
  definition: JobDefinition;
  rank: number;
  laneHash: number;
  /** READY when it is due at `createdAt`, else WAITING. */
  queue: "READY" | "WAITING";
  /** null: no payload. Bytes, never parsed by the store. At most 1 MiB. */
  payload: Uint8Array | null;
  createdAt: EpochMs;
}

/** A recurring job: it has no execution before its first planned instant. */
export interface NewRecurringJob {
  /** Id in the range of recurring jobs; see `recurringJobId`. */
  jobId: JobId;
  executionId: null;
  tenant: string;
  shard: ShardId;
  /**
   * Its `recurrence` is not null. Its name, where there is one, is unique among the recurring jobs of the tenant that
   * are not deleted.
   */
  definition: JobDefinition;
  payload: Uint8Array | null;
  createdAt: EpochMs;
  /** Plan of version 1, and how it begins: ACTIVE. */
  firstFireAt: EpochMs;
  tzdata: string;
}

export type SubmitOutcome =
  /** One a job, in order. `deduplicated`: the unique key was held, and these are the ids that hold it. */
  | { kind: "ACCEPTED"; replayed: boolean; jobs: AcceptedJob[] }
  /** The idempotency key was used with another request; nothing was written. */
  | { kind: "KEY_REUSED" }
  /** The store cannot hold this data, whatever is tried; nothing was written. The others of the batch are not affected. */
  | { kind: "REFUSED"; message: string };

export interface AcceptedJob {
  jobId: JobId;
  /** null: a recurring job. */
  executionId: ExecutionId | null;
  deduplicated: boolean;
  /** Nothing was written of it: this recurring job has the name. */
  nameHeldBy?: JobId;
}

/** A shard as the caller of a takeover last read it. */
export interface SeenShard {
  shard: ShardId;
  epoch: Epoch;
  /** Highest epoch of the shard that the caller has ever known; default: `epoch`. */
  knownEpoch?: Epoch;
}

export interface ShardHolder {
  shard: ShardId;
  epoch: Epoch;
  /** null: nobody owns it; it was let go, or has never been taken. */
  owner: Incarnation | null;
}

export interface ShardCommit {
  shard: ShardId;
  epoch: Epoch;
  /** At most one an execution. */
  changes: readonly RowChange[];
  /** Assignments of this tick in the shard; the store keeps them as one journal row. */
  assigned: readonly JournalEntry[];
  /** The number under which `assigned` is kept; grows within an epoch. Unused where nothing was assigned. */
  journalSeq: number;
  /** Journal rows whose last execution settles here. */
  settledJournals: readonly JournalRef[];
  /** Executions known from a hint only: their row must be PENDING with this attempt, else they are `missed`. */
  expected: readonly { id: ExecutionId; attempt: number }[];
  /** At most one a job. Where the revision is not as expected nothing of it is written, and it is named in `missedPlans`. */
  plans: readonly PlanChange[];
  /** Commands that this commit applies. */
  commandsDone: readonly string[];
}

export interface JournalRef {
  epoch: Epoch;
  seq: number;
}

export interface JournalEntry {
  id: ExecutionId;
  /** The attempt that begins with this assignment. */
  attempt: number;
  workerId: WorkerId;
  /** Which gateway's worker it is. */
  gateway: Incarnation;
  assignedAt: EpochMs;
}

/** New content of one row. The store writes every field. */
export interface RowChange {
  id: ExecutionId;
  /** Compare: what the row has said since it was last written. */
  wasState: "PENDING" | "RUNNING";
  wasAttempt: number;
  state: Exclude<ExecutionState, "SCHEDULED">;
  attempt: number;
  failures: number;
  lost: number;
  queue: Queue;
  rank: number;
  dueAt: EpochMs;
  /** Why it is in its state where the state does not say it, for people and programs: `START_BEFORE_PASSED`. */
  reason: string | null;
  /** The holder while RUNNING. */
  workerId: WorkerId | null;
  gateway: Incarnation | null;
  /** When the current attempt started, while RUNNING. */
  attemptStartedAt: EpochMs | null;
  startedAt: EpochMs | null;
  finishedAt: EpochMs | null;
  result: Uint8Array | null;
  error: ExecutionError | null;
  /** Appended to the row's history. */
  ended: readonly EndedAttempt[];
  /** Frees the unique key that names this execution. */
  releaseUniqueKey: boolean;
  /** Where there is one, the row's copy of its job's definition is written with all the rest. */
  replacement?: Replacement;
}

/** An execution's copy of a newer version of its job's definition; its payload is that version's. */
export interface Replacement {
  jobVersion: number;
  definition: JobDefinition;
  laneHash: number;
  payloadBytes: number;
}

export interface ShardOutcome {
  shard: ShardId;
  status: "APPLIED" | "FENCED";
  missed: ExecutionId[];
  missedPlans: JobId[];
  /** Births that were not written as PENDING: the row was there already, or its unique key was held. */
  notBorn: ExecutionId[];
  refused: { id: ExecutionId; message: string }[];
}

/** How far ahead a look-out looks. */
export interface LookAhead {
  /** As of `readWaiting`. */
  dueUntil: EpochMs;
  /** As of `recurrences.readDue`. */
  firesUntil: EpochMs;
}

/** Result of a look-out. Where it is false, the read of that name would have found nothing. */
export interface Signs {
  waiting: boolean;
  /** Lanes that have READY rows, of any shard. */
  ready: boolean;
  /** Recurring jobs that fire. */
  plans: boolean;
  commands: boolean;
  /** As of `readPools`. */
  pools: Pool[];
}

export interface Recovered {
  inFlight: InFlightRow[];
  /** Every open journal row, also those whose executions have all been settled by their rows. */
  journals: { shard: ShardId; ref: JournalRef; unsettled: number }[];
  commands: Command[];
}

/** An execution that some worker may hold. */
export interface InFlightRow {
  row: Candidate;
  attempt: number;
  workerId: WorkerId;
  gateway: Incarnation;
  assignedAt: EpochMs;
  /** Known once the row says RUNNING. */
  attemptStartedAt: EpochMs | null;
  /** null: the row itself says RUNNING. */
  journal: JournalRef | null;
}

export type Command = CancelCommand | JobCommand | PlanCommand;
/** Left behind by a change of a job, for its executions that had not ended then: all of one shard. */
export type JobCommand = ReplaceCommand | DeleteCommand;

interface AnyCommand {
  /** UUIDv7 */
  id: string;
  shard: ShardId;
}

export interface CancelCommand extends AnyCommand {
  kind: "CANCEL";
  executionId: ExecutionId;
}

/** Executions that wait run by this definition. An execution that a worker has keeps its definition. */
export interface ReplaceCommand extends AnyCommand {
  kind: "REPLACE";
  jobId: JobId;
  executionIds: readonly ExecutionId[];
  version: number;
  definition: JobDefinition;
  payloadBytes: number;
}

/** Executions that wait are cancelled. An execution that a worker has runs on. */
export interface DeleteCommand extends AnyCommand {
  kind: "DELETE";
  jobId: JobId;
  executionIds: readonly ExecutionId[];
}

/** Command for the plan of a recurring job. */
export interface PlanCommand extends AnyCommand {
  kind: "PLAN";
  jobId: JobId;
  order: PlanOrder;
}

export type PlanOrder =
  /** The job has another version, or is deleted. `former`: what was planned by the version before is accounted for by it. */
  | { kind: "LOOK"; former?: FormerRule }
  /** `at`: what is planned before it still fires. */
  | { kind: "PAUSE"; at: EpochMs }
  /** Instants in the pause are SKIPPED or, with `catchUp`, treated as misfired. */
  | { kind: "RESUME"; at: EpochMs; catchUp: boolean }
  /** Planned instants of [since, until), all in the past, so many at once. */
  | { kind: "BACKFILL"; since: EpochMs; until: EpochMs; limit: number };

/** A rule that an edit replaced. */
export interface FormerRule {
  version: number;
  rule: RecurrenceRule;
  /** When it was replaced: what it planned before that stays planned. */
  until: EpochMs;
}

/** A field that is left out keeps its value, which is the default at first. */
export type PoolChange = Pick<Pool, "name"> & Partial<Pool>;

export interface RankCursor {
  rank: number;
  id: ExecutionId;
}

export interface Retention {
  /** For final executions; MAINSPRING_RETENTION_DAYS. */
  days: number;
  /** For dead letters. */
  deadDays: number;
}

/** The store did not answer, or not in time. A write that it was asked for may have happened. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  /** It was known not to answer, and so it was not asked: nothing has happened. */
  readonly isUnasked: boolean;
  /** A list that took longer than a list may, or waited longer for others: the store answers other requests. */
  readonly isListTimeout: boolean;

  constructor(message: string, options: ErrorOptions & { isUnasked?: boolean; isListTimeout?: boolean } = {}) {
    super(message, options);
    this.isUnasked = options.isUnasked ?? false;
    this.isListTimeout = options.isListTimeout ?? false;
  }
}

/** The store cannot serve this program: corrupt, in use, or of a newer version. Says what to do. */
export class StoreUnusable extends Error {
  override readonly name = "StoreUnusable";
}
