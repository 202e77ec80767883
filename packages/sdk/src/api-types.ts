import type { CatchUp, CronSchedule, IntervalSchedule, RecurrenceOptions } from "./recurring-types.ts";

/** The HTTP api's shapes. Times that are read are ISO 8601 texts in UTC. */

export type ExecutionState = "PENDING" | "SCHEDULED" | "RUNNING" | "SUCCEEDED" | "CANCELLED" | "SKIPPED" | "DEAD";
export type JobState = "ACTIVE" | "PAUSED" | "FINISHED" | "DELETED";
export type JobType = "ONCE" | "CRON" | "INTERVAL";
export type Priority = number | "LOW" | "NORMAL" | "HIGH" | "CRITICAL";

/** Fault at one place of a request. */
export interface FieldError {
  /** JSON pointer or path of the field. */
  field: string;
  message: string;
  /** Position of the first wrong character, counted from 1, where the value is a text that was parsed. */
  position?: number;
}

/** An answer of the server in `application/problem+json` (RFC 9457). */
export interface Problem {
  /** Stable, under `/problems/`. */
  type: string;
  title: string;
  status: number;
  detail?: string;
  errors?: FieldError[];
}

export const FINAL_STATES: readonly ExecutionState[] = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];

/** How failures are retried; what is left out has the server's defaults: 5 attempts, EXPONENTIAL from 1 s to 1 h, jitter. */
export interface RetryPolicy {
  /** 1 or more */
  maxAttempts?: number;
  backoff?: "FIXED" | "EXPONENTIAL";
  initialDelayMs?: number;
  maxDelayMs?: number;
  jitter?: boolean;
}

/** When and how a job is run. Everything may be left out. */
export interface JobOptions {
  name?: string;
  /** A Date, or ISO 8601 with a zone; the past means now. Excludes `delayMs`. */
  runAt?: Date | string;
  delayMs?: number;
  /** 0 to 9, or LOW 2, NORMAL 5 (default), HIGH 7, CRITICAL 9. */
  priority?: Priority;
  retryPolicy?: RetryPolicy;
  /** Hard limit of one attempt; default 3600. */
  timeoutSec?: number;
  /** Time by which the execution must have started; later it is SKIPPED. */
  startBefore?: Date | string;
  /** Executions of one key run at most `concurrencyLimit` at once. */
  concurrencyKey?: string;
  /** Default 1. */
  concurrencyLimit?: number;
  /**
   * For one at a time: while an execution with this key is not final, a submit gives its ids. Afterwards the key is
   * free, and a submit runs again; a program that is not sure whether it has submitted takes `idempotencyKey`.
   */
  uniqueKey?: string;
  labels?: Record<string, string>;
  /** How many times its worker may be lost; default 3. */
  maxLost?: number;
  onWorkerLost?: "RETRY" | "DEAD";
  /** How long a cancelled handler may take to stop; default 10. */
  cancelGraceSec?: number;
}

/** The body of POST /v1/jobs: one-time jobs. */
export interface JobRequest extends JobOptions {
  target: { handler: string; pool?: string; requires?: readonly string[] };
  /** Anything that JSON can say; at most 1 MiB. */
  payload?: unknown;
}

export interface SubmittedJob {
  jobId: string;
  state: JobState;
  executionId: string;
  /** The unique key was held: these are the ids that hold it. */
  deduplicated?: boolean;
}

export interface SubmittedRecurringJob {
  jobId: string;
  state: JobState;
  /** The first time. */
  nextFireAt: string;
  /** Values that this release accepts and the next one refuses, each with its replacement; absent: none. */
  warnings?: string[];
}

export interface ChangedJob {
  jobId: string;
  state: JobState;
  /** Version of the definition, from 1. */
  version: number;
  /** false: it had this definition already. */
  changed: boolean;
  nextFireAt: string | null;
  /** null: there is none that has not ended, or the job recurs. */
  executionId: string | null;
  /**
   * Definition by which its execution runs, or every later execution of a recurring job. REPLACED: the new definition.
   * KEPT: what it started with, because a worker had it already. REQUESTED: the server has not heard yet which of the
   * two. UNCHANGED: there was nothing new. CREATED: the job is new.
   */
  execution: "REPLACED" | "KEPT" | "REQUESTED" | "UNCHANGED" | "CREATED";
  /** Values that this release accepts and the next one refuses, each with its replacement; absent: none. */
  warnings?: string[];
}

/** An item of a batch's answer, in the order of the jobs. */
export type BatchItem = SubmittedJob | BatchRefusal;
export interface BatchRefusal {
  index: number;
  error: Problem;
}

export interface JobSummary {
  jobId: string;
  tenant: string;
  name: string | null;
  type: JobType;
  state: JobState;
  version: number;
  /** When it is to run next, while that lies ahead; null while it is PAUSED. */
  nextFireAt: string | null;
  /** Time of a job that runs once; left out where it recurs. */
  runAt?: string;
  target: { pool: string; handler: string; requires?: string[] };
  priority: number;
  labels: Record<string, string>;
  createdAt: string;
  updatedAt: string;
}

/** How a job recurs; only what it has. */
export interface Recurrence
  extends Omit<RecurrenceOptions, "startAt" | "endAt">,
    Partial<Omit<CronSchedule, "everySec">>,
    Partial<Omit<IntervalSchedule, "schedule">> {
  startAt?: string;
  endAt?: string;
  /** How often it has fired. */
  fires?: number;
  /** Stretches of the past that are made up for now. */
  catchUps?: CatchUp[];
}

