import type { EpochMs } from "../../ids.ts";
import { invariant } from "../../invariant.ts";
import type { CronTimes, DstPolicy } from "../schedule.ts";
import { nextWall } from "../wall-times.ts";
import { OFFSET_MAX_SEC } from "../zones/bad-tzif.ts";
import type { EpochSec, Stretch, TimeZone } from "../zones/time-zone.ts";
import { readTimeZone } from "../zones/zone-names.ts";
import type { CronPlan } from "./cron-plan.ts";
import { readCron } from "./cron-text.ts";

/** End of the year 9998: an instant before it can be written as text with any shift. */
export const PLANNED_MAX_MS = Date.UTC(9999, 0, 1);
const PLANNED_MAX_SEC = PLANNED_MAX_MS / 1_000;

/** A cron expression with its time zone, prepared for stepping through its fires. */
export interface CronClock {
  plan: CronPlan;
  zone: TimeZone;
  dst: DstPolicy;
}

const DAY_SEC = 86_400;
/**
 * Period in seconds that is searched for the next fire. The rarest date, 29 February on a given weekday, comes after 40
 * years at most. An expression without a fire in 50 years has only times that clock changes remove.
 */
const HORIZON_SEC = 50 * 366 * DAY_SEC;

/** @param times valid times @param tzdata as in Schedule */
export function cronClock({ cron, timezone, dst }: CronTimes, tzdata?: string): CronClock {
  const plan = readCron(cron);
  const zone = readTimeZone(timezone, tzdata);
  invariant(!("message" in plan) && !("message" in zone), `"${cron}" in ${timezone} was taken and cannot be read`);
  return { plan, zone, dst };
}

/** First fire after this instant; null: none within 50 years. */
export function nextCronFire(clock: CronClock, after: EpochMs): EpochMs | null {
  let from = Math.floor(after / 1_000) + 1;
  const horizon = Math.min(from + HORIZON_SEC, PLANNED_MAX_SEC);
  while (from < horizon) {
    // A local time and its instant differ by less than a day, so stretches before this local time can be skipped.
    const wall = nextWall(clock.plan, from - OFFSET_MAX_SEC, horizon);
    if (wall === null) return null;
    from = Math.max(from, wall - OFFSET_MAX_SEC);
    const stretch = clock.zone.stretchAt(from);
    const fire = fireWithin(clock, stretch, from);
    if (fire !== null) return fire * 1_000;
    from = stretch.end;
  }
  return null;
}

/** First fire in this stretch at or after `from`; null: none. */
function fireWithin(clock: CronClock, stretch: Stretch, from: EpochSec): EpochSec | null {
  if (from === stretch.start && makesUp(clock) && nextInGap(clock.plan, stretch) !== null) return from;
  const { offsetSec } = stretch;
  const [first, end] = firingWalls(clock, stretch);
  const wall = nextWall(clock.plan, Math.max(first, from + offsetSec), end);
  return wall === null ? null : wall - offsetSec;
}

/** Whether times that fall into a gap fire after the gap. */
export function makesUp({ plan, dst }: CronClock): boolean {
  return plan.fixedTime && dst.gap === "SHIFT";
}

/**
 * Local times that this stretch fires for, as a range. A local time that occurs twice may belong to another stretch.
 */
function firingWalls({ plan, dst }: CronClock, stretch: Stretch): [first: number, end: number] {
  const { start, end, offsetSec, offsetBeforeSec, offsetAfterSec } = stretch;
  if (!plan.fixedTime || dst.fold === "BOTH") return [start + offsetSec, end + offsetSec];
  if (dst.fold === "FIRST") return [start + Math.max(offsetSec, offsetBeforeSec), end + offsetSec];
  return [start + offsetSec, end + Math.min(offsetSec, offsetAfterSec)];
}

/**
 * First planned local time at or after `from` that the clock change at the start of this stretch skipped; null: none.
 */
export function nextInGap(
  plan: CronPlan,
  { start, offsetSec, offsetBeforeSec }: Stretch,
  from = -Infinity,
): number | null {
  if (offsetBeforeSec >= offsetSec) return null;
  return nextWall(plan, Math.max(from, start + offsetBeforeSec), start + offsetSec);
}
