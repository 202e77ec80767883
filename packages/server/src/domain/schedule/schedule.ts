import type { EpochMs } from "../ids.ts";

/** Treatment of a fixed time that a clock change skipped or repeated. */
export interface DstPolicy {
  /**
   * Rule for a local time that a clock change skips. SHIFT (default): fires once, at the first instant after the gap.
   * SKIP: does not fire that day.
   */
  gap: "SHIFT" | "SKIP";
  /** Rule for a local time that occurs twice; default FIRST. */
  fold: "FIRST" | "LAST" | "BOTH";
}

export const DEFAULT_DST: DstPolicy = { gap: "SHIFT", fold: "FIRST" };

/** Local times, given by a cron expression. */
export interface CronTimes {
  type: "CRON";
  /** Five fields, six with seconds first, or a name such as @daily; up to 256 characters. */
  cron: string;
  /** A name of the IANA time zone database. */
  timezone: string;
  dst: DstPolicy;
}

/** Intervals of elapsed time, which clock changes do not affect. */
export interface IntervalTimes {
  type: "INTERVAL";
  /** Interval in ms, 1_000 or more. */
  everyMs: number;
  /**
   * FIXED_RATE: fires on a grid from the anchor, however long executions take. FIXED_DELAY: fires an interval after the
   * end of the last execution.
   */
  mode: "FIXED_RATE" | "FIXED_DELAY";
  /** Start of the grid: `startAt` if given, else one interval after the creation of the job. */
  anchorAt: EpochMs;
}

/** The times at which a recurring job fires. Plain data; values that are derived from it are cached elsewhere. */
export interface Schedule {
  times: CronTimes | IntervalTimes;
  /** Earliest time of a planned instant; null: no bound. */
  startAt: EpochMs | null;
  /** End of the planned instants, exclusive; null: no bound. */
  endAt: EpochMs | null;
  /** Number of fires in all; null: no bound. */
  maxFires: number | null;
  /**
   * Milliseconds added to every planned instant, after the bounds were applied: the job's id affects the minute of a
   * fire, but never the number of fires. See `spreadShiftMs`.
   */
  shiftMs: number;
  /** Version of the time zone data, such as `2026f`; left out: the one in use. See `zoneData`. */
  tzdata?: string;
}
