import type { Candidate, EndedAttempt, ExecutionError, ExecutionState, Queue, StepsMark } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { LostAttempts } from "../domain/lost-attempts.ts";
import type { Pool, PoolChange } from "../domain/pool.ts";
import type { RecordedStep } from "../domain/step.ts";
import type { EndDelivery } from "../domain/webhook.ts";
import type { Retention } from "./retention.ts";
import type { AuditNote, StoreAudit } from "./store-audit.ts";
import type { AddedCommand, Command } from "./store-commands.ts";
import type { StoreDeadLetters } from "./store-dead-letters.ts";
import type { StoreEventSinks } from "./store-event-sinks.ts";
import type { StoreEvents, ToldEvents } from "./store-events.ts";
import type { StoreExecutionRuns } from "./store-execution-runs.ts";
import type { StoreFlows } from "./store-flows.ts";
import type { StoreHandlers } from "./store-handlers.ts";
import type { StoreIngest } from "./store-ingest.ts";
import type { StoreJobs } from "./store-jobs.ts";
import type { StoreKeys } from "./store-keys.ts";
import type { StoreLogs } from "./store-logs.ts";
import type { StoreQueries } from "./store-queries.ts";
import type { StoreQuotas } from "./store-quotas.ts";
import type { PlanChange, StoreRecurrences } from "./store-recurrences.ts";
import type { StoreRequests } from "./store-requests.ts";
import type { AnyJob, KeyedRun, NewPart, NodeBirth, RunChange, StoreRuns } from "./store-runs.ts";
import type { StoreSteps } from "./store-steps.ts";
import type { StoreTenants } from "./store-tenants.ts";
import type { StoreTimeZones } from "./store-time-zones.ts";
import type { StoreWebhooks } from "./store-webhooks.ts";

export type { Retention } from "./retention.ts";
export { StoreUnavailable, StoreUnusable } from "./store-errors.ts";

/**
 * The source of truth. Every write of an execution goes through `commit`, fenced by its shard's epoch; `submit` only
 * inserts. Implementations throw `StoreUnavailable` for an outage. After it, the caller does not know whether a write happened.
 */
export interface Store extends StoreFlows {
  /** For the api: reads, with cursors. They never use the connections of the hot path. */
  readonly queries: StoreQueries;
  /** For the api: changes, deletions and further runs of accepted jobs. */
  readonly jobs: StoreJobs;
  /** For owners of shards: recurring jobs with their plans. */
  readonly recurrences: StoreRecurrences;
  /** For owners of shards: runs of workflows. */
  readonly runs: StoreRuns;
  /** For the api: executions that used up their budget, and runs that cancel or retry executions. */
  readonly deadLetters: StoreDeadLetters;
  readonly executionRuns: StoreExecutionRuns;
  /** For every node: the time zone data in force. */
  readonly timeZones: StoreTimeZones;
  /** For gateways and the api: policies that tasks declare for jobs of their handlers. */
  readonly handlers: StoreHandlers;
  /** For gateways and the api: records of handlers. */
  readonly steps: StoreSteps;
  /** For gateways and the api: lines that handlers logged. */
  readonly logs: StoreLogs;
  /** For the api, and for owners of shards: lifecycle events. */
  readonly events: StoreEvents;
  readonly eventSinks: StoreEventSinks;
  /** For the api, and for owners of shards: webhooks and their deliveries. */
  readonly webhooks: StoreWebhooks;
  /** For the api: requests for jobs that applications write in transactions of their own. */
  readonly requests: StoreRequests;
  /** For owners of shards, and for the api: positions in the log of requests. */
  readonly ingest: StoreIngest;
  /** For every node: API keys. */
  readonly keys: StoreKeys;
  /** For every node: the audit log. */
  readonly audit: StoreAudit;
  /** For every node: tenants. */
  readonly tenants: StoreTenants;
  /** For the api: quotas of tenants. */
  readonly quotas: StoreQuotas;

  /**
   * Writes jobs and their first executions. Each submission is all or nothing; submissions that arrive together share transactions. The answer has one outcome per submission, in order.
   */
  submit(batch: readonly Submission[]): Promise<SubmitOutcome[]>;

  /**
   * The fenced commit: one autocommit statement for all shards of a tick. If a shard's epoch is not current, the shard
   * is FENCED and the store writes nothing of it. The store leaves a row alone if its state or attempt is not what the
   * change expects, and names it in `missed`; and if the store refuses its data, and names it in `refused`.
   */
  commit(batch: readonly ShardCommit[]): Promise<ShardOutcome[]>;

