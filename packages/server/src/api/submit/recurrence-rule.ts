import type { JobSubmission } from "@mainspring/contract";
import type { EpochMs } from "../../domain/ids.ts";
import type { JobType } from "../../domain/job.ts";
import { DEFAULT_RECURRENCE, type RecurrenceRule } from "../../domain/recurrence.ts";
import { checkSchedule } from "../../domain/schedule/check.ts";
import type { ScheduleRefusal } from "../../domain/schedule/refusal.ts";
import { DEFAULT_DST } from "../../domain/schedule/schedule.ts";
import type { FieldError } from "../http/errors.ts";
import { parseInstant } from "../http/instants.ts";

/** Field of a recurring job in place of each. */
const ONCE_ONLY = {
  runAt: "is for a job that runs once: startAt says before when a recurring one does not fire",
  delayMs: "is for a job that runs once: startAt says before when a recurring one does not fire",
  startBefore: "is for a job that runs once: startWithinSec bounds how late each fire of a recurring one may start",
} as const;
const CRON_ONLY = ["timezone", "dst"] as const;
const RECURRING_ONLY = [
  ...["startAt", "endAt", "maxFires", "spreadSec", "overlap"],
  ...["misfire", "misfireGraceSec", "maxCatchUp", "startWithinSec"],
] as (keyof JobSubmission)[];

/** How the job recurs, every default filled in; null: it runs once. @param job without contradictions */
export function recurrenceOf(job: JobSubmission): RecurrenceRule | null {
  const times = timesOf(job);
  if (times === null) return null;
  const { spreadSec, overlap, misfire, misfireGraceMs, maxCatchUp } = DEFAULT_RECURRENCE;
  return {
    times,
    startAt: instantOrNull(job.startAt),
    endAt: instantOrNull(job.endAt),
    maxFires: job.maxFires ?? null,
    spreadSec: job.spreadSec ?? spreadSec,
    overlap: job.overlap ?? overlap,
    misfire: job.misfire ?? misfire,
    misfireGraceMs: job.misfireGraceSec === undefined ? misfireGraceMs : Math.round(job.misfireGraceSec * 1_000),
    maxCatchUp: job.maxCatchUp ?? maxCatchUp,
    startWithinMs: job.startWithinSec === undefined ? null : Math.round(job.startWithinSec * 1_000),
  };
}

function timesOf({
  schedule,
  timezone = "UTC",
  dst,
  everySec,
  everyMode,
}: JobSubmission): RecurrenceRule["times"] | null {
  if (schedule !== undefined) return { type: "CRON", cron: schedule, timezone, dst: { ...DEFAULT_DST, ...dst } };
  if (everySec === undefined) return null;
  return { type: "INTERVAL", everyMs: Math.round(everySec * 1_000), mode: everyMode ?? "FIXED_RATE" };
}

/** Which fields contradict the type of the job, or each other. */
export function typeErrors(job: JobSubmission): FieldError[] {
  const errors: FieldError[] = [];
  const has = (field: keyof JobSubmission) => job[field] !== undefined;
  const refuse = (field: keyof JobSubmission, message: string) => has(field) && errors.push({ field, message });
  const [cron, interval] = [has("schedule"), has("everySec")];
  if (cron) refuse("everySec", "cannot be combined with schedule: give one of them");
  errors.push(...saidType(job));
  if (cron || interval) for (const [field, message] of Object.entries(ONCE_ONLY)) refuse(field as "runAt", message);
  for (const field of CRON_ONLY) {
    if (!cron) refuse(field, "needs schedule, a cron expression: no other job goes by the clocks of a zone");
  }
  if (!interval) refuse("everyMode", "needs everySec, which it tells more about");
  for (const field of cron || interval ? [] : RECURRING_ONLY) {
    refuse(field, "needs schedule or everySec: without them the job runs once");
  }
  return errors;
}

function saidType({ type, schedule, everySec }: JobSubmission): FieldError[] {
  const is: JobType = schedule !== undefined ? "CRON" : everySec !== undefined ? "INTERVAL" : "ONCE";
  if (type === undefined || type === is) return [];
  if (is === "ONCE") {
    const field = type === "CRON" ? "schedule" : "everySec";
    return [{ field, message: `is missing: a job of type ${type} has it` }];
  }
  return [
    { field: "type", message: `must be ${is}, or left out: ${is === "CRON" ? "schedule" : "everySec"} makes it so` },
  ];
}

/**
 * Faults of the schedule of a job whose fields do not contradict each other.
 * @param after where a fire is looked for: there must be one
 */
export function scheduleErrors(job: JobSubmission, after: EpochMs): FieldError[] {
  const rule = recurrenceOf(job);
  if (rule === null) return [];
  const { times, startAt, endAt, maxFires } = rule;
  const anchored = times.type === "CRON" ? times : { ...times, anchorAt: startAt ?? after };
  // With the shift that the job's id gives it, it fires later, but as often; the schema has judged the spread.
  return checkSchedule({ times: anchored, startAt, endAt, maxFires, shiftMs: 0 }, after).map(fieldError);
}

export function fieldError({ field, position, message }: ScheduleRefusal): FieldError {
  return { field, message, ...(position !== null && { position }) };
}

/** Reads a text that the schema has accepted. */
function instantOrNull(text: string | undefined): EpochMs | null {
  return text === undefined ? null : (parseInstant(text) as EpochMs);
}
