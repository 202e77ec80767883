import type { Candidate } from "../domain/execution.ts";
import type { Flow } from "../domain/flow.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { Plan, Skip } from "../domain/recurrence.ts";
import type { FlowPage } from "./store-flows.ts";

/** Reads of recurring jobs by the owner of a shard. Their plans are advanced by `Store.commit`. */
export interface StoreRecurrences {
  /**
   * ACTIVE plans with a `nextFireAt` of at most `until`, earliest first. Each call starts with the earliest.
   * @param limit 1 to 100_000
   */
  readDue(shards: readonly ShardId[], until: EpochMs, limit: number): Promise<Recurrence[]>;
  /**
   * Flows of the plans that `readDue` reads, of any shard: in an order of the store, behind `after`. Plans that the store knows no flow of
   * are in a flow of their own, whose tenant and pool are empty.
   * @param limit 1 to 10_000
   * @returns null: the store cannot tell yet, because it is building the index for it
   */
  dueFlows(until: EpochMs, after: Flow | null, limit: number): Promise<Flow[] | null>;
  /**
   * The plans of flows that `readDue` reads, by (nextFireAt, jobId), behind `after`. Only where `dueFlows` names flows.
   * @param limit plans of each flow, 1 to 10_000
   * @returns plans of each page, in the order of the pages
   */
  readDueFlows(
    shards: readonly ShardId[],
    until: EpochMs,
    pages: readonly FlowPage[],
    limit: number,
  ): Promise<Recurrence[][]>;
  /**
   * Plans that wait for an execution to end: plans with `bufferedAt` or catch-ups, and ACTIVE plans without
   * `nextFireAt`; by ascending id, after `after`.
   * @param limit 1 to 10_000
   */
  readAwaiting(shards: readonly ShardId[], after: JobId | null, limit: number): Promise<Recurrence[]>;
  /**
   * ACTIVE and PAUSED plans that were computed with other time zone data than `tzdata`; by ascending id, after `after`.
   * @param limit 1 to 10_000
   */
  readOtherZones(shards: readonly ShardId[], tzdata: string, after: JobId | null, limit: number): Promise<Recurrence[]>;
  /** Jobs by their ids, in any state. Unknown ids are left out. */
  load(jobIds: readonly JobId[]): Promise<Recurrence[]>;
  /** Planned instants of [since, until) that have an execution, by the schedule or by a backfill; ascending. */
  firedInstants(jobId: JobId, since: EpochMs, until: EpochMs): Promise<EpochMs[]>;
}

/** A recurring job with its plan, read at one moment. */
export interface Recurrence {
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  createdAt: EpochMs;
  /** Present version of the job; `plan.version` may be behind. The `recurrence` of `definition` is never null. */
  version: number;
  definition: JobDefinition;
  payloadBytes: number;
  /** Grows with every write of the plan. */
  revision: number;
  plan: Plan;
  /** Executions among `plan.previous` and the catch-ups' `open` that are not final. */
  open: readonly ExecutionId[];
}

/** An advance of a plan with the outcomes of its instants; part of a shard's commit. */
export interface PlanChange {
  jobId: JobId;
  /**
   * Revision of the row when it was last read or written; the store writes the change only if it still has this
   * revision.
   */
  wasRevision: number;
  revision: number;
  /** New content of the plan. The store writes all fields. */
  plan: Plan;
  created: readonly CreatedOccurrence[];
  skips: readonly Skip[];
}

/** A planned instant for which the commit creates an execution. */
export interface CreatedOccurrence {
  /** Row of the execution: PENDING and READY, attempt 0. */
  row: Candidate;
  trigger: "SCHEDULE" | "BACKFILL";
  laneHash: number;
  /**
   * Unique key that the execution claims; null: none. If another execution holds the key, this one is written as
   * SKIPPED with the reason UNIQUE_KEY_HELD.
   */
  uniqueKey: string | null;
  createdAt: EpochMs;
}