  /** Every shard with its owner and epoch, in ascending order. */
  readShards(): Promise<ShardHolder[]>;
  /**
   * Makes `owner` the owner of those shards that still have the epoch named in `shards`: ends the store connections of
   * the earlier owners, waits for or shuts out their transactions in doubt, and raises the epochs. A new epoch is
   * greater than every earlier one, even if the store was set back (by a restore or failover) and has lost the later
   * ones.
   * @returns the new epochs in the order of `shards`; null where another node was faster
   */
  takeOver(shards: readonly SeenShard[], owner: Incarnation): Promise<(Epoch | null)[]>;
  /**
   * Watches takeovers. A takeover is valid while the store connection that made it lasts, because another connection may lead to a store that was set back. After that, `commit` throws `StoreUnavailable`.
   * @param tell called when a takeover of this process has ended that way
   */
  watchTakeovers(tell: () => void): void;
  /** Leaves each of these shards without an owner, if it still has this epoch. */
  releaseShards(shards: readonly { shard: ShardId; epoch: Epoch }[]): Promise<void>;
  /** All that is in flight or waits in the shards: open journal rows, rows that say RUNNING, open commands. */
  recover(shards: readonly ShardId[]): Promise<Recovered>;
  /** Tells in one query whether the shards have anything to read. The cost does not depend on how much there is. */
  poll(shards: readonly ShardId[], ahead: LookAhead): Promise<PollSummary>;
  /** WAITING rows with `dueAt` up to `dueUntil`, earliest first, from the first row. @param limit 1 to 100_000 */
  readWaiting(shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<Candidate[]>;
  /** READY rows of a lane by (rank, id), behind `after`; null: from the first row. @param limit 1 to 100_000 */
  readReady(
    shards: readonly ShardId[],
    laneHash: number,
    after: Pick<Candidate, "rank" | "id"> | null,
    limit: number,
  ): Promise<Candidate[]>;
  /** Hashes of lanes that have READY rows of any shard: ascending, above `after`, at most `limit`. */
  readLanes(after: number | null, limit: number): Promise<number[]>;
  /** Rows of these executions that are not final. Unknown ids are left out. */
  load(ids: readonly ExecutionId[]): Promise<Candidate[]>;
  /** Payloads by execution, as submitted; of a node, that of its definition. Executions without a payload are left out. */
  payloads(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array>>;

  /** Puts a command into the durable inbox; it stays there until a commit names it in `commandsDone`. */
  addCommand(command: Command, note?: AuditNote): Promise<void>;
  /**
   * Open commands of the shards that are not in `known`, in order of their ids, from one snapshot. The read finds a
   * command that was committed late, whatever its id, and an open command hides no other.
   * @param known ids of commands that the caller has, at most 20_000
   * @param limit 1 to 10_000
   */
  readCommands(shards: readonly ShardId[], known: ReadonlySet<string>, limit: number): Promise<Command[]>;
  /** Every pool that has settings of its own. */
  readPools(): Promise<Pool[]>;
  /** Creates a pool's settings, or changes those named, and raises the version of tenants if one owns the pool. @returns the settings */
  putPool(change: PoolChange, note?: AuditNote): Promise<Pool>;

  /** The store's clock in milliseconds, with its fraction. The caller derives an offset from it. */
  clock(): Promise<number>;
  /** Creates partitions ahead of time, and deletes rows past retention and old idempotency keys. Safe to repeat. */
  maintain(now: EpochMs, retention: Retention): Promise<void>;
  /** Ends all running statements and closes every connection. */
  close(): Promise<void>;
}

/** Jobs that are accepted or refused together. A single submit is a batch of one. */
export interface Submission {
  /** Idempotency key of the whole submission; null: none. A repeat with the same hash gets the first answer. */
  idempotency: { tenant: string; key: string; requestHash: string } | null;
  jobs: readonly AnyJob[];
  /** Fact to be recorded in the transaction of the submission; left out: none. A repeat of a key is recorded, too. */
  note?: AuditNote | undefined;
}

export interface NewJob {
  jobId: JobId;
  executionId: ExecutionId;
  tenant: string;
  shard: ShardId;
  definition: JobDefinition;
  rank: number;
  laneHash: number;
  /** READY if the execution is due at `createdAt`, else WAITING. */
  queue: "READY" | "WAITING";
  /** At most 1 MiB, never parsed by the store; null: no payload. */
  payload: Uint8Array | null;
  createdAt: EpochMs;
}

/** A recurring job, which has no execution before its first planned instant. */
export interface NewRecurringJob {
  /** Id in the range of recurring jobs; see `recurringJobId`. */
  jobId: JobId;
  executionId: null;
  tenant: string;
  shard: ShardId;
  /**
   * Definition with a `recurrence`. Its name, if any, is unique among the tenant's jobs that recur and are not deleted.
   */
  definition: JobDefinition;
  payload: Uint8Array | null;
  createdAt: EpochMs;
  /** First planned instant. The job starts with an ACTIVE plan for version 1 of its definition. */
  firstFireAt: EpochMs;
  tzdata: string;
}

export type SubmitOutcome =
  /** One item per job, in order. `deduplicated`: another job holds the unique key; its ids are given. */
  | { kind: "ACCEPTED"; replayed: boolean; jobs: AcceptedJob[] }
  /** The idempotency key was used with another request; the store wrote nothing. */
  | { kind: "KEY_REUSED" }
  /** The store can never hold this data, and wrote nothing of it. Other submissions are not affected. */
  | { kind: "REFUSED"; message: string };

export interface AcceptedJob {
  jobId: JobId;
  /** First execution; null: a recurring job. */
  executionId: ExecutionId | null;
  deduplicated: boolean;
  /** Recurring job that has the same name already; the store wrote nothing of the new one. Left out: no such job. */
  nameHeldBy?: JobId;
}

/** A shard as the caller of a takeover last read it. */
export interface SeenShard {
  shard: ShardId;
  epoch: Epoch;
  /** Highest epoch of the shard that the caller has ever seen; default: `epoch`. */
  knownEpoch?: Epoch;
}

export interface ShardHolder {
  shard: ShardId;
  epoch: Epoch;
  /** null: no node owns the shard, because it was released or never taken over. */
  owner: Incarnation | null;
}

export interface ShardCommit {
  shard: ShardId;
  epoch: Epoch;
  /** At most one change per execution. */
  changes: readonly RowChange[];
  /** Assignments of this tick in the shard; the store keeps them as one journal row. */
  assigned: readonly JournalEntry[];
  /** Number of the journal row that keeps `assigned`; grows within an epoch. Unused if `assigned` is empty. */
  journalSeq: number;
  /** Journal rows that this commit settles: it writes the last of their executions. */
  settledJournals: readonly JournalRef[];
  /** Executions known only from a hint. If a row is not as expected, the execution is `missed`. */
  expected: readonly ExpectedRow[];
  /** At most one change per job. If the revision is not the expected one, the store writes nothing of the change and names the job in `missedPlans`. */
  plans: readonly PlanChange[];
  /** Ids of commands that this commit applies. */
  commandsDone: readonly string[];
  /** Commands that this commit adds, for owners of any shards. */
  commands: readonly AddedCommand[];
  /**
   * Records of handlers, at most one for each execution and name. The store keeps the record that counts, see `StepKind`,
   * and marks the signals that the records consume.
   */
  steps: readonly StepWrite[];
  /**
   * At most one change per run. If the revision is not the expected one, or an execution of `after` was not updated, the
   * store writes nothing of the change, creates no execution of the run's nodes, and names the run in `missedRuns`.
   */
  runs: readonly RunChange[];
  /** Executions of nodes that the commit creates. The store names those that it did not create in `notBorn`. */
  births: readonly NodeBirth[];
  /** Lifecycle events of the commit; left out: none. */
  told?: ToldEvents;
  /**
   * Webhooks of ends that the commit writes; left out: none. The store writes a delivery if it updates the row of the
   * execution, or creates it as SKIPPED.
   */
  deliveries?: readonly EndDelivery[];
}

/** A row that must be PENDING with this attempt. That of a node must not be PARKED either. */
export interface ExpectedRow {
  id: ExecutionId;
  attempt: number;
  /** The execution is that of a workflow's node; left out: it is not. */
  isNode?: true;
}

export interface StepWrite extends RecordedStep {
  executionId: ExecutionId;
}

export interface JournalRef {
  epoch: Epoch;
  seq: number;
}

export interface JournalEntry {
  id: ExecutionId;
  /** Number of the attempt that this assignment starts. */
  attempt: number;
  workerId: WorkerId;
  /** Gateway to which the worker is connected. */
  gateway: Incarnation;
  assignedAt: EpochMs;
}

/** New content of one row. The store writes every field. */
export interface RowChange {
  id: ExecutionId;
  /** State that the row must have, as last written; else the execution is `missed`. */
  wasState: "PENDING" | "RUNNING";
  /** Attempt that the row must have, likewise. */
  wasAttempt: number;
  state: Exclude<ExecutionState, "SCHEDULED">;
  attempt: number;
  failures: number;
  lost: number;
  queue: Queue;
  rank: number;
  dueAt: EpochMs;
  /** Further reason for the state, for people and programs, such as `START_BEFORE_PASSED`; null: none. */
  reason: string | null;
  /** Worker that holds the execution while it is RUNNING; else null. */
  workerId: WorkerId | null;
  gateway: Incarnation | null;
  /** Start of the current attempt while RUNNING; else null. */
  attemptStartedAt: EpochMs | null;
  startedAt: EpochMs | null;
  finishedAt: EpochMs | null;
  result: Uint8Array | null;
  error: ExecutionError | null;
  /** Attempts to append to the row's history. */
  ended: readonly EndedAttempt[];
  /** Whether the commit frees the unique key that the execution holds. */
  releaseUniqueKey: boolean;
  /** Newer definition for the row's copy of its job's definition. Left out: the copy stays. */
  replacement?: Replacement;
  /** Value of `Candidate.steps` from then on. Left out: the row keeps it. */
  steps?: StepsMark;
  /** Branch that an execution of a node has chosen. Left out: the row keeps what it has. */
  branch?: string;
  /** Nodes that the handler of a node has added to its run. The store writes them if it updates the row. Left out: none. */
  spawn?: NewPart;
}

/** Newer version of a job's definition, for an execution's row. The payload is that of the same version. */
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
  /** Executions that were not created as PENDING: the row existed, or the unique key was held. */
  notCreated: ExecutionId[];
  /** Runs whose revision was not the expected one, or of whose `after` an execution was not updated. */
  missedRuns: ExecutionId[];
  /**
   * Executions of nodes that were not created: the row existed, the run's change was missed, or an execution of `after`
   * was not updated. Refused ones are in `refused` instead.
   */
  notBorn: ExecutionId[];
  /** Members of `commands` that the store has added, each with its shard; left out: none. */
  added?: readonly Command[];
  refused: { id: ExecutionId; message: string }[];
}

/** How far ahead a poll looks. */
export interface LookAhead {
  /** Latest due time, as in `readWaiting`. */
  dueUntil: EpochMs;
  /** Latest next instant, as in `recurrences.readDue`. */
  firesUntil: EpochMs;
}

/** Result of a poll. A field is false if the read of that kind would have found nothing. */
export interface PollSummary {
  waiting: boolean;
  /** Whether any lane has READY rows, of any shard. */
  ready: boolean;
  /** Whether recurring jobs are due to fire. */
  plans: boolean;
  commands: boolean;
  /** Whether inboxes of the shards have events. */
  events: boolean;
  /** Every pool with settings of its own, as `readPools` returns them. */
  pools: Pool[];
}

export interface Recovered {
  inFlight: InFlightRow[];
  /** Every open journal row, and the number of its executions that have no row of their own yet. A row with 0 of them stays open until a commit deletes it. */
  journals: { shard: ShardId; ref: JournalRef; unsettled: number }[];
  commands: Command[];
  /** Open workflow runs, those with the earliest deadlines first, at most 100; left out: none. */
  runs?: readonly ExecutionId[];
  /** Every open run that has a concurrency key; left out: none. */
  keyedRuns?: readonly KeyedRun[];
  /** Attempts whose numbers the owner skips; left out: none. */
  lostAttempts?: LostAttempts;
}

/** An execution that some worker may hold. */
export interface InFlightRow {
  row: Candidate;
  attempt: number;
  workerId: WorkerId;
  gateway: Incarnation;
  assignedAt: EpochMs;
  /** Start of the attempt; null: the row does not say RUNNING yet. */
  attemptStartedAt: EpochMs | null;
  /** Journal row that holds the assignment; null: the execution's own row says RUNNING. */
  journal: JournalRef | null;
}
