import type { ExecutionState, ExecutionSummary, JobRequest, JobState } from "./api-types.ts";

/** Types of the HTTP API for recurring jobs. Times in answers are ISO 8601 texts in UTC. */

/** A schedule by the clocks of a time zone. */
export interface CronSchedule {
  /** A cron expression of five fields, or six with seconds first; or @daily and the like. */
  schedule: string;
  /** Time zone of the schedule, by its name in the IANA time zone database; default UTC. */
  timezone?: string;
  /** Treatment of fixed times of day when clocks change; default SHIFT and FIRST. */
  dst?: DstPolicy;
  everySec?: never;
}

/** A schedule by elapsed time, which clock changes do not affect. */
export interface IntervalSchedule {
  /** Interval in seconds; 1 or more. */
  everySec: number;
  /**
   * Start of each interval. FIXED_RATE (default): `startAt`, or the creation of the job. FIXED_DELAY: the end of the
   * last execution.
   */
  everyMode?: "FIXED_RATE" | "FIXED_DELAY";
  schedule?: never;
}

/** Further options of a recurring job. Every field is optional. */
export interface RecurrenceOptions {
  /** Earliest planned time: a Date, or ISO 8601 with a zone. */
  startAt?: Date | string;
  /** End of the schedule: nothing is planned at or after this time. */
  endAt?: Date | string;
  /** Number of fires after which the job is finished; default: no limit. */
  maxFires?: number;
  /**
   * Upper bound of a delay of every fire, in seconds; 0 to 86400. The delay is constant for a job and differs between
   * jobs, so that jobs with the same schedule do not fire all at once.
   */
  spreadSec?: number;
  /** Rule for a fire while the previous execution is not final; default SKIP. */
  overlap?: "ALLOW" | "SKIP" | "BUFFER_ONE" | "CANCEL_PREVIOUS";
  /** Rule for instants that passed while no server could fire them; default FIRE_ONCE: only the last one runs. */
  misfire?: "SKIP" | "FIRE_ONCE" | "FIRE_ALL";
  /** Grace time in seconds; a fire with at most this delay is no misfire. Default 60. */
  misfireGraceSec?: number;
  /** Largest number of instants that FIRE_ALL runs, the newest ones; default 100. */
  maxCatchUp?: number;
  /**
   * Time after the planned instant at which an execution that has not started is SKIPPED, in seconds; default: no
   * limit.
   */
  startWithinSec?: number;
}

/** Body of POST /v1/jobs for a recurring job. */
export type RecurringJobRequest = Omit<JobRequest, "runAt" | "delayMs" | "startBefore"> &
  (CronSchedule | IntervalSchedule) &
  RecurrenceOptions;

/** Plan of a recurring job. */
export interface JobPlan {
  /** Id of the job. */
  jobId: string;
  /** State after the change. */
  state: JobState;
  /** Next planned time; null: the job does not fire, or the time is not known yet. */
  nextFireAt: string | null;
}

/** Past range of planned instants that the job shall run. */
export interface BackfillRequest {
  /** Start of the range. */
  since: Date | string;
  /** End of the range, not included; default: now. */
  until?: Date | string;
  /** Number of the backfill's executions that may be unfinished at once; 1 (default) to 100. */
  maxRunning?: number;
}

/** Answer to the request for a backfill, which the server runs in the background. */
export interface StartedBackfill extends JobPlan {
  /** The backfill. `planned`: number of planned instants in the range that have not run. */
  backfill: { since: string; until: string; maxRunning: number; planned: number };
}

/** A past range whose planned instants the server is running now. */
export interface CatchUp {
  /** Id of the backfill. */
  id: string;
  /** Origin of the range. SCHEDULE: instants that misfired. BACKFILL: a request. */
  trigger: "SCHEDULE" | "BACKFILL";
  /** Next instant of the range to run. */
  nextAt: string;
  /** End of the range, not included. */
  until: string;
  /** Number of executions of the range that may be unfinished at once. */
  maxRunning: number;
  /** Number of executions of the range that are unfinished now. */
  running: number;
}

/** Outcome of a planned instant. */
export interface LedgerItem {
  /** The planned instant. */
  at: string;
  /** The same instant on the clocks of the job's time zone, as 2025-03-09T03:00:00-04:00. */
  local: string;
  /** Outcome of the instant. MISSED: there is no trace of the instant, which is a fault of the server. */
  outcome: "RAN" | "WAITING" | "SKIPPED" | "MISSED";
  /** Execution of the instant; absent: there is none. */
  run?: {
    executionId: string;
    trigger: ExecutionSummary["trigger"];
    state: ExecutionState;
    startedAt: string | null;
    latenessMs: number | null;
    /** Whether the execution was created later than planned by more than `misfireGraceSec`. */
    late: boolean;
  };
  /** Reason of the skip. */
  reason?: string;
  /** Last instant, where the item stands for several instants in a row; absent: the item stands for one. */
  until?: string;
  /** Number of instants that the item stands for; absent: one. */
  count?: number;
}

export interface LedgerFilter {
  /** Earliest planned instant; default: all that the server keeps. */
  since?: Date | string;
  /** End of the range of planned instants, not included; default: now. */
  until?: Date | string;
  /** Number of items per page; 1 to 1000, default 50. */
  limit?: number;
}

/** Query for the times at which a schedule would fire. */
export interface SchedulePreviewRequest {
  /** A cron expression of five fields, or six with seconds first; or @daily and the like. */
  schedule: string;
  /** Time zone of the schedule, by its name in the IANA time zone database; default UTC. */
  timezone?: string;
  /** Treatment of fixed times of day when clocks change. */
  dst?: DstPolicy;
  /** Time after which the answer begins; default: now. */
  after?: Date | string;
  /** Number of times to return; 1 to 1000, default 10. */
  count?: number;
}

/** Treatment of a fixed time of day on days when the clocks change. */
export interface DstPolicy {
  /**
   * The clocks skip the time of day: SHIFT (default) fires once at the first instant after the gap, SKIP does not fire
   * that day.
   */
  gap?: "SHIFT" | "SKIP";
  /** The clocks show the time of day twice: fire at the FIRST occurrence (default), the LAST, or BOTH. */
  fold?: "FIRST" | "LAST" | "BOTH";
}

/** A planned instant. */
export interface PreviewedFire {
  /** The instant, in UTC. */
  at: string;
  /** The same instant on the clocks of the time zone, as 2025-03-09T03:00:00-04:00. */
  local: string;
  /**
   * Effect of a clock change on this instant, a text that begins with moved, merged, dropped or doubled; absent: no
   * effect.
   */
  note?: string;
}

/** Answer about a schedule. Servers of a release that has no words leave them out. */
export type ScheduleAnswer = { words?: string; fires: PreviewedFire[] };

/** A schedule as the server understands it. */
export interface DescribedSchedule {
  /** The schedule in English, such as `at 02:30 on weekdays in Europe/Berlin`; null: the server is of a release that has no words. */
  words: string | null;
  fires: PreviewedFire[];
}
