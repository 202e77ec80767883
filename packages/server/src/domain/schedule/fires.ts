import type { EpochMs } from "../ids.ts";
import { invariant } from "../invariant.ts";
import { cronClock, nextCronFire, PLANNED_MAX_MS } from "./cron/cron-fires.ts";
import type { IntervalTimes, Schedule } from "./schedule.ts";

/**
 * First fire of a job. `startAt` itself may fire, the creation does not: an interval without `startAt` fires one
 * interval later.
 * @returns null: the schedule never fires, so the job must be refused
 */
export function firstFire(schedule: Schedule, createdAt: EpochMs): EpochMs | null {
  return nextFire(schedule, createdAt, 0);
}

/**
 * Next fire, strictly after an instant.
 * @param after the last planned instant, or the present; with a fixed delay the end of the last execution
 * @param fired number of earlier fires, which `maxFires` bounds
 * @returns null: the schedule never fires again
 */
export function nextFire(schedule: Schedule, after: EpochMs, fired: number): EpochMs | null {
  const { times, startAt, endAt, maxFires, shiftMs, tzdata } = schedule;
  if (maxFires !== null && fired >= maxFires) return null;
  const from = Math.max(after - shiftMs, startAt === null ? -Infinity : startAt - 1);
  const planned = times.type === "CRON" ? nextCronFire(cronClock(times, tzdata), from) : nextInterval(times, from);
  if (planned === null || planned >= PLANNED_MAX_MS || (endAt !== null && planned >= endAt)) return null;
  return planned + shiftMs;
}

/** Period in ms before an instant that is searched for a fire. */
const BACK_MAX_MS = 50 * 366 * 86_400_000;

/**
 * Last fire before an instant that is itself a fire; null: none within 50 years. The schedule must not be a fixed
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
 * Fire after the end of an execution of a job with a fixed delay: one delay later, and not before the anchor. The
 * anchor can be later, if an earlier rule planned the execution.
 * @returns null: the schedule never fires again
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
  /** The instants, ascending. */
  instants: EpochMs[];
  /** Whether there are more than the limit. */
  more: boolean;
}

/**
 * Instants planned at or after `since` and before `until`. `maxFires` does not apply, because it counts fires rather
 * than planned instants. A fixed delay plans nothing in advance.
 * @param limit number of instants, 1 or more
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
