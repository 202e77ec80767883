import assert from "node:assert/strict";
import { type Candidate } from "../../domain/execution.ts";
import { type EpochMs, type ExecutionId, type JobId, shardOf } from "../../domain/ids.ts";
import { type Plan, type RecurrenceRule, recurringJobId, scheduleOf } from "../../domain/recurrence.ts";
import { DEFAULT_DST, type Schedule } from "../../domain/schedule/schedule.ts";
import type { NewRecurringJob } from "../store.ts";
import type { CreatedOccurrence, PlanChange, Recurrence } from "../store-recurrences.ts";
import { type JobSample, type Scene } from "./store-scene.conformance.ts";

export const TZDATA = "2025b";

export const NIGHTLY: RecurrenceRule = {
  times: { type: "CRON", cron: "30 2 * * *", timezone: "America/New_York", dst: DEFAULT_DST },
  startAt: null,
  endAt: null,
  maxFires: null,
  spreadSec: 0,
  overlap: "SKIP",
  misfire: "FIRE_ONCE",
  misfireGraceMs: 60_000,
  maxCatchUp: 100,
  startWithinMs: null,
};

export const HOURLY: RecurrenceRule = {
  ...NIGHTLY,
  times: { type: "INTERVAL", everyMs: 3_600_000, mode: "FIXED_RATE" },
};

/** A recurring job whose first instant is in an hour. */
export function recurring(scene: Scene, sample: JobSample & { firstFireAt?: EpochMs } = {}): NewRecurringJob {
  const { jobId = recurringJobId(scene.runtime.uuid()), firstFireAt = scene.runtime.now() + 3_600_000 } = sample;
  const { definition, tenant, payload, createdAt } = scene.job({ recurrence: NIGHTLY, ...sample });
  const shard = sample.shard ?? shardOf(jobId);
  return { jobId, executionId: null, tenant, shard, definition, payload, createdAt, firstFireAt, tzdata: TZDATA };
}

/** Schedule of a job's instants. */
export function scheduled({ definition, jobId, createdAt }: NewRecurringJob): Schedule {
  return scheduleOf(definition.recurrence ?? NIGHTLY, jobId, createdAt);
}

/** Submits one recurring job, which must be accepted. */
export async function planned(scene: Scene, sample: JobSample & { firstFireAt?: EpochMs } = {}) {
  const job = recurring(scene, sample);
  const { jobId } = job;
  assert.deepEqual(await scene.store.submit([{ idempotency: null, jobs: [job] }]), [
    { kind: "ACCEPTED", replayed: false, jobs: [{ jobId, executionId: null, deduplicated: false }] },
  ]);
  return job;
}

/** First plan of a job. */
export function firstPlan({ firstFireAt, tzdata }: NewRecurringJob): Plan {
  return {
    ...{ version: 1, state: "ACTIVE", nextFireAt: firstFireAt, fired: 0, previous: null, bufferedAt: null },
    ...{ catchUps: [], tzdata },
  };
}

export async function recurrenceOf(scene: Scene, { jobId }: { jobId: JobId }): Promise<Recurrence> {
  const [found] = await scene.store.recurrences.load([jobId]);
  assert.ok(found, "there is such a recurring job");
  return found;
}

/** An execution as the owner of a shard creates it when an instant falls due. */
export function occurrence(
  scene: Scene,
  job: NewRecurringJob,
  plannedAt: EpochMs,
  more: Partial<CreatedOccurrence> = {},
): CreatedOccurrence {
  const made = scene.job({ ...job.definition, shard: job.shard, tenant: job.tenant, scheduledAt: plannedAt });
  const { definition: asked } = job;
  const row: Candidate = {
    ...{ id: made.executionId, jobId: job.jobId, shard: job.shard, tenant: job.tenant, pool: asked.pool },
    ...{ handler: asked.handler, requires: asked.requires, concurrencyKey: asked.concurrencyKey },
    ...{ concurrencyLimit: asked.concurrencyLimit, hasUniqueKey: asked.uniqueKey !== null, priority: asked.priority },
    ...{ rank: plannedAt, dueAt: plannedAt, scheduledAt: plannedAt, policy: asked.policy, jobVersion: 1 },
    ...{ payloadBytes: job.payload?.length ?? 0, state: "PENDING", queue: "READY", attempt: 0, failures: 0, lost: 0 },
    startedAt: null,
  };
  const { uniqueKey } = asked;
  return { row, trigger: "SCHEDULE", laneHash: made.laneHash, uniqueKey, createdAt: scene.runtime.now(), ...more };
}

/** Change by which a plan advances one fire, an hour after the last. */
export function fire(scene: Scene, job: NewRecurringJob, more: Partial<PlanChange> = {}): PlanChange {
  const created = more.created ?? [occurrence(scene, job, job.firstFireAt)];
  const previous: ExecutionId | null = created.at(-1)?.row.id ?? null;
  const plan: Plan = { ...firstPlan(job), nextFireAt: job.firstFireAt + 3_600_000, fired: created.length, previous };
  return { jobId: job.jobId, wasRevision: 1, revision: 2, plan, created, skips: [], ...more };
}
