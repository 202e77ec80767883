/** SDK of Mainspring: a client of the HTTP API, tasks, and the worker that runs them. */

export type { ApiKeyOption } from "./client/api-key.ts";
export type { ApiKeyInfo, ApiKeyKind, ApiKeyRequest, ApiKeyScope, CreatedApiKey, Me } from "./client/api-keys.ts";
export type {
  AttemptRecord,
  BatchItem,
  BatchRefusal,
  ChangedJob,
  Execution,
  ExecutionError,
  ExecutionFilter,
  ExecutionRunFilter,
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
  Priority,
  Problem,
  Recurrence,
  RetryPolicy,
  SubmittedJob,
  SubmittedRecurringJob,
} from "./client/api-types.ts";
export type { AuditActorKind, AuditAnchor, AuditChainHead, AuditFilter, AuditRecord } from "./client/audit.ts";
export { Client } from "./client/client.ts";
export type { ClientOptions } from "./client/client-options.ts";
export type {
  ExecutionCount,
  ExecutionRun,
  ExecutionRunAction,
  ExecutionRunOptions,
  ExecutionRuns,
} from "./client/execution-runs.ts";
export type { ExecutionEvent, FollowOptions } from "./client/follow.ts";
export { JobHandle } from "./client/handle.ts";
export type { Handler, HandlerFilter, HandlerPolicies } from "./client/handler-types.ts";
export type { IngestMove, IngestPartition, IngestStatus } from "./client/ingest.ts";
export type { EventData, EventFilter, EventKind, LifecycleEvent } from "./client/lifecycle-event-types.ts";
export type {
  AttemptLogs,
  ChangedPool,
  ClusterNode,
  ClusterStatus,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterRun,
  Explanation,
  LoggedLine,
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
} from "./client/operator-types.ts";
export type {
  BackfillRequest,
  CatchUp,
  CronSchedule,
  DescribedSchedule,
  DstPolicy,
  IntervalSchedule,
  JobPlan,
  LedgerFilter,
  LedgerItem,
  PreviewedFire,
  RecurrenceOptions,
  RecurringJobRequest,
  SchedulePreviewRequest,
  StartedBackfill,
} from "./client/recurring-types.ts";
export type { JobRequestState, JobRequestSummary, RequestState } from "./client/request-types.ts";
export type { ReadOptions } from "./client/requests.ts";
export type { FigureSeries, FiringAlert, PointValues, PoolSeries, SilentNode } from "./client/series-types.ts";
export type {
  ExecutionSteps,
  OpenSignal,
  RecordedCheckpoint,
  RecordedStep,
  RecordedWait,
  SentSignal,
  SignalOptions,
} from "./client/step-types.ts";
export type { SubmitOptions } from "./client/submit-options.ts";
export type { Tenant, TenantSettings, TenantSource, TenantUsage } from "./client/tenants.ts";
export type {
  CreatedWebhook,
  OnFinish,
  ReplayRequest,
  RotatedSecret,
  WebhookDelivery,
  WebhookInfo,
  WebhookRequest,
} from "./client/webhook-types.ts";
export { WorkflowHandle } from "./client/workflow-handle.ts";
export type {
  DeduplicatedWorkflow,
  FailedNode,
  KeptFrom,
  NodeCompensation,
  NodeExplanation,
  PlannedWorkflow,
  ResultsOptions,
  RetriedWorkflow,
  RunMode,
  SubmittedWorkflow,
  Workflow,
  WorkflowEvent,
  WorkflowFilter,
  WorkflowGraph,
  WorkflowGraphNode,
  WorkflowItem,
  WorkflowNode,
  WorkflowNodeState,
  WorkflowResult,
  WorkflowSummary,
} from "./client/workflow-types.ts";
export type { Workflows } from "./client/workflows.ts";
export {
  ERROR_CODES,
  type ErrorCode,
  EventsGone,
  EventsOff,
  ExecutionFailed,
  MainspringError,
  WorkflowFailed,
} from "./errors.ts";
export { type AbortCause, AttemptAborted, type TaskContext } from "./handlers/context.ts";
export type { Middleware, MiddlewareContext } from "./handlers/middleware.ts";
export { RetryAtError, TerminalError } from "./handlers/retry-errors.ts";
export type { SpawnNode, SpawnOptions } from "./handlers/spawn.ts";
export type {
  FailedAttempt,
  HookedAttempt,
  Stall,
  SucceededAttempt,
  SuspendedAttempt,
  WorkerHooks,
} from "./handlers/worker-hooks.ts";
export type { Isolation } from "./isolation/isolation.ts";
export type { Jsonify, ResultOf } from "./jsonify.ts";
export { printable, printableLines } from "./printable.ts";
export type { CertificateFiles } from "./session/worker-certificate.ts";
export type {
  Checkpoint,
  ReceivedSignal,
  StepDuration,
  StepName,
  StepOptions,
  StepResult,
  Steps,
  WaitForSignalOptions,
} from "./steps/step-context.ts";
export { STEP_ERRORS, StepError, type StepErrorName } from "./steps/step-error.ts";
export { type IsolatedTaskOptions, type Task, type TaskOptions, type TaskSubmitOptions, task } from "./task.ts";
export type { TaskKey, TaskPolicies } from "./task-policies.ts";
export {
  APPLICATION_LABEL,
  type AppliedSchedules,
  type ScheduleOptions,
  type ScheduleTimes,
  type TaskSchedule,
} from "./task-schedules.ts";
export { Worker, type WorkerOptions } from "./worker.ts";
export type { StopOptions } from "./worker-core.ts";
export type { Ref, WithRefs } from "./workflows/ref.ts";
export type { ScheduledWorkflow } from "./workflows/scheduled-workflow.ts";
export {
  type DefinedWorkflow,
  type OutputOf,
  type WorkflowOptions,
  type WorkflowSchedule,
  type WorkflowSubmitOptions,
  workflow,
} from "./workflows/workflow.ts";
export type {
  MapOptions,
  NodeEnd,
  NodeOptions,
  NodeRef,
  SubWorkflowOptions,
  WorkflowBuilder,
} from "./workflows/workflow-builder.ts";
export type {
  CompensationPolicy,
  NodeKey,
  NodePolicies,
  RecurringWorkflowRequest,
  SubWorkflowRequest,
  WorkflowCompensation,
  WorkflowDependency,
  WorkflowNodeRequest,
  WorkflowRequest,
  WorkflowTarget,
} from "./workflows/workflow-requests.ts";
