import { type Candidate, RUN_NODE } from "../../domain/execution.ts";
import { type EpochMs, firstExecutionId, type JobId, type ShardId, shardKey, shardOf } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import { type Ordering, rankOf } from "../../domain/rank.ts";
import { type RecurrenceRule, recurringJobId, scheduleOf } from "../../domain/recurrence.ts";
import { firstFire } from "../../domain/schedule/fires.ts";
import { steeredId } from "../../domain/steered-id.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { NewJob, NewRecurringJob } from "../../ports/store.ts";
import type { NewRun } from "../../ports/store-jobs.ts";
import type { NewRetry, NewWorkflow } from "../../ports/store-runs.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import type { OwnShards } from "./own-shards.ts";

/** Dependencies for making rows of jobs. */
export interface JobMaker {
  runtime: Runtime;
  /** The time zone data that first fires are worked out by. */
  zones: TimeZoneRules;
  /** Left out: every node knows everything. */
  lacking?: Lacking | undefined;
  /** Log of what the next release refuses; left out: there is none. */
  warnings?: CountedWarnings | undefined;
  /** Shards of this node for new jobs; left out: jobs are in the shards of their random ids. */
  ownShards?: Pick<OwnShards, "next"> | undefined;
}

/**
 * A job as the store takes it, with its first execution or its first fire.
 * @param payload JSON text; null: none
 * @param id UUIDv7 for the job, which a recurring job gets in the range of recurring jobs; null: a new one
 * @returns null: it recurs and never fires
 * @throws {ProblemError} 409: a living node lacks a feature that the job needs
 */
export function jobRow(
  tenant: Tenant,
  definition: JobDefinition,
  payload: Uint8Array | null,
  ordering: Ordering,
  createdAt: EpochMs,
  maker: JobMaker,
  id: string | null = null,
): NewJob | NewRecurringJob | null {
  const { recurrence } = definition;
  requireFeatures(definition, maker.lacking);
  if (recurrence === null)
    return newJob(tenant, definition, payload, ordering, createdAt, id ?? newJobId(definition, createdAt, maker));
  return newRecurringJob(tenant, { ...definition, recurrence }, payload, createdAt, maker, id);
}

/**
 * Refuses a job for which a living node lacks a feature.
 * @throws {ProblemError} 409, which names the node
 */
export function requireFeatures({ recurrence, policy }: JobDefinition, lacking: Lacking | undefined): void {
  if (recurrence !== null) requireFeature("RECURRING_JOBS", lacking);
  if (policy.onFinish !== undefined) requireFeature("WEBHOOKS", lacking);
  if (policy.maxLifetimeMs !== undefined) requireFeature("MAX_LIFETIME", lacking);
}

function newRecurringJob(
  tenant: Tenant,
  definition: JobDefinition & { recurrence: RecurrenceRule },
  payload: Uint8Array | null,
  createdAt: EpochMs,
  { runtime, zones }: JobMaker,
  id: string | null,
): NewRecurringJob | null {
  const jobId = recurringJobId(id ?? runtime.uuid());
  const { tag: tzdata, version } = zones.inForce();
  const schedule = { ...scheduleOf(definition.recurrence, jobId, createdAt), tzdata: version };
  const firstFireAt = firstFire(schedule, createdAt);
  if (firstFireAt === null) return null;
  const shard = shardOfJob(tenant, definition, jobId);
  return {
    ...{ jobId, executionId: null, tenant, shard, definition, payload, createdAt },
    ...{ firstFireAt, tzdata },
  };
}

export function shardOfJob(tenant: Tenant, { concurrencyKey }: JobDefinition, jobId: JobId): ShardId {
  return shardOf(shardKey(tenant, concurrencyKey, jobId));
}

/**
 * Id of a new job that runs once. A job that is ready at once and has no concurrency key gets an id in a shard of this
 * node, so that its submit, its assignments and its commits need no other node. A job that waits stays in the shard of
 * its random id: when it is due, the shards may have other owners, and one client may submit its jobs to one node only.
 */
function newJobId(
  { concurrencyKey, scheduledAt }: JobDefinition,
  createdAt: EpochMs,
  { runtime, ownShards }: JobMaker,
): JobId {
  const id = runtime.uuid();
  if (concurrencyKey !== null || scheduledAt > createdAt) return id;
  const shard = ownShards?.next() ?? null;
  return shard === null ? id : steeredId(id, shard);
}

/** Id of a request for a job, which becomes the id of the job, or that of a recurring job in their range. */
export function newRequestId(definition: JobDefinition, createdAt: EpochMs, maker: JobMaker): string {
  return definition.recurrence === null ? newJobId(definition, createdAt, maker) : maker.runtime.uuid();
}

/** One that runs once. @param payload JSON text; null: none */
export function newJob(
  tenant: Tenant,
  definition: JobDefinition,
  payload: Uint8Array | null,
  ordering: Ordering,
  createdAt: EpochMs,
  jobId: JobId,
): NewJob {
  const { pool, handler, requires, concurrencyKey } = definition;
  return {
    jobId,
    executionId: firstExecutionId(jobId),
    tenant,
    shard: shardOfJob(tenant, definition, jobId),
    definition,
    rank: rankOf(ordering, definition.scheduledAt, definition.priority),
    laneHash: laneHash({ pool, tenant, handler, requires, concurrencyKey }),
    queue: definition.scheduledAt <= createdAt ? "READY" : "WAITING",
    payload,
    createdAt,
  };
}

/** The row that the store made of it, for its owner. */
export function candidateOf(job: NewJob | NewRun | NewWorkflow | NewRetry): Candidate {
  const { definition } = job;
  const isRun = "roots" in job || definition.recurrence?.startsWorkflow === true;
  return {
    id: job.executionId,
    jobId: job.jobId,
    shard: job.shard,
    tenant: job.tenant,
    pool: definition.pool,
    handler: definition.handler,
    requires: definition.requires,
    concurrencyKey: definition.concurrencyKey,
    concurrencyLimit: definition.concurrencyLimit,
    hasUniqueKey: definition.uniqueKey !== null,
    priority: definition.priority,
    rank: job.rank,
    dueAt: definition.scheduledAt,
    scheduledAt: definition.scheduledAt,
    policy: definition.policy,
    jobVersion: "jobVersion" in job ? job.jobVersion : 1,
    payloadBytes: job.payload?.length ?? 0,
    state: "PENDING",
    queue: job.queue,
    attempt: 0,
    failures: 0,
    lost: 0,
    startedAt: null,
    ...(isRun && { node: RUN_NODE }),
  };
}