/** A job with every default filled in. */
export interface Job extends JobSummary, Recurrence {
  target: { pool: string; handler: string; requires: string[] };
  payload: unknown;
  /** Time after which it is SKIPPED where it has not started; null: none. */
  startBefore: string | null;
  retryPolicy: Required<RetryPolicy>;
  /** Hard limit of one attempt, in seconds. */
  timeoutSec: number;
  /** Time to stop after a cancellation, in seconds. */
  cancelGraceSec: number;
  /** Number of lost workers after which it is DEAD. */
  maxLost: number;
  /** Consequence of a lost worker. */
  onWorkerLost: "RETRY" | "DEAD";
  /** Executions of one key run at most `concurrencyLimit` at once; null: no key. */
  concurrencyKey: string | null;
  concurrencyLimit: number;
  /** At most one execution that is not final has it; null: no key. */
  uniqueKey: string | null;
  latestExecutions: ExecutionSummary[];
}

export interface ExecutionError {
  name: string;
  message: string;
  stack?: string;
}

export interface AttemptRecord {
  attempt: number;
  workerId: string;
  state: "SUCCEEDED" | "FAILED" | "TIMED_OUT" | "CANCELLED" | "WORKER_LOST" | "RELEASED";
  startedAt: string | null;
  finishedAt: string;
  error: ExecutionError | null;
}

export interface ExecutionSummary {
  executionId: string;
  jobId: string;
  tenant: string;
  trigger: "API" | "RETRY" | "SCHEDULE" | "MANUAL" | "BACKFILL";
  /** The execution that it repeats. */
  retryOf: string | null;
  /** Which version of its job's definition it runs by. */
  jobVersion: number;
  state: ExecutionState;
  /** Why it is in its state, where the state does not say it. */
  reason: string | null;
  attempt: number;
  failures: number;
  lost: number;
  maxAttempts: number;
  pool: string;
  handler: string;
  priority: number;
  scheduledAt: string;
  assignedWorker: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  latenessMs: number | null;
  createdAt: string;
  updatedAt: string;
}

export interface Execution<R = unknown> extends ExecutionSummary {
  payload: unknown;
  /** null unless SUCCEEDED. */
  result: R | null;
  error: ExecutionError | null;
  /** The latest that the running attempt has said; null: nothing, or it does not run. */
  progress: { fraction: number; message: string; at: string } | null;
  attempts: AttemptRecord[];
}

export interface WorkerInfo {
  workerId: string;
  name: string;
  pool: string;
  handlers: string[];
  capabilities: string[];
  slots: number;
  prefetch: number;
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  running: number;
  /** Slots that nothing occupies. */
  free: number;
  /** Slots of handlers that still run although their attempts are over. */
  stuck: number;
  connectedAt: string;
  lastHeartbeatAt: string;
  /** How late the loop that runs its handlers was. */
  loopLagMs: number;
}

/** An execution that a worker has. */
export interface WorkerExecution {
  executionId: string;
  attempt: number;
  /** null: the server does not know it. */
  handler: string | null;
  /** STUCK: the attempt is over, but its handler still runs and keeps its slot. */
  state: "WAITING" | "RUNNING" | "STUCK";
  startedAt: string | null;
}

export interface WorkerDetail extends WorkerInfo {
  /** STUCK ones first, then RUNNING, then WAITING, 1,000 at most; null: a server of the release before does not say. */
  executions: WorkerExecution[] | null;
  /** Number of all executions that it has; null as `executions`. */
  executionsTotal: number | null;
}

/** A schedule to be looked at. */
export interface SchedulePreviewRequest {
  /** A cron expression of five fields, or six with seconds first; or @daily and the like. */
  schedule: string;
  /** A name of the IANA time zone database; default UTC. */
  timezone?: string;
  dst?: DstPolicy;
  /** All fires come after it; default: the present. */
  after?: Date | string;
  /** 1 to 1000, default 10. */
  count?: number;
}

/** Treatment of a fixed time of day when clocks change. */
export interface DstPolicy {
  /** It does not exist: SHIFT (default) fires once at the first instant after the gap, SKIP not that day. */
  gap?: "SHIFT" | "SKIP";
  /** It comes twice; default FIRST. */
  fold?: "FIRST" | "LAST" | "BOTH";
}

export interface PreviewedFire {
  at: string;
  /** On the clocks of the time zone, as 2025-03-09T03:00:00-04:00. */
  local: string;
  /** Effect of a clock change: begins with moved, merged, dropped or doubled. */
  note?: string;
}

export interface JobFilter {
  state?: JobState;
  type?: JobType;
  pool?: string;
  handler?: string;
  name?: string;
  /** Each is `key` or `key=value`; a job has to have all of them. */
  label?: string | readonly string[];
  /** Beginning of their ids. */
  idPrefix?: string;
  /** How many are read at once; 1 to 1000, default 50. */
  limit?: number;
}

export interface ExecutionFilter {
  state?: ExecutionState;
  pool?: string;
  handler?: string;
  /** Executions of this job only. */
  jobId?: string;
  /** Created at or after. */
  since?: Date | string;
  /** Created before. */
  until?: Date | string;
  /** Beginning of their ids. */
  idPrefix?: string;
  /** How many are read at once; 1 to 1000, default 50. */
  limit?: number;
}
