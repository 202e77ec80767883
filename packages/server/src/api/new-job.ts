import type { Candidate } from "../domain/execution.ts";
import { DEFAULT_TENANT, type EpochMs, shardKey, shardOf } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import { laneHash } from "../domain/lane.ts";
import { type Ordering, rankOf } from "../domain/rank.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { NewJob } from "../ports/store.ts";
import type { NewRetry } from "../ports/store-jobs.ts";

/** A job as the store takes it. @param payload JSON text; null: none */
export function newJob(
  definition: JobDefinition,
  payload: Uint8Array | null,
  ordering: Ordering,
  createdAt: EpochMs,
  runtime: Runtime,
): NewJob {
  const jobId = runtime.uuid();
  const tenant = DEFAULT_TENANT;
  return {
    jobId,
    executionId: runtime.uuid(),
    tenant,
    shard: shardOf(shardKey(tenant, definition.concurrencyKey, jobId)),
    definition,
    rank: rankOf(ordering, definition.scheduledAt, definition.priority),
    laneHash: laneHash({ ...definition, tenant }),
    queue: definition.scheduledAt <= createdAt ? "READY" : "WAITING",
    payload,
    createdAt,
  };
}

/** The row that the store made of it, for its owner. */
export function candidateOf(job: NewJob | NewRetry): Candidate {
  const { definition } = job;
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
  };
}
