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
  /** The fault, and a value that would be right. */
  message: string;
  /** Position of the first wrong character, counted from 1, where the value is a text that was parsed. */
  position?: number;
}

/** An answer of the server in `application/problem+json` (RFC 9457). */
export interface Problem {
  /** Stable, under `/problems/`. */
  type: string;
  /** Name of the kind of error. */
  title: string;
  /** HTTP status. */
  status: number;
  /** Cause, and the way out. */
  detail?: string;
  /** Faults of single fields; absent: none. */
  errors?: FieldError[];
}

export const FINAL_STATES: readonly ExecutionState[] = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];

/** How failures are retried; what is left out has the server's defaults: 5 attempts, EXPONENTIAL from 1 s to 1 h, jitter. */
export interface RetryPolicy {
  /** 1 or more */
  maxAttempts?: number;
  /** EXPONENTIAL doubles each delay. */
  backoff?: "FIXED" | "EXPONENTIAL";
  /** Delay of the first retry, in milliseconds. */
  initialDelayMs?: number;
  /** Longest delay, in milliseconds. */
  maxDelayMs?: number;
  /** Whether each delay is spread over its second half. */
  jitter?: boolean;
}

/** When and how a job is run. Everything may be left out. */
export interface JobOptions {
  /** 1 to 255 characters; unique among recurring jobs that are not deleted. */
  name?: string;
  /** A Date, or ISO 8601 with a zone; the past means now. Excludes `delayMs`. */
  runAt?: Date | string;
  /** Milliseconds from now. Excludes `runAt`. */
  delayMs?: number;
  /** 0 to 9, or LOW 2, NORMAL 5 (default), HIGH 7, CRITICAL 9. */
  priority?: Priority;
  /** Retries after failures. */
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
  /** Up to 64, for filters of lists. */
  labels?: Record<string, string>;
  /** How many times its worker may be lost; default 3. */
  maxLost?: number;
  /** Consequence of a lost worker; default RETRY. */
  onWorkerLost?: "RETRY" | "DEAD";
  /** How long a cancelled handler may take to stop; default 10. */
  cancelGraceSec?: number;
}

/** The body of POST /v1/jobs: one-time jobs. */
export interface JobRequest extends JobOptions {
  /** Handler, its pool (default "default"), and capabilities that the worker must have. */
  target: { handler: string; pool?: string; requires?: readonly string[] };
  /** Anything that JSON can say; at most 1 MiB. */
  payload?: unknown;
}

/** Answer to a job that runs once. */
export interface SubmittedJob {
  /** Id of the job. */
  jobId: string;
  /** ACTIVE. */
  state: JobState;
  /** Id of its execution. */
  executionId: string;
  /** The unique key was held: these are the ids that hold it. */
  deduplicated?: boolean;
}

/** Answer to a job that recurs. */
export interface SubmittedRecurringJob {
  /** Id of the job. */
  jobId: string;
  /** ACTIVE. */
  state: JobState;
  /** The first time. */
  nextFireAt: string;
  /** Values that this release accepts and the next one refuses, each with its replacement; absent: none. */
  warnings?: string[];
}

