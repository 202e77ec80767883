import type { EpochMs } from "../../ids.ts";
import { invariant } from "../../invariant.ts";
import type { CronTimes, DstPolicy } from "../schedule.ts";
import { nextWall } from "../wall-times.ts";
import { OFFSET_MAX_SEC } from "../zones/bad-tzif.ts";
import type { EpochSec, Stretch, TimeZone } from "../zones/time-zone.ts";
import { readTimeZone } from "../zones/zone-names.ts";
import type { CronPlan } from "./cron-plan.ts";
import { readCron } from "./cron-text.ts";

/** The end of the year 9998: with every shift it is a time that can be written. */
export const PLANNED_MAX_MS = Date.UTC(9999, 0, 1);
const PLANNED_MAX_SEC = PLANNED_MAX_MS / 1_000;

/** A schedule by cron, ready to be stepped through. */
export interface CronClock {
  plan: CronPlan;
  zone: TimeZone;
  dst: DstPolicy;
}

const DAY_SEC = 86_400;
/**
 * How far ahead a fire is looked for. The rarest date, 29 February on a given weekday, comes after 40 years at most;
 * who finds nothing in 50 has only times that clock changes take away.
 */
const HORIZON_SEC = 50 * 366 * DAY_SEC;

/** @param times which have been found good. @param tzdata as in Schedule */
export function cronClock({ cron, timezone, dst }: CronTimes, tzdata?: string): CronClock {
  const plan = readCron(cron);
  const zone = readTimeZone(timezone, tzdata);
  invariant(!("message" in plan) && !("message" in zone), `"${cron}" in ${timezone} was taken and cannot be read`);
  return { plan, zone, dst };
}

/** The first fire after this instant; null: none within 50 years. */
export function nextCronFire(clock: CronClock, after: EpochMs): EpochMs | null {
  let from = Math.floor(after / 1_000) + 1;
  const horizon = Math.min(from + HORIZON_SEC, PLANNED_MAX_SEC);
  while (from < horizon) {
    // From a time on the wall to its instant it is less than a day: stretches between here and there need no look.
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

/** The first fire in this stretch at or after `from`. */
function fireWithin(clock: CronClock, stretch: Stretch, from: EpochSec): EpochSec | null {
  if (from === stretch.start && makesUp(clock) && nextInGap(clock.plan, stretch) !== null) return from;
  const { offsetSec } = stretch;
  const [first, end] = firingWalls(clock, stretch);
  const wall = nextWall(clock.plan, Math.max(first, from + offsetSec), end);
  return wall === null ? null : wall - offsetSec;
}

/** Whether what falls into a gap fires after it. */
export function makesUp({ plan, dst }: CronClock): boolean {
  return plan.fixedTime && dst.gap === "SHIFT";
}

/** Times on the wall that this stretch fires for: those that come twice may be another stretch's. */
function firingWalls({ plan, dst }: CronClock, stretch: Stretch): [first: number, end: number] {
  const { start, end, offsetSec, offsetBeforeSec, offsetAfterSec } = stretch;
  if (!plan.fixedTime || dst.fold === "BOTH") return [start + offsetSec, end + offsetSec];
  if (dst.fold === "FIRST") return [start + Math.max(offsetSec, offsetBeforeSec), end + offsetSec];
  return [start + offsetSec, end + Math.min(offsetSec, offsetAfterSec)];
}

/** The first planned time, at or after `from`, that the clock change at the start of this stretch left out. */
export function nextInGap(
  plan: CronPlan,
  { start, offsetSec, offsetBeforeSec }: Stretch,
  from = -Infinity,
): number | null {
  if (offsetBeforeSec >= offsetSec) return null;
  return nextWall(plan, Math.max(from, start + offsetBeforeSec), start + offsetSec);
}
