import type { Misfire, Overlap } from "@mainspring/contract/enums";
import type { EpochMs, ExecutionId, JobId } from "./ids.ts";
import type { CronTimes, IntervalTimes, Schedule } from "./schedule/schedule.ts";
import { spreadShiftMs } from "./schedule/spread.ts";

export { MISFIRES, type Misfire, OVERLAPS, type Overlap } from "@mainspring/contract/enums";

/** How a job recurs: part of its definition, as it was said. `scheduleOf` adds the parts that depend on the job itself. */
export interface RecurrenceRule {
  times: CronTimes | Omit<IntervalTimes, "anchorAt">;
  startAt: EpochMs | null;
  endAt: EpochMs | null;
  maxFires: number | null;
  /** 0: none. */
  spreadSec: number;
  overlap: Overlap;
  misfire: Misfire;
  /** So much later than planned is not a misfire. */
  misfireGraceMs: number;
  /** How many of the misfired FIRE_ALL fires; the newest. */
  maxCatchUp: number;
  /** An execution that has not started so long after its planned instant is SKIPPED; null: no bound. */
  startWithinMs: number | null;
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
    // Without a start of its own an interval first passes once, also where the job's spread shifts its instants.
    times: times.type === "CRON" ? times : { ...times, anchorAt: startAt ?? createdAt + times.everyMs },
    startAt,
    endAt,
    maxFires,
    shiftMs: spreadShiftMs(jobId, spreadSec),
  };
}

export const PLAN_STATES = ["ACTIVE", "PAUSED", "FINISHED", "DELETED"] as const;
export type PlanState = (typeof PLAN_STATES)[number];

/** How far a recurring job has come; advanced by its shard's owner. */
export interface Plan {
  /** Version of the definition that the plan was made from; where the job has another, the owner replans. */
  version: number;
  state: PlanState;
  /**
   * The first planned instant that is not accounted for. While PAUSED too: what lies between it and the end of the
   * pause is accounted for then. null: none, or, with a fixed delay, it depends on the end of `previous`.
   */
  nextFireAt: EpochMs | null;
  /** How many fired, which `maxFires` bounds. */
  fired: number;
  /** The execution that fired last, as far as overlap goes; final or not. */
  previous: ExecutionId | null;
  /** A planned instant that fires when `previous` is final. */
  bufferedAt: EpochMs | null;
  catchUps: readonly CatchUp[];
  /** The time zone database that `nextFireAt` was worked out with, as `2025b`. */
  tzdata: string;
}

/** A stretch of planned instants that are made up for, so many at once. */
export interface CatchUp {
  /** A UUIDv7: of the command that asked for it, or derived. */
  id: string;
  /** SCHEDULE: misfired. BACKFILL: asked for; those that have an execution already are left out. */
  trigger: "SCHEDULE" | "BACKFILL";
  /** Schedule of its instants. An edit does not change past instants. */
  schedule: Schedule;
  /** The planned instant where it goes on; `until`: it is through, and waits for the end of those that are open. */
  nextAt: EpochMs;
  /** The first instant that does not belong to it. */
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
  /** The last of them; `from` where there is one. */
  to: EpochMs;
  count: number;
  reason: SkipReason;
}

/** Recurring jobs have ids of a range of their own, whose partition is never dropped: the top bit of the time is set. */
export function isRecurringJobId(jobId: JobId): boolean {
  return (jobId.charCodeAt(0) >= 97 ? jobId.charCodeAt(0) - 87 : jobId.charCodeAt(0) - 48) >= 8;
}

/** @param id a UUIDv7 */
export function recurringJobId(id: string): JobId {
  return (Number.parseInt(id[0] as string, 16) | 8).toString(16) + id.slice(1);
}
