/** Closed lists of values that the API and its clients share. This file imports nothing, so that every package may read it. */

export const EXECUTION_STATES = [
  "PENDING",
  "SCHEDULED",
  "RUNNING",
  "SUCCEEDED",
  "CANCELLED",
  "SKIPPED",
  "DEAD",
] as const;
export type ExecutionState = (typeof EXECUTION_STATES)[number];
/** Final states: an execution never leaves a final state. */
export const FINAL_STATES = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"] as const;
export type FinalState = (typeof FINAL_STATES)[number];

/**
 * States of a workflow's nodes. BLOCKED: the node waits for other nodes. The other ones are states of its execution; a node
 * can be SKIPPED without an execution.
 */
export const NODE_STATES = ["BLOCKED", ...EXECUTION_STATES] as const;
export type NodeState = (typeof NODE_STATES)[number];
/** Modes of a workflow's run, in the order in which a run goes through them. A run may leave some out. */
export const RUN_MODES = ["RUNNING", "FAILING", "CANCELLING", "EXPIRING", "COMPENSATING"] as const;
/** Ends of a run after which a workflow compensates its nodes. */
export const COMPENSATION_POLICIES = ["ON_FAILURE", "ON_FAILURE_OR_CANCEL", "NEVER"] as const;

/** Origin of an execution. NODE: a run of a workflow created it for one of its nodes. */
export const TRIGGERS = ["API", "RETRY", "SCHEDULE", "MANUAL", "BACKFILL", "NODE"] as const;
export type Trigger = (typeof TRIGGERS)[number];

/**
 * Outcome of an attempt. FAILED and TIMED_OUT count against `maxAttempts`, WORKER_LOST counts against `maxLost`,
 * RELEASED and SUSPENDED against neither. SUSPENDED: the handler sleeps or waits for signals, and holds no slot.
 */
export const ATTEMPT_STATES = [
  "SUCCEEDED",
  "FAILED",
  "TIMED_OUT",
  "CANCELLED",
  "WORKER_LOST",
  "RELEASED",
  "SUSPENDED",
] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

/**
 * Kinds of events. JobCreated to JobDeadLettered tell the life of an execution, JobFailed the end of an attempt that is not
 * SUCCEEDED, and JobSuspended that of one that sleeps or waits for signals; JobReplaced and JobDeleted tell changes of a job, and StepRecorded the value of a durable step,
 * and WorkerRegistered and WorkerDead the sessions of workers.
 */
