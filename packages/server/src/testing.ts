/** Exports for the repository's own tools and tests that need a part of the server rather than a whole one. */

export { AuditVerifier } from "@mainspring/contract/audit-log";
export { packagedBinaries, readyBinaries } from "./adapters/embedded/binaries.ts";
export { type EmbeddedPostgres, startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
export { copyOfBinaries } from "./adapters/embedded/shared-folder.ts";
export { EXPANDED_MAX_BYTES } from "./adapters/kafka/expansion.ts";
export { MeshBus } from "./adapters/mesh/mesh-bus.ts";
export { RawStream } from "./adapters/mesh/raw-stream.fixture.ts";
export type { Latency } from "./adapters/simulated/fate.ts";
export type { AppliedChange, AppliedPlan, Committed, TakenOver, WentBack } from "./adapters/simulated/history.ts";
export {
  latencyAtOnce,
  noFaults,
  randomLatency,
  type StoreFaultProfile,
} from "./adapters/simulated/random-latency.ts";
export type { JobRow } from "./adapters/simulated/rows/job-table.ts";
export { putPool } from "./adapters/simulated/rows/reads.ts";
export type { RunRow } from "./adapters/simulated/rows/run-table.ts";
export { IndexData } from "./adapters/simulated/sim-index.ts";
export { type Tables } from "./adapters/simulated/store-data.ts";
export {
  CONNECTIONS_MAX as STORE_CONNECTIONS_MAX,
  POOL_SIZES as STORE_POOL_SIZES,
} from "./adapters/sql/connection/purposes.ts";
export { LOOKED_AT } from "./adapters/sql/executions/list-walk.ts";
export { openSqlStore, type SqlStore } from "./adapters/sql/sql-store.ts";
export { systemRuntime } from "./adapters/system/system-runtime.ts";
export { packagedZones, readZoneFolder } from "./adapters/system/time-zone-data.ts";
export { until } from "./adapters/system/until.fixture.ts";
export { Commands } from "./api/commands.ts";
export { DeadLetterRuns } from "./api/dead-letters/dead-letter-runs.ts";
export { decodePosition } from "./api/events/position-token.ts";
export { cancelOrKeep } from "./api/executions/cancel-route.ts";
export { CancelSettler } from "./api/executions/cancel-settler.ts";
export { LiveView } from "./api/executions/live.ts";
export { passSignal, sendSignal } from "./api/executions/signal-route.ts";
export { FOLLOWERS_MAX } from "./api/executions/stream-seats.ts";
export { STREAM_MAX_MS } from "./api/executions/stream-until-final.ts";
export { WAITERS_MAX } from "./api/executions/waiters.ts";
export { PolicyBook } from "./api/handlers/kept-policies.ts";
export { BODY_BUDGET_BYTES } from "./api/http/body/body-budget.ts";
export { describeProblem, PROBLEM_NAMES, ProblemError } from "./api/http/errors.ts";
export { HTTP_LIMITS } from "./api/http/http-server.ts";
export { Inbox } from "./api/inbox.ts";
export { type ChangedJob, JobChanger } from "./api/jobs/job-changer.ts";
export { JobRuns } from "./api/jobs/job-runs.ts";
export { tellKeysChanged } from "./api/keys/key-routes.ts";
export { type ChangedPool, PoolChanger } from "./api/pools/pool-changer.ts";
export { PoolNames } from "./api/pools/pool-names.ts";
export { PoolOrderings } from "./api/pools/pool-orderings.ts";
export { Quotas } from "./api/quotas/quotas.ts";
export { JobPlans } from "./api/recurring/job-plans.ts";
export { JobAcceptor } from "./api/requests/job-acceptor.ts";
export { RECORD_READ_BOUNDS, RecordTaker } from "./api/requests/record-taker.ts";
export { JobRequestJudge } from "./api/requests/request-judge.ts";
export { RequestSender, SENDER_LIMITS } from "./api/requests/request-sender.ts";
export { RequestTaker } from "./api/requests/request-taker.ts";
export { createIntake, createSubmitter } from "./api/submit/create-intake.ts";
export { jobDefinition } from "./api/submit/job-definition.ts";
export type { JobIntake } from "./api/submit/job-intake.ts";
export { newJob } from "./api/submit/new-job.ts";
export { OwnShards } from "./api/submit/own-shards.ts";
export { compileTemplates } from "./api/workflows/compile-templates.ts";
export { type GraphParts, newWorkflow } from "./api/workflows/new-workflow.ts";
export { RunReader } from "./api/workflows/run-picture.ts";
export { WorkflowIntake } from "./api/workflows/workflow-intake.ts";
export { WorkflowRetrier } from "./api/workflows/workflow-retrier.ts";
export { KEY_RANDOM_CHARS, keyHint, keyText, SCOPES_OF } from "./domain/api-key.ts";
export { type Changeover } from "./domain/changeover.ts";
export type { Candidate, EndedAttempt, ExecutionError, Queue, Trigger } from "./domain/execution.ts";
export {
  type Epoch,
  type EpochMs,
  type ExecutionId,
  type Incarnation,
  type JobId,
  SHARD_COUNT,
  type ShardId,
  type WorkerId,
} from "./domain/ids.ts";
export { RECORD_AGE_MAX_MS } from "./domain/ingest.ts";
export { invariant } from "./domain/invariant.ts";
export type { JobState, JobType } from "./domain/job.ts";
export { laneHash } from "./domain/lane.ts";
export { END_KINDS, eventId, type LifecycleEvent } from "./domain/lifecycle-event.ts";
export { defaultPool, type Pool } from "./domain/pool.ts";
export { DEFAULT_ORDERING, rankOf } from "./domain/rank.ts";
export type { Plan, RecurrenceRule, Skip } from "./domain/recurrence.ts";
export { isRecurringJobId } from "./domain/recurrence.ts";
export { isSameDefinition } from "./domain/same-definition.ts";
export { readCron } from "./domain/schedule/cron/cron-text.ts";
export { firstFire, nextFire } from "./domain/schedule/fires.ts";
export type { Schedule } from "./domain/schedule/schedule.ts";
export { spreadShiftMs } from "./domain/schedule/spread.ts";
export { zoneOffsetSec } from "./domain/schedule/testing/offset.ts";
export { oracleFires } from "./domain/schedule/testing/oracle.ts";
export { walk } from "./domain/schedule/testing/walk.ts";
export { checkZoneFiles, type ZoneFilesText, zoneFilesOf } from "./domain/schedule/zones/zone-files.ts";
export { ALERT_RULES, UNJUDGED_ALERTS } from "./domain/series/alert-rules.ts";
export { TENANT_DEFAULTS } from "./domain/tenant.ts";
export { compensationOf, isCompensation, nodeOfCompensation } from "./domain/workflow/compensation-number.ts";
export { compileGraph } from "./domain/workflow/compile-graph.ts";
export type { WorkflowNode } from "./domain/workflow/definition.ts";
export { itemsOfRanges } from "./domain/workflow/kept-nodes.ts";
export { nodeExecutionId } from "./domain/workflow/node-id.ts";
export { RunProgress } from "./domain/workflow/readiness.ts";
export { decodeNodes } from "./domain/workflow/stored-nodes.ts";
export { DEFAULT_LIMITS as ENGINE_LIMITS } from "./engine/inputs.ts";
export { BesideStore } from "./gateway/beside-store.ts";
export type { ConnectedWorker, WorkerConnection } from "./gateway/connections/connection.ts";
export { WorkerIntake } from "./gateway/connections/worker-intake.ts";
export { AHEAD_MAX, WORKER_LIMITS } from "./gateway/limits.ts";
export { WorkerEvents } from "./gateway/worker-events.ts";
export { Membership } from "./membership.ts";
export { describeKeys, OTHER_VARIABLES } from "./ops/config.ts";
export { createMetrics } from "./ops/metrics.ts";
export { FIGURES, type Figure, PREFIX, PROCESS_FIGURES } from "./ops/metrics-catalogue.ts";
export * from "./parts.ts";
export { sha256 } from "./ports/audit-chain.ts";
export type { Bus, Envelope, Mail, Receiver as MailReceiver, Role } from "./ports/bus.ts";
export { storeConformance } from "./ports/conformance/store.conformance.ts";
export { Scene, takeShards } from "./ports/conformance/store-scene.conformance.ts";
export { type EventSink, SinkUnavailable } from "./ports/event-sink.ts";
export { type KnownNode, type Leases, LeasesUnavailable, type NodeLease } from "./ports/leases.ts";
export { ledgerPage, ledgerStart, type SkippedInstants } from "./ports/ledger-page.ts";
export type { Assignment, FromGateway } from "./ports/messages.ts";
export type { ApiMetrics, Metrics } from "./ports/metrics.ts";
export { OwnerMap } from "./ports/owner-map.ts";
export {
  type LogPortion,
  type LogRecord,
  type NewLogRecord,
  type RequestLog,
  type RequestLogReader,
  RequestLogUnavailable,
  type RequestLogWriter,
} from "./ports/request-log.ts";
export type { Timer } from "./ports/runtime.ts";
export {
  CANCELS_KEPT_MS,
  CANCELS_MAX,
  IndexUnavailable,
  REGISTRY_GATEWAYS_MAX,
  REGISTRY_KEPT_MS,
  type SideIndex,
} from "./ports/side-index.ts";
export * from "./ports/store.ts";
export type { AuditAnchor, AuditNote, AuditRecord } from "./ports/store-audit.ts";
export type * from "./ports/store-commands.ts";
export type * from "./ports/store-dead-letters.ts";
export type { EventRow } from "./ports/store-events.ts";
export { REFUSED_VALUE_MAX } from "./ports/store-ingest.ts";
export type * from "./ports/store-jobs.ts";
export type { ApiKey, NewApiKey } from "./ports/store-keys.ts";
export type * from "./ports/store-queries.ts";
export type { OverdueJob } from "./ports/store-queries.ts";
export type * from "./ports/store-recurrences.ts";
export { REQUESTS_KEPT_DAYS } from "./ports/store-requests.ts";
export type { NewPart } from "./ports/store-runs.ts";
export type { StoreTimeZones } from "./ports/store-time-zones.ts";
export { type Delivery, SUBSCRIPTIONS_MAX } from "./ports/store-webhooks.ts";
export { Turns } from "./ports/turns.ts";
export type { WebhookPost } from "./ports/webhook-post.ts";
export { Relays } from "./relay/relays.ts";
export { EACH_MAX } from "./relay/webhooks/flights.ts";
export { ANSWER_WITHIN_MS, WebhookSender } from "./relay/webhooks/webhook-sender.ts";
export { SHARED } from "./scheduler/ownership/shard-ownership.ts";
export { type SchedulerDependencies } from "./scheduler/scheduler.ts";
export { AuditAnchors } from "./security/audit-anchors.ts";
export { KeyAuthenticator } from "./security/key-authenticator.ts";
export { KeyRing } from "./security/key-ring.ts";
export { measureAuthentication } from "./security/measure.ts";
export { digestOf, SettingsKeys } from "./security/settings-keys.ts";
export { tenantOf } from "./security/tenant.ts";
export { TenantRing } from "./security/tenant-ring.ts";
export { TenantStores } from "./security/tenant-stores.ts";
export { TimeZones } from "./time-zones.ts";
export { Receiver, SECRET } from "./webhooks.fixture.ts";
