import type { CatchUp, CronSchedule, IntervalSchedule, RecurrenceOptions } from "./recurring-types.ts";
import type { RecordedCheckpoint, RecordedStep } from "./step-types.ts";
import type { OnFinish } from "./webhook-types.ts";

/** Types of the HTTP API's requests and answers. Times in answers are ISO 8601 texts in UTC. */

export type ExecutionState = "PENDING" | "SCHEDULED" | "RUNNING" | "SUCCEEDED" | "CANCELLED" | "SKIPPED" | "DEAD";
export type JobState = "ACTIVE" | "PAUSED" | "FINISHED" | "DELETED";
export type JobType = "ONCE" | "CRON" | "INTERVAL";
export type Priority = number | "LOW" | "NORMAL" | "HIGH" | "CRITICAL";

/** A fault in one field of a request. */
export interface FieldError {
  /** JSON pointer or path of the field that is wrong. */
  field: string;
  /** The fault, and a value that would be right. */
  message: string;
  /** Position of the first wrong character, counted from 1, where the value is a text that was parsed. */
  position?: number;
}

/** Body of an error answer of the server: `application/problem+json` (RFC 9457). */
export interface Problem {
  /** Stable URI of the kind of error, under `/problems/`. */
  type: string;
  /** Name of the kind of error. */
  title: string;
  /** HTTP status. */
  status: number;
  /** Cause of the error, and how to fix it; absent: the title says all. */
  detail?: string;
  /** Faults of single fields; absent: none. */
  errors?: FieldError[];
}

export const FINAL_STATES: readonly ExecutionState[] = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];

/**
 * Rules for retries after failures. Absent fields have the server's defaults: 5 attempts, EXPONENTIAL from 1 s to 1 h,
 * jitter.
 */
export interface RetryPolicy {
  /** Number of attempts that may fail before the execution is DEAD; 1 or more. */
  maxAttempts?: number;
  /** FIXED: every delay is `initialDelayMs`. EXPONENTIAL: each delay is twice the one before. */
  backoff?: "FIXED" | "EXPONENTIAL";
  /** Delay of the first retry, in milliseconds. */
  initialDelayMs?: number;
  /** Longest delay, in milliseconds. */
  maxDelayMs?: number;
  /** Whether each delay is shortened at random to between half of it and all of it. */
  jitter?: boolean;
}

/** When and how a job runs. Every field is optional. */
export interface JobOptions {
  /** Name of the job, 1 to 255 characters; unique among recurring jobs that are not deleted. */
  name?: string;
  /** Time at which the job runs: a Date, or ISO 8601 with a zone. A time in the past means now. Excludes `delayMs`. */
  runAt?: Date | string;
  /** Delay until the job runs, in milliseconds from now. Excludes `runAt`. */
  delayMs?: number;
  /** Priority: 0 to 9, or LOW (2), NORMAL (5, the default), HIGH (7), CRITICAL (9). */
  priority?: Priority;
  /** Rules for retries after failures. */
  retryPolicy?: RetryPolicy;
  /** Hard limit of the run time of one attempt, in seconds; default 3600. */
  timeoutSec?: number;
  /** Longest time from the due time of an execution to its end, over all attempts, in seconds; default 31,536,000. */
  maxLifetimeSec?: number;
  /** Latest start of the execution. An execution that has not started by then is SKIPPED. */
  startBefore?: Date | string;
  /** Concurrency key: at most `concurrencyLimit` executions with the same key run at once. */
  concurrencyKey?: string;
  /** Number of executions with the same `concurrencyKey` that may run at once; default 1. */
  concurrencyLimit?: number;
  /**
   * Unique key: while an execution with this key is not final, a submit creates nothing and returns the ids of that
   * execution's job. Once that execution is final, the key is free and a submit creates a new job. A program that is
   * not sure whether its submit arrived uses `idempotencyKey` instead.
   */
  uniqueKey?: string;
  /** Labels for filters of lists; up to 64. */
  labels?: Record<string, string>;
  /** Number of lost workers after which the execution is DEAD; default 3. */
  maxLost?: number;
  /** Consequence of a lost worker: RETRY (default) runs the execution again, DEAD ends it. */
  onWorkerLost?: "RETRY" | "DEAD";
  /** Time that a cancelled handler has to stop, in seconds; default 10. */
  cancelGraceSec?: number;
  /** Receiver of a webhook when an execution of the job is final. */
  onFinish?: OnFinish;
}

/** Body of POST /v1/jobs for a one-time job. */
export interface JobRequest extends JobOptions {
  /** Handler, pool of the workers (default "default"), and capabilities that a worker must have. */
  target: { handler: string; pool?: string; requires?: readonly string[] };
  /** Input of the handler: any JSON value, at most 1 MiB. */
  payload?: unknown;
}

