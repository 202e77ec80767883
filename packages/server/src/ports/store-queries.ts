import type { EndedAttempt, ExecutionError, ExecutionState, Trigger } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { ExecutionPolicy, JobDefinition, JobState, JobType } from "../domain/job.ts";
import type { Plan, RecurrenceRule, SkipReason } from "../domain/recurrence.ts";
import type { Submission, SubmitOutcome } from "./store.ts";

/** Reads of the api. Rows say PENDING for what was assigned a moment ago: the owner knows better. */
export interface StoreQueries {
  getExecution(tenant: string, id: ExecutionId): Promise<ExecutionView | null>;
  listExecutions(tenant: string, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>>;
  getJob(tenant: string, id: JobId): Promise<JobView | null>;
  /** Jobs by descending id: recurring jobs, whose ids have a range of their own, come before one-time jobs. */
  listJobs(tenant: string, filter: JobFilter, page: Page): Promise<Listing<JobSummary>>;
  /**
   * Outcomes of the planned instants of [since, until), newest first. A stretch that was skipped stands where it
   * begins, and is told where any of it lies within. `after` is the `next` of the page before: digits that mean nothing
   * to anybody else.
   */
  ledger(jobId: JobId, since: EpochMs, until: EpochMs, page: Page): Promise<Listing<LedgerItem>>;
  /** How a submission with this key was answered, as a repeat of it would be; null: there was none, or it is forgotten. */
  answered(idempotency: NonNullable<Submission["idempotency"]>): Promise<SubmitOutcome | null>;
  /**
   * Recurring jobs of all tenants that are ACTIVE, and whose next planned instant lies further before `now` than the
   * grace of the job; earliest first. Costs by what is due, not by what there is.
   * @param limit 1 to 1_000
   */
  overdue(now: EpochMs, limit: number): Promise<OverdueJob[]>;
  /**
   * Recurring jobs of all tenants that are not deleted, by ascending id.
   * @param after the last id of the page before; null: the first page
   * @param limit 1 to 1_000
   */
  recurringJobs(after: JobId | null, limit: number): Promise<RecurringJob[]>;
  /**
   * Traces of planned instants, for each of the stretches in the order asked; the earliest of each kind, `limit` at most.
   * @param limit 1 to 1_000
   */
  traces(asked: readonly JobStretch[], limit: number): Promise<InstantTraces[]>;
  /** Executions of all tenants by state; a count above `limit` is given as `limit`. */
  countExecutions(limit: number): Promise<ExecutionCounts>;
  /**
   * READY executions of all tenants, by pool; a count above `limit` is given as `limit`. Reads a thousand lanes, in the
   * order of their numbers.
   */
  backlog(limit: number): Promise<BacklogOfPool[]>;
}

export interface BacklogOfPool {
  pool: string;
  ready: number;
  /** Due time of the oldest of the executions that are next, each in its lane. */
  oldestDueAt: EpochMs;
}

/** Its time has passed, and nothing has accounted for it. */
export interface OverdueJob {
  jobId: JobId;
  /** null: it has none. */
  name: string | null;
  nextFireAt: EpochMs;
}

/** Definition and plan of a recurring job, as far as its ledger is judged by them. */
export interface RecurringJob {
  jobId: JobId;
  /** null: it has none. */
  name: string | null;
  version: number;
  createdAt: EpochMs;
  updatedAt: EpochMs;
  recurrence: RecurrenceRule;
  plan: Plan;
}

/** Stretch of time of one recurring job: [since, until). */
export interface JobStretch {
  jobId: JobId;
  since: EpochMs;
  until: EpochMs;
}

/** Traces of the planned instants of a stretch. */
export interface InstantTraces {
  /** Planned instants that have an execution, ascending; an instant may be there twice. */
  fired: EpochMs[];
  /** Ranges of skipped instants that touch the stretch, ascending; both bounds included. */
  skipped: { from: EpochMs; to: EpochMs }[];
}

/** State of the rows, which is about a second behind the assignments. */
export interface ExecutionCounts {
  /** For their time. */
  waiting: number;
  ready: number;
  /** Their rows say RUNNING. */
  held: number;
  /** DEAD, and neither replayed nor discarded. */
  deadLetters: number;
}

/** Newest first; `after` is the id of the last item of the page before. */
export interface Page {
  after: string | null;
  /** 1 to 1_000 */
  limit: number;
}

export interface Listing<T> {
  /** May be fewer than the page takes, or none, while more follow: a store looks at so many rows for one page. */
  items: T[];
  /** null: there is no more. */
  next: string | null;
}

export interface ExecutionFilter {
  state?: ExecutionState;
  pool?: string;
  handler?: string;
  jobId?: JobId;
  /** Created at or after. */
  since?: EpochMs;
  /** Created before. */
  until?: EpochMs;
  ids?: IdRange;
}

/** Ids from the first to the last one, both included. */
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
  /** Each is `key` or `key=value`; a job has to have all of them. */
  labels?: readonly string[];
}

export interface ExecutionSummary {
  executionId: ExecutionId;
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  trigger: Trigger;
  /** Execution that it repeats; null: none. */
  retryOf: ExecutionId | null;
  /** Which version of its job's definition it runs by. */
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
  /** JSON text as it was submitted; null: none. */
  payload: Uint8Array | null;
  /** JSON text as the handler returned it; null: none. */
  result: Uint8Array | null;
  error: ExecutionError | null;
  attempts: EndedAttempt[];
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
 * One planned instant, or, with a `count` of more than 100, so many in a row that were skipped. One that was skipped
 * and made up for later is the execution that made up for it.
 */
export type LedgerItem =
  | { plannedAt: EpochMs; execution: ExecutionSummary }
  | { plannedAt: EpochMs; skipped: { until: EpochMs; count: number; reason: SkipReason } };

export interface JobView extends JobSummary {
  definition: JobDefinition;
  payload: Uint8Array | null;
  /** The newest five; of a recurring job those that were planned last, so what a backfill made up for is not among them. */
  latestExecutions: ExecutionSummary[];
}
