import type { DstPolicy, ExecutionState, ExecutionSummary, JobRequest, JobState } from "./api-types.ts";

/** The HTTP api's shapes for recurring jobs. Times that are read are ISO 8601 texts in UTC. */

/** Schedule by the clocks of a time zone. */
export interface CronSchedule {
  /** A cron expression of five fields, or six with seconds first; or @daily and the like. */
  schedule: string;
  /** A name of the IANA time zone database; default UTC. */
  timezone?: string;
  /** Treatment of fixed times of day when clocks change; default SHIFT and FIRST. */
  dst?: DstPolicy;
  everySec?: never;
}

/** Schedule by elapsed time, which no clock change affects. */
export interface IntervalSchedule {
  /** 1 or more */
  everySec: number;
  /** FIXED_RATE (default): counted from `startAt`, else the creation. FIXED_DELAY: from the end of the last execution. */
  everyMode?: "FIXED_RATE" | "FIXED_DELAY";
  schedule?: never;
}

/** Further options of a recurring job. Everything may be left out. */
export interface RecurrenceOptions {
  /** Nothing is planned before. A Date, or ISO 8601 with a zone. */
  startAt?: Date | string;
  /** Nothing is planned then or later. */
  endAt?: Date | string;
  /** So many fires in all. */
  maxFires?: number;
  /** Every fire is later by a time below this, always the same for a job, so that a herd is spread; 0 to 86400. */
  spreadSec?: number;
  /** When the execution before is not final: default SKIP. */
  overlap?: "ALLOW" | "SKIP" | "BUFFER_ONE" | "CANCEL_PREVIOUS";
  /** Treatment of instants that passed while no server could fire them; default FIRE_ONCE: only the last one runs. */
  misfire?: "SKIP" | "FIRE_ONCE" | "FIRE_ALL";
  /** Grace in seconds: a fire that is late by no more is no misfire; default 60. */
  misfireGraceSec?: number;
  /** Most instants that FIRE_ALL runs, the newest ones; default 100. */
  maxCatchUp?: number;
  /** Seconds after its planned instant at which an execution that has not started is SKIPPED; default: no bound. */
  startWithinSec?: number;
}

/** The body of POST /v1/jobs for a job that recurs. */
export type RecurringJobRequest = Omit<JobRequest, "runAt" | "delayMs" | "startBefore"> &
  (CronSchedule | IntervalSchedule) &
  RecurrenceOptions;

/** Plan of a recurring job. */
export interface JobPlan {
  /** Id of the job. */
  jobId: string;
  /** State after the change. */
  state: JobState;
  /** null: it does not fire, or that is not known yet. */
  nextFireAt: string | null;
}

/** Stretch of the past that is to be made up for. */
export interface BackfillRequest {
  /** The first instant of the past that is made up for. */
  since: Date | string;
  /** Where that ends, itself not included; default: now. */
  until?: Date | string;
  /** How many of them may be open at once; 1 (default) to 100. */
  maxRunning?: number;
}

/** A backfill that goes on by itself. */
export interface StartedBackfill extends JobPlan {
  /** `planned`: instants in between; those that have run already are left out. */
  backfill: { since: string; until: string; maxRunning: number; planned: number };
}

/** A stretch of the past that is made up for now. */
export interface CatchUp {
  /** Id of the backfill. */
  id: string;
  /** SCHEDULE: instants that were missed. BACKFILL: asked for. */
  trigger: "SCHEDULE" | "BACKFILL";
  /** Where it goes on. */
  nextAt: string;
  /** End, not included. */
  until: string;
  /** Executions that may be open at once. */
  maxRunning: number;
  /** Executions that are open now. */
  running: number;
}

/** Outcome of a planned instant. */
export interface LedgerItem {
  /** The planned instant. */
  at: string;
  /** On the clocks of the job's time zone, as 2025-03-09T03:00:00-04:00. */
  local: string;
  /** MISSED: there is no trace of it, which must not happen. */
  outcome: "RAN" | "WAITING" | "SKIPPED" | "MISSED";
  /** Execution that it became, if it became one. */
  run?: {
    executionId: string;
    trigger: ExecutionSummary["trigger"];
    state: ExecutionState;
    startedAt: string | null;
    latenessMs: number | null;
    /** Later than planned by more than `misfireGraceSec`. */
    late: boolean;
  };
  /** Why it was skipped. */
  reason?: string;
  /** The last one, where the item stands for several in a row. */
  until?: string;
  /** How many it stands for; left out: one. */
  count?: number;
}

export interface LedgerFilter {
  /** Planned at or after; default: all that is kept. */
  since?: Date | string;
  /** Planned before; default: now. */
  until?: Date | string;
  /** How many are read at once; 1 to 1000, default 50. */
  limit?: number;
}
