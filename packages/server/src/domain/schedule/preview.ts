import type { EpochMs } from "../ids.ts";
import { clockNote } from "./clock-notes.ts";
import { cronClock } from "./cron-fires.ts";
import { nextFire } from "./fires.ts";
import type { Schedule } from "./schedule.ts";
import { localText } from "./wall-text.ts";

export interface PreviewedFire {
  at: EpochMs;
  /** The time on the wall with its offset, as `2025-03-09T03:00:00-04:00`; an interval's is that of UTC. */
  local: string;
  /** What a clock change did to it; null: nothing. */
  note: string | null;
}

/**
 * The next fires after an instant. Of a fixed delay only one can be foreseen.
 * @param schedule which has been found good
 * @param fired how often it has fired already
 * @param count 1 or more; there may be fewer, where the schedule ends, or no more come within 50 years
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

function previewed({ times, shiftMs }: Schedule, previous: EpochMs, at: EpochMs): PreviewedFire {
  if (times.type === "INTERVAL") return { at, local: localText(at, 0), note: null };
  const clock = cronClock(times);
  const { offsetSec } = clock.zone.stretchAt(Math.floor(at / 1_000));
  return { at, local: localText(at, offsetSec), note: clockNote(clock, previous - shiftMs, at - shiftMs) };
}