export const EVENT_KINDS = [
  "JobCreated",
  "JobAssigned",
  "JobStarted",
  "JobFailed",
  "JobSuspended",
  "JobCompleted",
  "JobCancelled",
  "JobSkipped",
  "JobDeadLettered",
  "JobReplaced",
  "JobDeleted",
  "StepRecorded",
  "WorkerRegistered",
  "WorkerDead",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/**
 * States of a job. A one-time job is FINISHED when its executions are final, a recurring job when its plan has no
 * further instant. Only recurring jobs can be PAUSED.
 */
export const JOB_STATES = ["ACTIVE", "PAUSED", "FINISHED", "DELETED"] as const;
export type JobState = (typeof JOB_STATES)[number];

export const JOB_TYPES = ["ONCE", "CRON", "INTERVAL"] as const;
export type JobType = (typeof JOB_TYPES)[number];

/** Named priorities and their levels. */
export const PRIORITIES = { LOW: 2, NORMAL: 5, HIGH: 7, CRITICAL: 9 } as const;

/** Treatment of an instant while the previous execution is not final. */
export const OVERLAPS = ["ALLOW", "SKIP", "BUFFER_ONE", "CANCEL_PREVIOUS"] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** Treatment of instants that passed while no node could fire them. */
export const MISFIRES = ["SKIP", "FIRE_ONCE", "FIRE_ALL"] as const;
export type Misfire = (typeof MISFIRES)[number];

/** Order of the ready work of a pool. */
export const ORDER_STRATEGIES = ["PRIORITY", "FIFO"] as const;
export type OrderStrategy = (typeof ORDER_STRATEGIES)[number];

/** Choice of the worker for the next execution of a pool. */
export const PLACEMENT_STRATEGIES = ["LEAST_LOADED", "ROUND_ROBIN"] as const;
export type PlacementStrategy = (typeof PLACEMENT_STRATEGIES)[number];

export const NODE_ROLES = ["api", "scheduler", "gateway"] as const;

/** ON_FINISH: the receiver of ends of executions whose jobs name it. SUBSCRIPTION: the receiver of events that a filter chooses. */
export const WEBHOOK_KINDS = ["ON_FINISH", "SUBSCRIPTION"] as const;
export type WebhookKind = (typeof WEBHOOK_KINDS)[number];

/** FAILED: no try delivered it, and no further one follows. */
export const DELIVERY_STATES = ["PENDING", "DELIVERED", "FAILED"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** States of a request for a job that was written without the api. TAKEN_IN and REFUSED are final. */
export const REQUEST_STATES = ["ACCEPTED", "TAKEN_IN", "REFUSED"] as const;
export type RequestState = (typeof REQUEST_STATES)[number];

/** Ways by which requests for jobs come. */
export const REQUEST_SOURCES = ["SQL", "KAFKA"] as const;

/** Kinds of API keys. */
export const API_KEY_KINDS = ["CLIENT", "WORKER", "READER", "TENANT_ADMIN", "OPERATOR", "METRICS"] as const;
export type ApiKeyKind = (typeof API_KEY_KINDS)[number];
/** Rights that a key can have. Each operation of the API needs one of them, or is open to every key, or public. */
/** Kinds of actors in the audit log. */
export const AUDIT_ACTOR_KINDS = [...API_KEY_KINDS, "SYSTEM", "UNKNOWN"] as const;
export type AuditActorKind = (typeof AUDIT_ACTOR_KINDS)[number];

/** Outcomes in the audit log. */
export const AUDIT_OUTCOMES = ["DONE", "REFUSED", "VOID"] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export const SCOPES = [
  "jobs:submit",
  "jobs:write",
  "jobs:read",
  "runs:control",
  "tenant:admin",
  "worker:serve",
  "metrics:read",
  "system:admin",
  "tenants:act",
] as const;
export type Scope = (typeof SCOPES)[number];
/** States of a tenant. */
export const TENANT_STATES = ["ACTIVE", "SUSPENDED", "DELETING"] as const;
export type TenantState = (typeof TENANT_STATES)[number];
/** States that a change can give a tenant. */
export const TENANT_CHANGE_STATES = ["ACTIVE", "SUSPENDED"] as const;
/** Origins of requests without a key that a tenant can have. */
export const TENANT_SOURCE_KINDS = ["ROLE", "TOPIC"] as const;
/** Severities of alerts. */
/** Systems that can be the store. */
export const STORE_SYSTEMS = ["EMBEDDED", "POSTGRESQL", "REDIS"] as const;

/** Whether a store has a change on disk before it answers, or loses the last ones in a crash. */
export const DISK_CLASSES = ["ALWAYS", "RELAXED"] as const;

export const ALERT_SEVERITIES = ["PAGE", "TICKET"] as const;
/** Reasons why a living node is not in the series of figures. */
export const SILENCE_REASONS = ["NO_ANSWER", "OLDER"] as const;
/** States of an API key. */
export const API_KEY_STATES = ["ACTIVE", "EXPIRED", "REVOKED"] as const;
export type ApiKeyState = (typeof API_KEY_STATES)[number];

/**
 * Settings of a server whose values are secrets, or may contain one. A variable with `_FILE` at its end may name a file with the
 * value, and the command hides the values from other programs before it loads the server.
 */
export const SECRET_SETTINGS = [
  "MAINSPRING_API_KEY",
  "MAINSPRING_API_KEY_ALSO",
  "MAINSPRING_CLUSTER_SECRET",
  "MAINSPRING_CLUSTER_SECRET_ALSO",
  "MAINSPRING_WEBHOOK_SECRET",
  "MAINSPRING_WEBHOOK_SECRET_ALSO",
  "MAINSPRING_STORE",
  "MAINSPRING_CLICKHOUSE",
  "MAINSPRING_KAFKA",
  "MAINSPRING_ETCD",
  "MAINSPRING_REDIS",
  "MAINSPRING_OTLP_HEADERS",
] as const;
