import type { EpochMs } from "../ids.ts";
import { invariant } from "../invariant.ts";
import { cronClock, nextCronFire, PLANNED_MAX_MS } from "./cron/cron-fires.ts";
import type { IntervalTimes, Schedule } from "./schedule.ts";

/**
 * The first fire of a job. `startAt` itself counts, the creation does not: an interval without `startAt` first passes
 * once.
 * @returns null: there is none, and the job is not to be taken
 */
export function firstFire(schedule: Schedule, createdAt: EpochMs): EpochMs | null {
  return nextFire(schedule, createdAt, 0);
}

/**
 * The next fire, strictly after an instant.
 * @param after the last planned instant, or the present; with a fixed delay the end of the last execution
 * @param fired how often it has fired, which `maxFires` bounds
 * @returns null: it never fires again
 */
export function nextFire(schedule: Schedule, after: EpochMs, fired: number): EpochMs | null {
  const { times, startAt, endAt, maxFires, shiftMs, tzdata } = schedule;
  if (maxFires !== null && fired >= maxFires) return null;
  const from = Math.max(after - shiftMs, startAt === null ? -Infinity : startAt - 1);
  const planned = times.type === "CRON" ? nextCronFire(cronClock(times, tzdata), from) : nextInterval(times, from);
  if (planned === null || planned >= PLANNED_MAX_MS || (endAt !== null && planned >= endAt)) return null;
  return planned + shiftMs;
}

/** How far back a fire is looked for. */
const BACK_MAX_MS = 50 * 366 * 86_400_000;

/**
 * The last fire before an instant that is a fire itself; null: there is none within 50 years. Undefined for a fixed
 * delay.
 */
export function previousFire(schedule: Schedule, next: EpochMs): EpochMs | null {
  const unlimited = { ...schedule, maxFires: null };
  const comesBefore = (after: EpochMs) => (nextFire(unlimited, after, 0) ?? next) < next;
  let [before, last] = [Math.max(0, next - BACK_MAX_MS), next - 1];
  if (!comesBefore(before)) return null;
  while (last - before > 1) {
    const middle = Math.floor((before + last) / 2);
    if (comesBefore(middle)) before = middle;
    else last = middle;
  }
  return last;
}

/**
 * The fire that follows the end of an execution of a job with a fixed delay: a whole delay later, and not before its
 * anchor, to which the end of an execution that an earlier rule planned may be near.
 * @returns null: it never fires again
 */
export function fireAfterEnd(schedule: Schedule, endedAt: EpochMs, fired: number): EpochMs | null {
  const { times, shiftMs } = schedule;
  invariant(times.type === "INTERVAL" && times.mode === "FIXED_DELAY", "only a fixed delay counts from an end");
  const since = Math.max(endedAt, times.anchorAt + shiftMs - times.everyMs);
  return nextFire({ ...schedule, startAt: null, times: { ...times, anchorAt: -Infinity } }, since, fired);
}

function nextInterval({ everyMs, mode, anchorAt }: IntervalTimes, after: EpochMs): EpochMs {
  if (anchorAt > after) return anchorAt;
  if (mode === "FIXED_DELAY") return after + everyMs;
  return anchorAt + (Math.floor((after - anchorAt) / everyMs) + 1) * everyMs;
}

/** Planned instants of a range. */
export interface Occurrences {
  /** In order. */
  instants: EpochMs[];
  /** There are more than were asked for. */
  more: boolean;
}

/**
 * Instants planned at or after `since` and before `until`. `maxFires` does not apply: it counts fires, not plans. A fixed
 * delay plans nothing beforehand.
 * @param limit instants, 1 or more
 */
export function occurrences(schedule: Schedule, since: EpochMs, until: EpochMs, limit: number): Occurrences {
  const instants: EpochMs[] = [];
  if (schedule.times.type === "INTERVAL" && schedule.times.mode === "FIXED_DELAY") return { instants, more: false };
  const unlimited = { ...schedule, maxFires: null };
  for (let after = since - 1; ; after = instants.at(-1) as EpochMs) {
    const next = nextFire(unlimited, after, 0);
    if (next === null || next >= until) return { instants, more: false };
    if (instants.length >= limit) return { instants, more: true };
    instants.push(next);
  }
}
