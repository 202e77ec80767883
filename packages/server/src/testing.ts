/** The door for the repository's own tools and tests that need a part of the server rather than a whole one. */
export { type EmbeddedPostgres, startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
export { memoryBus } from "./adapters/memory/memory-bus.ts";
export { soloLeases } from "./adapters/memory/solo-leases.ts";
export { MeshBus } from "./adapters/mesh/mesh-bus.ts";
export { LOOKED_AT } from "./adapters/sql/executions/list-walk.ts";
export { openSqlStore, type SqlStore } from "./adapters/sql/sql-store.ts";
export { systemRuntime } from "./adapters/system/system-runtime.ts";
export { packagedZones, readZoneFolder, usePackagedZones } from "./adapters/system/time-zone-data.ts";
export { BODY_BUDGET_BYTES } from "./api/body-budget.ts";
export { Commands } from "./api/commands.ts";
export { createApi } from "./api/create-api.ts";
export { createIntake } from "./api/create-intake.ts";
export { DeadLetterRuns } from "./api/dead-letter-runs.ts";
export { describeProblem, PROBLEM_NAMES } from "./api/errors.ts";
export { STREAM_MAX_MS } from "./api/events-route.ts";
export { FOLLOWERS_MAX } from "./api/followers.ts";
export { HTTP_LIMITS } from "./api/http-server.ts";
export { Inbox } from "./api/inbox.ts";
export { type ChangedJob, JobChanger } from "./api/job-changer.ts";
export type { JobIntake } from "./api/job-intake.ts";
export { JobPlans } from "./api/job-plans.ts";
export { JobRuns } from "./api/job-runs.ts";
export { type ChangedPool, PoolChanger } from "./api/pool-changer.ts";
export { PoolOrders } from "./api/pool-orders.ts";
export { WAITERS_MAX } from "./api/waiters.ts";
export { linkTo } from "./builtin-worker.ts";
export { type Changeover } from "./domain/changeover.ts";
export { FEATURE_LEVEL } from "./domain/cluster/feature-level.ts";
export type {
  Candidate,
  EndedAttempt,
  ExecutionError,
  ExecutionState,
  Queue,
  Trigger,
} from "./domain/execution.ts";
export { isFinal } from "./domain/execution.ts";
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
export { invariant } from "./domain/invariant.ts";
export type { JobState, JobType } from "./domain/job.ts";
export { defaultPool, type Pool } from "./domain/pool.ts";
export { rankOf } from "./domain/rank.ts";
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
export { Heap } from "./engine/heap.ts";
export type { ConnectedWorker, WorkerConnection } from "./gateway/connections/connection.ts";
export { WorkerIntake } from "./gateway/connections/worker-intake.ts";
export { createGateway, type Gateway } from "./gateway/gateway.ts";
export { WORKER_LIMITS } from "./gateway/limits.ts";
export { Membership } from "./membership.ts";
export { describeKeys, OTHER_VARIABLES } from "./ops/config.ts";
export { createLog } from "./ops/logging.ts";
export { createMetrics } from "./ops/metrics.ts";
export { FIGURES, type Figure, PREFIX, PROCESS_FIGURES } from "./ops/metrics-catalogue.ts";
export type { Bus, Envelope, Mail, Role } from "./ports/bus.ts";
export { storeConformance } from "./ports/conformance/store.conformance.ts";
export { Scene, takeShards } from "./ports/conformance/store-scene.conformance.ts";
export { type KnownNode, type Leases, LeasesUnavailable, type NodeLease, type NodeProfile } from "./ports/leases.ts";
export { ledgerPage, ledgerStart, type SkippedInstants } from "./ports/ledger-page.ts";
export type { Assignment, FromGateway } from "./ports/messages.ts";
export type { ApiMetrics, Metrics } from "./ports/metrics.ts";
export { OwnerMap } from "./ports/owner-map.ts";
export type { Runtime, Timer } from "./ports/runtime.ts";
export * from "./ports/store.ts";
export type * from "./ports/store-dead-letters.ts";
export type * from "./ports/store-jobs.ts";
export type * from "./ports/store-queries.ts";
export type { OverdueJob } from "./ports/store-queries.ts";
export type * from "./ports/store-recurrences.ts";
export type { StoreTimeZones } from "./ports/store-time-zones.ts";
export { ALONE, SHARED } from "./scheduler/ownership/holdings.ts";
export { Scheduler, type SchedulerParts } from "./scheduler/scheduler.ts";
export { followStoreClock } from "./scheduler/store-clock.ts";
export { fixedRules, TimeZones } from "./time-zones.ts";