/** Answer to the submit of a one-time job. */
export interface SubmittedJob {
  /** Id of the job. */
  jobId: string;
  /** State of the job: ACTIVE. */
  state: JobState;
  /** Id of the job's execution. */
  executionId: string;
  /**
   * true: another job's execution holds the unique key, and the ids of this answer are those of that job. Absent: the
   * job is new.
   */
  deduplicated?: boolean;
  /**
   * Request that will become the job, where the server takes jobs through Kafka: `requests.get` tells when it is TAKEN_IN. The
   * job and its execution are not found before. Absent: the job is there.
   */
  request?: string;
  /** Possible mistakes, as a handler that no worker offers now, each with what to do; absent: none. */
  warnings?: string[];
}

/** Answer to the submit of a recurring job. */
export interface SubmittedRecurringJob {
  /** Id of the job. */
  jobId: string;
  /** State of the job: ACTIVE. */
  state: JobState;
  /** First planned time. Absent where there is a `request`. */
  nextFireAt: string;
  /** Request that will become the job, where the server takes jobs through Kafka. Absent: the job is there. */
  request?: string;
  /** Possible mistakes, and values that the next release refuses, each with what to do; absent: none. */
  warnings?: string[];
}

/** Answer to a change of a job's definition. */
export interface ChangedJob {
  /** Id of the job. */
  jobId: string;
  /** State after the change. */
  state: JobState;
  /** Version of the job's definition, from 1. */
  version: number;
  /** Whether the definition has changed; false: the job already had this definition. */
  changed: boolean;
  /** Next planned time of the job; null: the time has come, the execution is running, or the plan is not made yet. */
  nextFireAt: string | null;
  /** Id of the job's execution that has not ended; null: there is none, or the job recurs. */
  executionId: string | null;
  /**
   * Definition by which the job's execution runs (of a recurring job: every later execution). REPLACED: the new
   * definition. KEPT: the old definition, because a worker already had the execution. REQUESTED: not known yet, because
   * the owner of the execution has not answered. UNCHANGED: the old and the new definition are the same. CREATED: the
   * job is new.
   */
  execution: "REPLACED" | "KEPT" | "REQUESTED" | "UNCHANGED" | "CREATED";
  /** Possible mistakes, and values that the next release refuses, each with what to do; absent: none. */
  warnings?: string[];
}

/** One item of the answer to a batch. Items have the order of the jobs. */
export type BatchItem = SubmittedJob | BatchRefusal;
/** A job of a batch that the server refused. */
export interface BatchRefusal {
  /** Position of the job in the batch, from 0. */
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
  /** State of the job. FINISHED: nothing of the job is left to run. Only recurring jobs can be PAUSED. */
  state: JobState;
  /** Version of the definition, from 1. */
  version: number;
  /** Time of the next planned run, while that time lies ahead; null: no time lies ahead, or the job is PAUSED. */
  nextFireAt: string | null;
  /** Planned time of a one-time job; absent where the job recurs. */
  runAt?: string;
  /** Pool and handler. */
  target: { pool: string; handler: string };
  /** Priority of the job, 0 to 9. */
  priority: number;
  /** Labels as submitted. */
  labels: Record<string, string>;
  /** Time of the submission. */
  createdAt: string;
  /** Time of the last change. */
  updatedAt: string;
}

/** Schedule and progress of a recurring job. Fields that do not apply to the job are absent. */
export interface Recurrence
  extends Omit<RecurrenceOptions, "startAt" | "endAt">,
    Partial<Omit<CronSchedule, "everySec">>,
    Partial<Omit<IntervalSchedule, "schedule">> {
  /** Earliest planned time of the job. */
  startAt?: string;
  /** End of the schedule: the job plans nothing at or after this time. */
  endAt?: string;
  /** Number of times that the job has fired. */
  fires?: number;
  /** Past ranges whose instants the server is running now: catch-ups and backfills. */
  catchUps?: CatchUp[];
}

/** A job with all its fields, defaults included. */
export interface Job extends JobSummary, Recurrence {
  /** Pool, handler, and capabilities that a worker must have. */
  target: { pool: string; handler: string; requires: string[] };
  /** Payload as submitted; null: none. */
  payload: unknown;
  /** Latest start of the execution, which is SKIPPED if it has not started by then; null: no limit. */
  startBefore: string | null;
  /** Retries after failures. */
  retryPolicy: Required<RetryPolicy>;
  /** Hard limit of the run time of one attempt, in seconds. */
  timeoutSec: number;
  /** Longest time from the due time of an execution to its end, in seconds, over all attempts. */
  maxLifetimeSec: number;
  /** Time that a cancelled handler has to stop, in seconds. */
  cancelGraceSec: number;
  /** Number of lost workers after which the execution is DEAD. */
  maxLost: number;
  /** Consequence of a lost worker: RETRY runs the execution again, DEAD ends it. */
  onWorkerLost: "RETRY" | "DEAD";
  /** Receiver of a webhook when an execution of the job is final; null: none. */
  onFinish: OnFinish | null;
  /** Concurrency key: at most `concurrencyLimit` executions with the same key run at once; null: no key. */
  concurrencyKey: string | null;
  /** Number of executions with the same `concurrencyKey` that may run at once. */
  concurrencyLimit: number;
  /** Unique key, which at most one execution that is not final has; null: no key. */
  uniqueKey: string | null;
  /** The newest five executions of the job. */
  latestExecutions: ExecutionSummary[];
}

