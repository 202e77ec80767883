import type { EpochMs } from "../ids.ts";
import { cronClock } from "./cron/cron-fires.ts";
import { nextFire, previousFire } from "./fires.ts";
import type { DstPolicy, Schedule } from "./schedule.ts";
import { OFFSET_MAX_SEC } from "./zones/bad-tzif.ts";
import { type EpochSec, type Stretch, type TimeZone } from "./zones/time-zone.ts";
import { hasZoneData } from "./zones/zone-data.ts";

/** Distance in ms from the planned instant that is searched for a fire if the former rules are unknown. */
const NEAR_MS = 3 * 3_600_000;

/** Time zone rules that were in force before others. */
export interface Earlier {
  version: string;
  /** Time at which the next rules came into force. */
  until: EpochMs;
}

/**
 * Finds the first fire under newer rules whose local time the former rules have not planned yet. It may lie in the
 * past, if the former rules had it later. A local time that was planned does not fire again.
 * @param schedule schedule with the newer version
 * @param former version of the data by which `next` was computed
 * @param next first fire that is not accounted for, by the former version
 * @param since time at which the newer rules came into force: fires that the former rules have from then on and before
 * `next` stood for local times that still older rules had planned
 * @param earlier the known rules before the former ones, the latest first
 * @returns null: the schedule never fires again
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
 * Finds the last instant before `next` that any rules have planned. The former rules have not planned their last fire
 * if it lies before the last fire of the rules before them, or if those had planned its local time. The last fire of
 * the rules before them counts then.
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

/**
 * Local time of a schedule at an instant, in ms. A schedule of elapsed time has none, so the instant itself is
 * returned.
 */
function wallAt({ times, shiftMs }: Schedule, version: string, at: EpochMs): EpochMs {
  if (times.type !== "CRON") return at;
  const { plan, zone } = cronClock(times, version);
  return plan.fixedTime ? at + zone.stretchAt((at - shiftMs) / 1_000).offsetSec * 1_000 : at;
}

/** Instant of this fire by the newer rules: the one with the same local time as by the former rules. */
function sameWall({ times, shiftMs, tzdata }: Schedule, former: string, at: EpochMs): EpochMs {
  if (times.type !== "CRON") return at;
  const newer = cronClock(times, tzdata);
  // A schedule of elapsed time continues from the last fire, as it does when the clocks change.
  if (!newer.plan.fixedTime) return at;
  const instant = (at - shiftMs) / 1_000;
  const before = cronClock(times, former).zone.stretchAt(instant);
  if (newer.zone.stretchAt(instant).offsetSec === before.offsetSec) return at;
  const fold = times.dst.fold === "BOTH" ? passOf(before, instant) : times.dst.fold;
  return instantOf(newer.zone, instant + before.offsetSec, fold) * 1_000 + shiftMs;
}

/** Tells whether the clocks show this local time for the first or the last time: LAST soon after they were set back. */
function passOf({ start, offsetSec, offsetBeforeSec }: Stretch, instant: EpochSec): "FIRST" | "LAST" {
  return instant + offsetSec < start + offsetBeforeSec ? "LAST" : "FIRST";
}

/**
 * Instant at which a zone shows a local time. For a local time that does not exist, the first instant after the gap.
 */
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

/** The stretch after this one; null: the clocks are never set again. */
function stretchAfter(zone: TimeZone, { start, end }: Stretch): Stretch | null {
  const next = zone.stretchAt(end);
  return next.start > start ? next : null;
}

/**
 * Finds the fire that replaces `next` if the former rules are unknown: the same instant if it is still a fire, else the
 * nearest fire.
 */
function nearFire(schedule: Schedule, next: EpochMs, fired: number): EpochMs | null {
  const later = nextFire(schedule, next - 1, fired);
  if (later === next) return next;
  const earlier = previousFire(schedule, next);
  if (earlier === null || next - earlier > NEAR_MS) return later;
  return later !== null && later - next <= next - earlier ? later : earlier;
}
