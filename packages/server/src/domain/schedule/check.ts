import type { EpochMs } from "../ids.ts";
import { PLANNED_MAX_MS } from "./cron/cron-fires.ts";
import { readCron } from "./cron/cron-text.ts";
import { firstFire } from "./fires.ts";
import { refuse, type ScheduleRefusal } from "./refusal.ts";
import type { Schedule } from "./schedule.ts";
import { zoneNameRefusal } from "./zones/zone-names.ts";

const DAY_MS = 86_400_000;
const EVERY_MS = { min: 1_000, max: 3_660 * DAY_MS };
/** Upper bound of a job's shift. With a shift of a day or more, the date of a fire would depend on the job's id. */
const SHIFT_MAX_MS = DAY_MS;

/**
 * All faults of a schedule; empty if the schedule is valid. The check searches for the first fire, so that no schedule
 * is accepted that never fires.
 */
export function checkSchedule(schedule: Schedule, createdAt: EpochMs): ScheduleRefusal[] {
  const refusals = [...timesRefusals(schedule.times), ...boundRefusals(schedule)];
  return refusals.length === 0 && firstFire(schedule, createdAt) === null ? [neverFires(schedule)] : refusals;
}

function timesRefusals(times: Schedule["times"]): ScheduleRefusal[] {
  if (times.type === "CRON") {
    const cron = readCron(times.cron);
    return ["message" in cron ? cron : null, zoneNameRefusal(times.timezone)].filter((refusal) => refusal !== null);
  }
  const { everyMs } = times;
  if (Number.isInteger(everyMs) && everyMs >= EVERY_MS.min && everyMs <= EVERY_MS.max) return [];
  return [refuse("everySec", "must be 1 to 316224000 seconds (ten years), with at most three decimals")];
}

function boundRefusals({ startAt, endAt, maxFires, shiftMs }: Schedule): ScheduleRefusal[] {
  const refusals: ScheduleRefusal[] = [];
  if (startAt !== null && endAt !== null && endAt <= startAt)
    refusals.push(refuse("endAt", "must be later than startAt"));
  if (maxFires !== null && !(Number.isInteger(maxFires) && maxFires >= 1)) {
    refusals.push(refuse("maxFires", "must be a whole number from 1"));
  }
  if (!(shiftMs >= 0 && shiftMs <= SHIFT_MAX_MS))
    refusals.push(refuse("spreadSec", "must be 0 to 86400 seconds (a day)"));
  return refusals;
}

/** Period in ms that is searched for the first fire. */
const SEARCH_MS = 50 * 366 * DAY_MS;

function neverFires({ startAt, endAt, times }: Schedule): ScheduleRefusal {
  if (endAt !== null) {
    const from = startAt === null ? "now" : "startAt";
    return refuse("endAt", `leaves no fire between ${from} and itself: choose it later, or leave it out`);
  }
  if (startAt !== null && startAt + SEARCH_MS > PLANNED_MAX_MS)
    return refuse(
      "startAt",
      "leaves no fire before the year 9999, up to which schedules are planned: choose it earlier",
    );
  const zone = times.type === "CRON" ? times.timezone : "any zone";
  return refuse("schedule", `never fires: in ${zone} the clocks skip all times that it means for the next 50 years`);
}
