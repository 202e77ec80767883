import type { Misfire, Overlap } from "@mainspring/contract/enums";
import type { EpochMs, ExecutionId, JobId } from "./ids.ts";
import type { CronTimes, IntervalTimes, Schedule } from "./schedule/schedule.ts";
import { spreadShiftMs } from "./schedule/spread.ts";

export { MISFIRES, type Misfire, OVERLAPS, type Overlap } from "@mainspring/contract/enums";

/**
 * Rule of a recurring job, as submitted in its definition. `scheduleOf` adds the parts that depend on the job itself.
 */
export interface RecurrenceRule {
  times: CronTimes | Omit<IntervalTimes, "anchorAt">;
  startAt: EpochMs | null;
  endAt: EpochMs | null;
  maxFires: number | null;
  /** Seconds over which the instants of different jobs are spread; 0: no spread. */
  spreadSec: number;
  overlap: Overlap;
  misfire: Misfire;
  /** Delay in ms up to which a late instant is not a misfire. */
  misfireGraceMs: number;
  /** Number of misfired instants that FIRE_ALL fires, the newest ones. */
  maxCatchUp: number;
  /** Time in ms after its planned instant at which an execution that has not started is SKIPPED; null: no bound. */
  startWithinMs: number | null;
  /** Each instant starts a run of the job's workflow. Left out: an execution of the job's handler. */
  startsWorkflow?: true;
}

export const DEFAULT_RECURRENCE = {
  spreadSec: 0,
  overlap: "SKIP",
  misfire: "FIRE_ONCE",
  misfireGraceMs: 60_000,
  maxCatchUp: 100,
} as const;

export function scheduleOf(rule: RecurrenceRule, jobId: JobId, createdAt: EpochMs): Schedule {
  const { times, startAt, endAt, maxFires, spreadSec } = rule;
  return {
    // Without `startAt` the first instant is one interval after the creation, also if the job's spread shifts its
    // instants.
    times: times.type === "CRON" ? times : { ...times, anchorAt: startAt ?? createdAt + times.everyMs },
    startAt,
    endAt,
    maxFires,
    shiftMs: spreadShiftMs(jobId, spreadSec),
  };
}

export const PLAN_STATES = ["ACTIVE", "PAUSED", "FINISHED", "DELETED"] as const;
export type PlanState = (typeof PLAN_STATES)[number];

/** Progress of a recurring job; advanced by its shard's owner. */
export interface Plan {
  /** Version of the definition that the plan was made from. If the job has another version, the owner replans. */
  version: number;
  state: PlanState;
  /**
   * First planned instant that is not accounted for. While the plan is PAUSED it stays, and the instants between it and
   * the end of the pause are accounted for at the end. null: there is none or, with a fixed delay, it depends on the
   * end of `previous`.
   */
  nextFireAt: EpochMs | null;
  /** Number of instants that fired, which `maxFires` bounds. */
  fired: number;
  /** Execution that fired last, for the overlap rule; final or not; null: none. */
  previous: ExecutionId | null;
  /** Planned instant that fires when `previous` is final; null: none. */
  bufferedAt: EpochMs | null;
  catchUps: readonly CatchUp[];
  /** Tag of the time zone data by which `nextFireAt` was computed; see `tzdataTag`. */
  tzdata: string;
}

/** A range of past planned instants that are fired late, a limited number at a time. */
export interface CatchUp {
  /** UUIDv7: the id of the backfill's command, or derived. */
  id: string;
  /**
   * SCHEDULE: the instants misfired. BACKFILL: somebody requested the instants; those that have an execution are left
   * out.
   */
  trigger: "SCHEDULE" | "BACKFILL";
  /** Schedule of the instants. A later edit of the job does not change past instants. */
  schedule: Schedule;
  /**
   * Next planned instant; equal to `until` when all have fired and the catch-up waits for the end of open executions.
   */
  nextAt: EpochMs;
  /** End of the range, exclusive. */
  until: EpochMs;
  /** Executions that may be open at once; 1 to 100. */
  limit: number;
  /** Executions that were not final when the plan was last written, up to `limit`. */
  open: readonly ExecutionId[];
}

/** Why a planned instant did not run. `MISFIRE_LIMIT`: FIRE_ALL had more than `maxCatchUp`. */
export const SKIP_REASONS = ["OVERLAP", "MISFIRE", "MISFIRE_LIMIT", "PAUSED"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/**
 * Counted outcomes of a planned instant. LATE: it fired later than planned by more than the grace of its
 * job.
 */
export const PLANNED_OUTCOMES = ["ON_TIME", "LATE", ...SKIP_REASONS] as const;
export type PlannedOutcome = (typeof PLANNED_OUTCOMES)[number];

/** Consecutive planned instants that did not run; up to 100 of them are written one by one. */
export interface Skip {
  from: EpochMs;
  /** Last instant of the range; equal to `from` for a single instant. */
  to: EpochMs;
  count: number;
  reason: SkipReason;
}

/**
 * Whether the id is that of a recurring job. These ids have a range of their own, in which the top bit of the time is
 * set and whose partition is never dropped.
 */
export function isRecurringJobId(jobId: JobId): boolean {
  return (jobId.charCodeAt(0) >= 97 ? jobId.charCodeAt(0) - 87 : jobId.charCodeAt(0) - 48) >= 8;
}

/** Moves an id into the range of recurring jobs. @param id a UUIDv7 */
export function recurringJobId(id: string): JobId {
  return (Number.parseInt(id[0] as string, 16) | 8).toString(16) + id.slice(1);
}
