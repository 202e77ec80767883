import type { Candidate } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { Plan, Skip } from "../domain/recurrence.ts";

/** Reads of recurring jobs by the owner of a shard. Their plans are advanced by `Store.commit`. */
export interface StoreRecurrences {
  /** ACTIVE plans whose `nextFireAt` is up to `until`, earliest first, from the start. @param limit 1 to 100_000 */
  readDue(shards: readonly ShardId[], until: EpochMs, limit: number): Promise<Recurrence[]>;
  /**
   * Plans that wait for an execution to end: with `bufferedAt`, with catch-ups, or ACTIVE without `nextFireAt`; by id,
   * after `after`.
   * @param limit 1 to 10_000
   */
  readAwaiting(shards: readonly ShardId[], after: JobId | null, limit: number): Promise<Recurrence[]>;
  /** ACTIVE and PAUSED plans made with another time zone database, by id, after `after`. @param limit 1 to 10_000 */
  readOtherZones(shards: readonly ShardId[], tzdata: string, after: JobId | null, limit: number): Promise<Recurrence[]>;
  /** Jobs by their ids, in any state. Unknown ids are left out. */
  load(jobIds: readonly JobId[]): Promise<Recurrence[]>;
  /** Planned instants of [since, until) for which the job has an execution by its schedule or a backfill; ascending. */
  firedInstants(jobId: JobId, since: EpochMs, until: EpochMs): Promise<EpochMs[]>;
}

/** A recurring job with its plan, read at one moment. */
export interface Recurrence {
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  createdAt: EpochMs;
  /** The job's as it is now; `plan.version` may be behind. Its `recurrence` is never null. */
  version: number;
  definition: JobDefinition;
  payloadBytes: number;
  /** Grows with every write of the plan. */
  revision: number;
  plan: Plan;
  /** Executions among `plan.previous` and the catch-ups' `open` that are not final. */
  open: readonly ExecutionId[];
}

/** A plan moves on, with all that its instants became: part of a shard's commit. */
export interface PlanChange {
  jobId: JobId;
  /** Compare: of the row as it was last read or written. */
  wasRevision: number;
  revision: number;
  /** All fields are written. */
  plan: Plan;
  births: readonly Birth[];
  skips: readonly Skip[];
}

/** An occurrence becomes an execution. */
export interface Birth {
  /** PENDING and READY, attempt 0. */
  row: Candidate;
  trigger: "SCHEDULE" | "BACKFILL";
  laneHash: number;
  /** Claimed with it; where another execution holds it, this one is written as SKIPPED with the reason UNIQUE_KEY_HELD. */
  uniqueKey: string | null;
  createdAt: EpochMs;
}
