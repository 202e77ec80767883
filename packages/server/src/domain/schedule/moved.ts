import type { EpochMs } from "../ids.ts";
import { cronClock } from "./cron/cron-fires.ts";
import { nextFire, previousFire } from "./fires.ts";
import type { DstPolicy, Schedule } from "./schedule.ts";
import { OFFSET_MAX_SEC } from "./zones/bad-tzif.ts";
import { type EpochSec, type Stretch, type TimeZone } from "./zones/time-zone.ts";
import { hasZoneData } from "./zones/zone-data.ts";

/** Where the former rules are not known, an instant is looked for so far from where they had it. */
const NEAR_MS = 3 * 3_600_000;

/** Rules that were in force before others. */
export interface Earlier {
  version: string;
  /** When the next rules came into force. */
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
 * @param earlier the rules before the former ones, the latest first, as far as they are known
 * @returns null: it never fires again
 */
export function movedFire(
  schedule: Schedule,
  former: string,
  next: EpochMs,
  since: EpochMs,
  fired: number,
  earlier: readonly Earlier[] = [],
): EpochMs | null {
  const { times } = schedule;
  if (times.type !== "CRON" || former === schedule.tzdata) return next;
  if (!hasZoneData(former)) return nearFire(schedule, next, fired);
  const last = lastPlanned(schedule, former, next, earlier);
  if (last === null) return nextFire(schedule, (schedule.startAt ?? next - NEAR_MS) - 1, fired);
  const planned = sameWall(schedule, last.version, last.at);
  return nextFire(schedule, last.at < since ? Math.max(last.at, planned) : planned, fired);
}

/** An instant, and the version of the data that has planned it. */
interface PlannedInstant {
  at: EpochMs;
  version: string;
}

/**
 * The last instant before `next` that some rules have planned. The former rules have not planned their last fire where it came before the
 * last one of the rules before them, nor where those had planned its time on the wall: then it is the last one of the rules before them.
 */
function lastPlanned(
  schedule: Schedule,
  version: string,
  next: EpochMs,
  earlier: readonly Earlier[],
): PlannedInstant | null {
  const at = previousFire({ ...schedule, tzdata: version }, next);
  const [before, ...rest] = earlier;
  if (before === undefined || !hasZoneData(before.version)) return at === null ? null : { at, version };
  const unlimited = { ...schedule, maxFires: null, tzdata: before.version };
  const nextBefore = nextFire(unlimited, before.until - 1, 0) ?? before.until;
  const last = lastPlanned(schedule, before.version, nextBefore, rest);
  if (last === null || at === null) return last ?? (at === null ? null : { at, version });
  const isLater = at > last.at && wallAt(schedule, version, at) > wallAt(schedule, last.version, last.at);
  return isLater ? { at, version } : last;
}

/** Wall-clock time of a schedule at an instant; a schedule of elapsed time has none. */
function wallAt({ times, shiftMs }: Schedule, version: string, at: EpochMs): EpochMs {
  if (times.type !== "CRON") return at;
  const { plan, zone } = cronClock(times, version);
  return plan.fixedTime ? at + zone.stretchAt((at - shiftMs) / 1_000).offsetSec * 1_000 : at;
}

/** The instant of the newer rules that shows the same time on the wall as the former rules did at this fire. */
function sameWall({ times, shiftMs, tzdata }: Schedule, former: string, at: EpochMs): EpochMs {
  if (times.type !== "CRON") return at;
  const newer = cronClock(times, tzdata);
  // A schedule of elapsed time goes on from the last fire, as it does when the clocks are set.
  if (!newer.plan.fixedTime) return at;
  const instant = (at - shiftMs) / 1_000;
  const before = cronClock(times, former).zone.stretchAt(instant);
  if (newer.zone.stretchAt(instant).offsetSec === before.offsetSec) return at;
  const fold = times.dst.fold === "BOTH" ? passOf(before, instant) : times.dst.fold;
  return instantOf(newer.zone, instant + before.offsetSec, fold) * 1_000 + shiftMs;
}

/** Which time it is that clocks show what they show at this instant: the second time soon after they were set back. */
function passOf({ start, offsetSec, offsetBeforeSec }: Stretch, instant: EpochSec): "FIRST" | "LAST" {
  return instant + offsetSec < start + offsetBeforeSec ? "LAST" : "FIRST";
}

/** When a zone shows a time on the wall; where it does not exist, the first instant after the gap. */
function instantOf(zone: TimeZone, wall: number, fold: Exclude<DstPolicy["fold"], "BOTH">): EpochSec {
  let found: EpochSec | null = null;
  let stretch: Stretch | null = zone.stretchAt(wall - OFFSET_MAX_SEC);
  for (; stretch !== null && stretch.start <= wall + OFFSET_MAX_SEC; stretch = stretchAfter(zone, stretch)) {
    const instant = wall - stretch.offsetSec;
    const isInGap = instant < stretch.start && wall >= stretch.start + stretch.offsetBeforeSec;
    if (found === null && isInGap) found = stretch.start;
    if (instant < stretch.start || instant >= stretch.end) continue;
    if (fold === "FIRST") return instant;
    found = instant;
  }
  return found ?? wall;
}

/** null: the clocks are never set again. */
function stretchAfter(zone: TimeZone, { start, end }: Stretch): Stretch | null {
  const next = zone.stretchAt(end);
  return next.start > start ? next : null;
}

/** Without the former rules: where the fire stays a fire nothing has moved, else the nearest one stands for it. */
function nearFire(schedule: Schedule, next: EpochMs, fired: number): EpochMs | null {
  const later = nextFire(schedule, next - 1, fired);
  if (later === next) return next;
  const earlier = previousFire(schedule, next);
  if (earlier === null || next - earlier > NEAR_MS) return later;
  return later !== null && later - next <= next - earlier ? later : earlier;
}
