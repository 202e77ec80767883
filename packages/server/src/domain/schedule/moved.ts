import type { EpochMs } from "../ids.ts";
import { OFFSET_MAX_SEC } from "./bad-tzif.ts";
import { cronClock } from "./cron-fires.ts";
import { nextFire, previousFire } from "./fires.ts";
import type { DstPolicy, Schedule } from "./schedule.ts";
import { type EpochSec, type Stretch, type TimeZone } from "./time-zone.ts";
import { hasZoneData } from "./zone-data.ts";

/** Where the former rules are not known, an instant is looked for so far from where they had it. */
const NEAR_MS = 3 * 3_600_000;

/** The rules before the former ones. */
export interface Earlier {
  version: string;
  /** When the former rules came into force. */
  until: EpochMs;
}

/**
 * The first fire under newer rules that stands for a time on the wall which the former rules have not planned yet. It may lie in the past:
 * then the former rules had it later than it is. A time on the wall that was planned does not come again.
 * @param schedule goes by the newer version
 * @param former version of the data that `next` was worked out with
 * @param next the first fire that is not accounted for, by the former version
 * @param since when the newer rules came into force: what the former ones have before `next` and from then on stood for times on the wall
 * that still older rules had planned
 * @param earlier the rules before the former ones; null: not known
 * @returns null: it never fires again
 */
export function movedFire(
  schedule: Schedule,
  former: string,
  next: EpochMs,
  since: EpochMs,
  fired: number,
  earlier: Earlier | null = null,
): EpochMs | null {
  const { times } = schedule;
  if (times.type !== "CRON" || former === schedule.tzdata) return next;
  if (!hasZoneData(former)) return nearFire(schedule, next, fired);
  const last = previousFire({ ...schedule, tzdata: former }, next);
  if (last === null) return nextFire(schedule, (schedule.startAt ?? next - NEAR_MS) - 1, fired);
  const isEarlier = earlier !== null && last < earlier.until && isFire({ ...schedule, tzdata: earlier.version }, last);
  const planned = sameWall(schedule, isEarlier ? earlier.version : former, last);
  return nextFire(schedule, last < since ? Math.max(last, planned) : planned, fired);
}

/** Whether rules have a fire at this instant: what was in force then has planned it. */
function isFire(schedule: Schedule, at: EpochMs): boolean {
  return nextFire({ ...schedule, maxFires: null }, at - 1, 0) === at;
}

/** The instant of the newer rules that shows the same time on the wall as the former rules did at this fire. */
function sameWall({ times, shiftMs, tzdata }: Schedule, former: string, at: EpochMs): EpochMs {
  if (times.type !== "CRON") return at;
  const newer = cronClock(times, tzdata);
  // A schedule of elapsed time goes on from the last fire, as it does when the clocks are set.
  if (!newer.plan.fixedTime) return at;
  const instant = (at - shiftMs) / 1_000;
  const { offsetSec } = cronClock(times, former).zone.stretchAt(instant);
  if (newer.zone.stretchAt(instant).offsetSec === offsetSec) return at;
  return instantOf(newer.zone, instant + offsetSec, times.dst.fold) * 1_000 + shiftMs;
}

/** When a zone shows a time on the wall; where it does not exist, the first instant after the gap. */
function instantOf(zone: TimeZone, wall: number, fold: DstPolicy["fold"]): EpochSec {
  let found: EpochSec | null = null;
  let stretch: Stretch = zone.stretchAt(wall - OFFSET_MAX_SEC);
  for (; stretch.start <= wall + OFFSET_MAX_SEC; stretch = zone.stretchAt(stretch.end)) {
    const instant = wall - stretch.offsetSec;
    const isInGap = instant < stretch.start && wall >= stretch.start + stretch.offsetBeforeSec;
    if (found === null && isInGap) found = stretch.start;
    if (instant < stretch.start || instant >= stretch.end) continue;
    if (fold === "FIRST") return instant;
    found = instant;
  }
  return found ?? wall;
}

/** Without the former rules: where the fire stays a fire nothing has moved, else the nearest one stands for it. */
function nearFire(schedule: Schedule, next: EpochMs, fired: number): EpochMs | null {
  const later = nextFire(schedule, next - 1, fired);
  if (later === next) return next;
  const earlier = previousFire(schedule, next);
  if (earlier === null || next - earlier > NEAR_MS) return later;
  return later !== null && later - next <= next - earlier ? later : earlier;
}