/** Error of a failed attempt. */
export interface ExecutionError {
  /** Name of the error's class. */
  name: string;
  /** Text of the error. */
  message: string;
  /** Stack trace of the handler, up to 8 KiB; absent: the worker sent none. */
  stack?: string;
}

/** An attempt that has ended. */
export interface AttemptRecord {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Id of the worker that had the attempt. */
  workerId: string;
  /**
   * Outcome of the attempt. FAILED and TIMED_OUT count against `maxAttempts`, WORKER_LOST counts against `maxLost`,
   * RELEASED and SUSPENDED count against neither. SUSPENDED: the handler sleeps or waits for signals.
   */
  state: "SUCCEEDED" | "FAILED" | "TIMED_OUT" | "CANCELLED" | "WORKER_LOST" | "RELEASED" | "SUSPENDED";
  /** Time at which the handler started; null: the handler never started. */
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
  trigger: "API" | "RETRY" | "SCHEDULE" | "MANUAL" | "BACKFILL" | "NODE";
  /** Id of the execution that this one repeats; null: none. */
  retryOf: string | null;
  /** Version of the job's definition by which the execution runs. */
  jobVersion: number;
  /** SUCCEEDED, CANCELLED, SKIPPED and DEAD are final. */
  state: ExecutionState;
  /** Reason of the state; null: the state says enough. */
  reason: string | null;
  /** Number of the current or last attempt; 0: no attempt yet. */
  attempt: number;
  /** Number of attempts that failed or timed out. */
  failures: number;
  /** Number of attempts whose worker was lost. */
  lost: number;
  /** Number of failures after which the execution is DEAD. */
  maxAttempts: number;
  /** Pool whose workers run the execution. */
  pool: string;
  /** Name of the handler. */
  handler: string;
  /** Priority of the execution, 0 to 9. */
  priority: number;
  /** Time at which the execution is planned to run. */
  scheduledAt: string;
  /** Id of the worker that has the execution, or had it last; null: no worker yet. */
  assignedWorker: string | null;
  /** Time at which the first attempt that started did so; null: none has started. */
  startedAt: string | null;
  /** Time at which the execution became final; null: the execution is not final. */
  finishedAt: string | null;
  /** First start minus scheduled time (of a backfill: minus the creation time), in milliseconds; null: not started. */
  latenessMs: number | null;
  /** Time at which the execution was created. */
  createdAt: string;
  /** Time at which the execution's row was last written. */
  updatedAt: string;
}

/** An execution with its payload, result and attempts. */
export interface Execution<R = unknown> extends ExecutionSummary {
  /** Id of a run of a workflow: the execution is the run or a node of it; absent: it is neither. */
  workflowId?: string;
  /** Name of the node in the workflow; absent: the execution is no node. */
  node?: string;
  /** Payload as submitted; null: none. */
  payload: unknown;
  /** Result of the handler; null unless the execution is SUCCEEDED. */
  result: R | null;
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
  /** Latest progress that the running attempt reported; null: none was reported, or no attempt runs. */
  progress: { fraction: number; message: string; at: string } | null;
  /** Attempts that have ended, the oldest first. */
  attempts: AttemptRecord[];
  /** Durable steps, in the order in which they were recorded; `getExecutionSteps` reads their values. */
  steps: RecordedStep[];
  /** Newest checkpoint; null: none. */
  checkpoint: RecordedCheckpoint | null;
}

export interface JobFilter {
  state?: JobState;
  type?: JobType;
  pool?: string;
  handler?: string;
  name?: string;
  /** Labels that a job must have, all of them: each is `key` or `key=value`. */
  label?: string | readonly string[];
  /** Prefix of the jobs' ids. */
  idPrefix?: string;
  /** Number of jobs per page; 1 to 1000, default 50. */
  limit?: number;
}

/** Conditions that an execution must meet, all of them; {} matches every execution. */
export interface ExecutionRunFilter {
  state?: ExecutionState;
  pool?: string;
  handler?: string;
  /** Id of the job. */
  jobId?: string;
  /** Labels of the job as `key` or `key=value`, up to 8. The job must have all of them. */
  label?: readonly string[];
  /**
   * Text within the name and message of the error, in capital or small letters. Needs `state`, `since`, and at most a day
   * between `since` and `until` (default: now).
   */
  error?: string;
  /** Earliest creation time. */
  since?: Date | string;
  /** End of the range of creation times, not included. */
  until?: Date | string;
  /** Prefix of the executions' ids. */
  idPrefix?: string;
}

export interface ExecutionFilter extends ExecutionRunFilter {
  /** Id or name of the job whose executions are listed. */
  jobId?: string;
  /** Number of executions per page; 1 to 1000, default 50. */
  limit?: number;
}
