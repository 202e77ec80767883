import type { EndedAttempt, ExecutionError, ExecutionState, Trigger } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { ExecutionPolicy, JobDefinition, JobState, JobType } from "../domain/job.ts";
import type { Plan, RecurrenceRule, SkipReason } from "../domain/recurrence.ts";
import type { Submission, SubmitOutcome } from "./store.ts";
import type { NodeFilter, NodeOfRun, NodeSummary, RunFilter, RunSummary, RunView } from "./store-runs.ts";

/**
 * Reads of the api. The row of an execution that waits at a worker or started a moment ago still says PENDING; its
 * owner knows the present state.
 */
export interface StoreQueries {
  getExecution(tenant: string, id: ExecutionId): Promise<ExecutionView | null>;
  /** Executions of jobs, among them runs of workflows, but not executions of nodes. */
  listExecutions(tenant: string, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>>;
  /** Runs of workflows by descending id. */
  listRuns(tenant: string, filter: RunFilter, page: Page): Promise<Listing<RunSummary>>;
  getRun(tenant: string, id: ExecutionId): Promise<RunView | null>;
  /** Executions of a run's nodes by (node, item). `after` is the id of the last execution of the page before. */
  listNodes(tenant: string, run: ExecutionId, filter: NodeFilter, page: Page): Promise<Listing<NodeSummary>>;
  getJob(tenant: string, id: JobId): Promise<JobView | null>;
  /** Jobs by descending id: recurring jobs, whose ids have a range of their own, come before one-time jobs. */
  listJobs(tenant: string, filter: JobFilter, page: Page): Promise<Listing<JobSummary>>;
  /**
   * Outcomes of the planned instants of [since, until), newest first. A range of skipped instants is placed at its
   * first instant, and is listed if any of its instants lies within the bounds. `after` is the `next` of the page
   * before: digits without meaning to callers.
   */
  ledger(tenant: string, jobId: JobId, since: EpochMs, until: EpochMs, page: Page): Promise<Listing<LedgerItem>>;
  /**
   * The answer to an earlier submission with this idempotency key, as a repeat of it would get; null: there was none,
   * or the store has forgotten it.
   */
  answered(idempotency: NonNullable<Submission["idempotency"]>): Promise<SubmitOutcome | null>;
  /**
   * ACTIVE recurring jobs whose next planned instant lies further before `now` than the grace of the
   * job; earliest first. The cost grows with the number of due jobs, not of all jobs.
   * @param tenant null: all tenants together
   * @param limit 1 to 1_000
   */
  overdue(tenant: string | null, now: EpochMs, limit: number): Promise<OverdueJob[]>;
  /**
   * Recurring jobs of all tenants that are not deleted, by ascending id.
   * @param after the last id of the page before; null: the first page
   * @param limit 1 to 1_000
   */
  recurringJobs(after: JobId | null, limit: number): Promise<RecurringJob[]>;
  /**
   * Traces of planned instants, one for each of the ranges in `asked`, in the same order. Each has the earliest `limit`
   * instants of each kind.
   * @param limit 1 to 1_000
   */
  traces(asked: readonly JobStretch[], limit: number): Promise<InstantTraces[]>;
  /** Numbers of executions by state. A count above `limit` is given as `limit`. @param tenant null: all tenants together */
  countExecutions(tenant: string | null, limit: number): Promise<ExecutionCounts>;
  /**
   * Number of executions that `listExecutions` would list, up to 10,000. The count examines at most 10,000 rows where no
   * index answers the filter.
   */
  countListed(tenant: string, filter: ExecutionFilter): Promise<BoundedCount>;
  /**
   * Numbers of READY executions of all tenants, by pool. A count above `limit` is given as `limit`. Reads the first
   * thousand lanes, in ascending order of their hashes.
   */
  backlog(limit: number): Promise<BacklogOfPool[]>;
}

export interface BoundedCount {
  /** 0 to 10,000 */
  matching: number;
  /** Whether there may be more. */
  hasMore: boolean;
}

export interface BacklogOfPool {
  pool: string;
  ready: number;
  /** Earliest due time among the first executions of the pool's lanes. */
  oldestDueAt: EpochMs;
}

/** A recurring job whose next instant has passed without being accounted for. */
export interface OverdueJob {
  jobId: JobId;
  /** null: it has none. */
  name: string | null;
  nextFireAt: EpochMs;
}

/** Definition and plan of a recurring job, as far as its ledger depends on them. */
export interface RecurringJob {
  jobId: JobId;
  tenant: string;
  /** null: it has none. */
  name: string | null;
  version: number;
  createdAt: EpochMs;
  updatedAt: EpochMs;
  recurrence: RecurrenceRule;
  plan: Plan;
}

/** Period [since, until) of one recurring job. */
export interface JobStretch {
  jobId: JobId;
  since: EpochMs;
  until: EpochMs;
}

/** Traces that the planned instants of a period have left in the store. */
export interface InstantTraces {
  /** Planned instants that have an execution, ascending. An instant may occur twice. */
  fired: EpochMs[];
  /** Ranges of skipped instants, and of those that the store no longer knows, that overlap the period, ascending. Both bounds belong to a range. */
  skipped: { from: EpochMs; to: EpochMs }[];
}

/** Counts of the executions' rows, whose states are about a second behind the assignments. */
export interface ExecutionCounts {
  /** Executions that are not due yet. */
  waiting: number;
  ready: number;
  /** Executions whose rows say RUNNING. */
  held: number;
  /** DEAD executions that were neither replayed nor discarded. */
  deadLetters: number;
  /** Workflow runs that have begun and not ended; null: the store cannot count them cheaply yet. */
  openRuns: number | null;
}

/** Bounds of one page, newest first. `after` is the `next` of the page before; null: the first page. */
export interface Page {
  after: string | null;
  /** 1 to 1_000 */
  limit: number;
}

export interface Listing<T> {
  /**
   * Items of the page. There may be fewer than `limit`, or none, although more follow, because the store reads a
   * limited number of rows for one page.
   */
  items: T[];
  /** `after` of the next page; null: this is the last page. */
  next: string | null;
}

export interface ExecutionFilter {
  state?: ExecutionState;
  pool?: string;
  handler?: string;
  jobId?: JobId;
  /** Executions created at or after this time. */
  since?: EpochMs;
  /** Executions created before this time. */
  until?: EpochMs;
  ids?: IdRange;
  /** Labels as `key` or `key=value`. The job of an execution must have all of them. */
  labels?: readonly string[];
  /** Text within `name: message` of the error, in capital or small letters. */
  error?: string;
  /** Only executions that are not final. */
  isOpen?: true;
}

/** Range of ids; both bounds belong to it. */
export interface IdRange {
  first: string;
  last: string;
}

export interface JobFilter {
  ids?: IdRange;
  state?: JobState;
  type?: JobType;
  pool?: string;
  handler?: string;
  name?: string;
  /** Labels as `key` or `key=value`. A job must have all of them. */
  labels?: readonly string[];
}

export interface ExecutionSummary {
  executionId: ExecutionId;
  /** Job of the execution; for the execution of a node: the id of its run. */
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  trigger: Trigger;
  /** Execution that this one repeats; null: none. */
  retryOf: ExecutionId | null;
  /** Version of the job's definition that the execution runs by. */
  jobVersion: number;
  state: ExecutionState;
  reason: string | null;
  attempt: number;
  failures: number;
  lost: number;
  maxAttempts: number;
  pool: string;
  handler: string;
  priority: number;
  scheduledAt: EpochMs;
  dueAt: EpochMs;
  workerId: WorkerId | null;
  startedAt: EpochMs | null;
  finishedAt: EpochMs | null;
  createdAt: EpochMs;
  updatedAt: EpochMs;
}

export interface ExecutionView extends ExecutionSummary {
  requires: readonly string[];
  policy: ExecutionPolicy;
  /** JSON text as submitted; null: no payload. */
  payload: Uint8Array | null;
  /** JSON text as the handler returned it; null: no result. */
  result: Uint8Array | null;
  error: ExecutionError | null;
  attempts: EndedAttempt[];
  /** Whether handlers of the execution have made records; `Store.steps` reads them. */
  hasSteps: boolean;
  /** Run and node of the execution of a node. Left out: a job's execution, or a run. */
  ofRun?: NodeOfRun;
  /** Left out: the execution is no run of a workflow. */
  isRun?: true;
}

export interface JobSummary {
  jobId: JobId;
  tenant: string;
  name: string | null;
  state: JobState;
  type: JobType;
  version: number;
  /** null: a one-time job. */
  plan: Plan | null;
  pool: string;
  handler: string;
  priority: number;
  scheduledAt: EpochMs;
  labels: Readonly<Record<string, string>>;
  createdAt: EpochMs;
  updatedAt: EpochMs;
}

/**
 * One planned instant, or, with a `count` above 100, a range of consecutive skipped instants. An instant that was
 * skipped and later backfilled is listed with the execution of the backfill.
 */
export type LedgerItem =
  | { plannedAt: EpochMs; execution: ExecutionSummary }
  | { plannedAt: EpochMs; skipped: { until: EpochMs; count: number; reason: SkipReason } };

export interface JobView extends JobSummary {
  definition: JobDefinition;
  payload: Uint8Array | null;
  /**
   * The five newest executions. For a recurring job, those with the latest planned instants, so executions of a
   * backfill are not among them.
   */
  latestExecutions: ExecutionSummary[];
  /** Planned instants before this one may have lost their executions to a bound of the store; left out: none has. */
  historySince?: EpochMs;
}
