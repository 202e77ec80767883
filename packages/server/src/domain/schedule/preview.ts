import type { EpochMs } from "../ids.ts";
import { clockNote } from "./clock-notes.ts";
import { cronClock } from "./cron/cron-fires.ts";
import { nextFire } from "./fires.ts";
import type { CronTimes, IntervalTimes, Schedule } from "./schedule.ts";
import { localText } from "./wall-text.ts";

export interface PreviewedFire {
  at: EpochMs;
  /** Local time with its offset, such as `2025-03-09T03:00:00-04:00`; for an interval in UTC. */
  local: string;
  /** Effect of a clock change on the fire; null: none. */
  note: string | null;
}

/**
 * The next fires after an instant. A fixed delay has only one foreseeable fire.
 * @param schedule a valid schedule
 * @param fired number of earlier fires
 * @param count 1 or more; there may be fewer fires, if the schedule ends or has no more within 50 years
 */
export function previewFires(schedule: Schedule, after: EpochMs, fired: number, count: number): PreviewedFire[] {
  const { times } = schedule;
  const foreseen = times.type === "INTERVAL" && times.mode === "FIXED_DELAY" ? 1 : count;
  const fires: PreviewedFire[] = [];
  for (let previous = after; fires.length < foreseen; ) {
    const at = nextFire(schedule, previous, fired + fires.length);
    if (at === null) break;
    fires.push(previewed(schedule, previous, at));
    previous = at;
  }
  return fires;
}

/** Local time with its offset, such as `2025-03-09T03:00:00-04:00`; for an interval in UTC. */
export function localTextOf(times: CronTimes | Pick<IntervalTimes, "type">, at: EpochMs, tzdata?: string): string {
  if (times.type === "INTERVAL") return localText(at, 0);
  return localText(at, cronClock(times, tzdata).zone.stretchAt(Math.floor(at / 1_000)).offsetSec);
}

function previewed({ times, shiftMs, tzdata }: Schedule, previous: EpochMs, at: EpochMs): PreviewedFire {
  const local = localTextOf(times, at, tzdata);
  if (times.type === "INTERVAL") return { at, local, note: null };
  return { at, local, note: clockNote(cronClock(times, tzdata), previous - shiftMs, at - shiftMs) };
}
