import type { EpochMs } from "../ids.ts";

/** Treatment of a fixed time that a clock change skipped or repeated. */
export interface DstPolicy {
  /** SHIFT (default): once, at the first instant after the gap. SKIP: not that day. */
  gap: "SHIFT" | "SKIP";
  /** Choice for a local time that comes twice; default FIRST. */
  fold: "FIRST" | "LAST" | "BOTH";
}

export const DEFAULT_DST: DstPolicy = { gap: "SHIFT", fold: "FIRST" };

/** Times on the wall, by a cron expression. */
export interface CronTimes {
  type: "CRON";
  /** Five fields, six with seconds first, or a name as @daily; up to 256 characters. */
  cron: string;
  /** A name of the IANA time zone database. */
  timezone: string;
  dst: DstPolicy;
}

/** Elapsed time, which no clock change touches. */
export interface IntervalTimes {
  type: "INTERVAL";
  /** 1_000 or more */
  everyMs: number;
  /** FIXED_RATE: on a grid from the anchor, however long executions take. FIXED_DELAY: from the last one's end. */
  mode: "FIXED_RATE" | "FIXED_DELAY";
  /** `startAt` where there is one, else the first instant after the creation of the job. */
  anchorAt: EpochMs;
}

/** When a recurring job fires. Plain data: what is worked out of it is kept aside. */
export interface Schedule {
  times: CronTimes | IntervalTimes;
  /** No planned instant lies before; null: no bound. */
  startAt: EpochMs | null;
  /** Every planned instant lies before; null: no bound. */
  endAt: EpochMs | null;
  /** So many fires in all; null: no bound. */
  maxFires: number | null;
  /**
   * Added to every planned instant, after the bounds have been judged: of which job it is changes the minute, never
   * how many fires there are. See `spreadShiftMs`.
   */
  shiftMs: number;
  /** Version of the time zone database that the times go by, as `2026f`; left out: the one in use. See `zoneData`. */
  tzdata?: string;
}