/** Answer to a change of a job. */
export interface ChangedJob {
  /** Id of the job. */
  jobId: string;
  /** State after the change. */
  state: JobState;
  /** Version of the definition, from 1. */
  version: number;
  /** false: it had this definition already. */
  changed: boolean;
  /** Next planned time; null: now, already running, or still being planned. */
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
/** A job of a batch that the server has not accepted. */
export interface BatchRefusal {
  /** Position in the batch, from 0. */
  index: number;
  /** Reason of the refusal. */
  error: Problem;
}

/** A job as lists show it. */
export interface JobSummary {
  /** Id of the job. */
  jobId: string;
  /** Always "default" in this release. */
  tenant: string;
  /** Name as submitted; null: none. */
  name: string | null;
  /** ONCE, or the kind of recurrence. */
  type: JobType;
  /** FINISHED: nothing of it is left to run. Only recurring jobs are PAUSED. */
  state: JobState;
  /** Version of the definition, from 1. */
  version: number;
  /** When it is to run next, while that lies ahead; null while it is PAUSED. */
  nextFireAt: string | null;
  /** Time of a job that runs once; left out where it recurs. */
  runAt?: string;
  /** Pool and handler. */
  target: { pool: string; handler: string };
  /** 0 to 9. */
  priority: number;
  /** Labels as submitted. */
  labels: Record<string, string>;
  /** Time of the submission. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
}

/** How a job recurs; only what it has. */
export interface Recurrence
  extends Omit<RecurrenceOptions, "startAt" | "endAt">,
    Partial<Omit<CronSchedule, "everySec">>,
    Partial<Omit<IntervalSchedule, "schedule">> {
  /** Nothing is planned before. */
  startAt?: string;
  /** Nothing is planned then or later. */
  endAt?: string;
  /** How often it has fired. */
  fires?: number;
  /** Stretches of the past that are made up for now. */
  catchUps?: CatchUp[];
}

/** A job with every default filled in. */
export interface Job extends JobSummary, Recurrence {
  /** Pool, handler, and capabilities that a worker must have. */
  target: { pool: string; handler: string; requires: string[] };
  /** Payload as submitted; null: none. */
  payload: unknown;
  /** Time after which it is SKIPPED where it has not started; null: none. */
  startBefore: string | null;
  /** Retries after failures. */
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
  /** Executions of the key that may run at once. */
  concurrencyLimit: number;
  /** At most one execution that is not final has it; null: no key. */
  uniqueKey: string | null;
  /** The newest five. */
  latestExecutions: ExecutionSummary[];
}

/** Error of a failed attempt. */
export interface ExecutionError {
  /** Name of the error's class. */
  name: string;
  /** Text of the error. */
  message: string;
  /** Stack of the handler, up to 8 KiB; absent: none was sent. */
  stack?: string;
}

/** An attempt that has ended. */
export interface AttemptRecord {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Worker that had it. */
  workerId: string;
  /** FAILED and TIMED_OUT spend `maxAttempts`, WORKER_LOST spends `maxLost`, RELEASED spends nothing. */
  state: "SUCCEEDED" | "FAILED" | "TIMED_OUT" | "CANCELLED" | "WORKER_LOST" | "RELEASED";
  /** Start of the handler; null: it never started. */
  startedAt: string | null;
  /** End of the attempt. */
  finishedAt: string;
  /** Error of the handler; null: none. */
  error: ExecutionError | null;
}

/** An execution as lists show it. */
export interface ExecutionSummary {
  /** Id of the execution. */
  executionId: string;
  /** Id of its job. */
  jobId: string;
  /** Always "default" in this release. */
  tenant: string;
  /** Origin of the execution. */
  trigger: "API" | "RETRY" | "SCHEDULE" | "MANUAL" | "BACKFILL";
  /** The execution that it repeats. */
  retryOf: string | null;
  /** Which version of its job's definition it runs by. */
  jobVersion: number;
  /** SUCCEEDED, CANCELLED, SKIPPED and DEAD are final. */
  state: ExecutionState;
  /** Why it is in its state, where the state does not say it. */
  reason: string | null;
  /** Number of the current or last attempt; 0: none yet. */
  attempt: number;
  /** Attempts that failed or timed out. */
  failures: number;
  /** Attempts whose worker was lost. */
  lost: number;
  /** Failures after which it is DEAD. */
  maxAttempts: number;
  /** Pool whose workers run it. */
  pool: string;
  /** Name of the handler. */
  handler: string;
  /** 0 to 9. */
  priority: number;
  /** Time at which it is to run. */
  scheduledAt: string;
  /** Worker that has it, or had it last; null: none yet. */
  assignedWorker: string | null;
  /** First start of any attempt; null: none yet. */
  startedAt: string | null;
  /** Time at which it became final; null: it is not. */
  finishedAt: string | null;
  /** First start minus scheduled time (of a backfill: its creation), in milliseconds; null: not started. */
  latenessMs: number | null;
  /** Time of its creation. */
  createdAt: string;
  /** Time at which its row was last written. */
  updatedAt: string;
}

/** An execution with its payload, result and attempts. */
export interface Execution<R = unknown> extends ExecutionSummary {
  /** Payload as submitted; null: none. */
  payload: unknown;
  /** null unless SUCCEEDED. */
  result: R | null;
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
  /** The latest that the running attempt has said; null: nothing, or it does not run. */
  progress: { fraction: number; message: string; at: string } | null;
  /** Attempts that have ended, oldest first. */
  attempts: AttemptRecord[];
}

/** A schedule to be looked at. */
export interface SchedulePreviewRequest {
  /** A cron expression of five fields, or six with seconds first; or @daily and the like. */
  schedule: string;
  /** A name of the IANA time zone database; default UTC. */
  timezone?: string;
  /** Treatment of fixed times of day when clocks change. */
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

/** A planned instant. */
export interface PreviewedFire {
  /** The instant, in UTC. */
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
