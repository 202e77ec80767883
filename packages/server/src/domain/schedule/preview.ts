import type { EpochMs } from "../ids.ts";
import { clockNote } from "./clock-notes.ts";
import { cronClock, nextCronFire } from "./cron-fires.ts";
import type { CronTimes } from "./schedule.ts";
import { localText } from "./wall-text.ts";

export interface PreviewedFire {
  at: EpochMs;
  /** The time on the wall with its offset, as `2025-03-09T03:00:00-04:00`. */
  local: string;
  /** What a clock change did to it; null: nothing. */
  note: string | null;
}

/**
 * The next fires after an instant.
 * @param times which have been found good
 * @param count 1 or more; there may be fewer, where no more come within 50 years
 */
export function previewFires(times: CronTimes, after: EpochMs, count: number): PreviewedFire[] {
  const clock = cronClock(times);
  const fires: PreviewedFire[] = [];
  for (let previous = after; fires.length < count; ) {
    const at = nextCronFire(clock, previous);
    if (at === null) break;
    const { offsetSec } = clock.zone.stretchAt(at / 1_000);
    fires.push({ at, local: localText(at, offsetSec), note: clockNote(clock, previous, at) });
    previous = at;
  }
  return fires;
}
