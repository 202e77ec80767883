/** Mainspring for programs: a client of its HTTP api, tasks, and the worker that runs them. */
export type {
  AttemptRecord,
  BatchItem,
  BatchRefusal,
  ChangedJob,
  DstPolicy,
  Execution,
  ExecutionError,
  ExecutionFilter,
  ExecutionState,
  ExecutionSummary,
  FieldError,
  Job,
  JobFilter,
  JobOptions,
  JobRequest,
  JobState,
  JobSummary,
  JobType,
  PreviewedFire,
  Priority,
  Problem,
  Recurrence,
  RetryPolicy,
  SchedulePreviewRequest,
  SubmittedJob,
  SubmittedRecurringJob,
} from "./api-types.ts";
export { Client, type ClientOptions, type SubmitOptions } from "./client.ts";
export { type AbortCause, AttemptAborted, type TaskContext } from "./context.ts";
export { ERROR_CODES, type ErrorCode, ExecutionFailed, MainspringError } from "./errors.ts";
export type { FollowOptions } from "./follow.ts";
export { JobHandle } from "./handle.ts";
export type { Isolation } from "./isolation.ts";
export type {
  ChangedPool,
  ClusterNode,
  ClusterStatus,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterRun,
  ExecutionEvent,
  Explanation,
  MissedJob,
  MissedJobs,
  OverdueJob,
  Pool,
  PoolSettings,
  SettledDeadLetter,
  Stats,
  TimeZoneData,
  WaitReason,
  WorkerDetail,
  WorkerExecution,
  WorkerInfo,
} from "./operator-types.ts";
export { printable, printableLines } from "./printable.ts";
export type {
  BackfillRequest,
  CatchUp,
  CronSchedule,
  IntervalSchedule,
  JobPlan,
  LedgerFilter,
  LedgerItem,
  RecurrenceOptions,
  RecurringJobRequest,
  StartedBackfill,
} from "./recurring-types.ts";
export type { ReadOptions } from "./requests.ts";
export { RetryAtError, TerminalError } from "./retry-errors.ts";
export { type IsolatedTaskOptions, type Task, type TaskOptions, type TaskSubmitOptions, task } from "./task.ts";
export { Worker, type WorkerOptions } from "./worker.ts";
export type { StopOptions } from "./worker-core.ts";
export type { FailedAttempt, HookedAttempt, Stall, SucceededAttempt, WorkerHooks } from "./worker-hooks.ts";
