import type { Changeover } from "../changeover.ts";
import type { EpochMs } from "../ids.ts";
import { nextFire, type Occurrences, occurrences } from "./fires.ts";
import { type Earlier, movedFire } from "./moved.ts";
import type { Schedule } from "./schedule.ts";

/**
 * Time in ms after a changeover within which a local time that was planned before it may occur again: no two offsets
 * differ by more.
 */
const OVERLAP_MS = 32 * 3_600_000;
/**
 * Earlier changeovers that are checked for the rules that have planned an instant: nodes keep the data of so many
 * loaded.
 */
const EARLIER_MAX = 8;

/**
 * Instants that were or are planned at or after `since` and before `until`, each by the rules that were in force then.
 * The rules before the first changeover are unknown, so those of the first changeover are used.
 * @param limit number of instants, 1 or more
 */
export function plannedInstants(
  schedule: Schedule,
  changeovers: readonly Changeover[],
  since: EpochMs,
  until: EpochMs,
  limit: number,
): Occurrences {
  if (schedule.times.type !== "CRON" || changeovers.length === 0) return occurrences(schedule, since, until, limit);
  const instants = new Set<EpochMs>();
  let more = false;
  for (const [index, { version, since: begin }] of changeovers.entries()) {
    const end = Math.min(until, changeovers[index + 1]?.since ?? until);
    const isBefore = index > 0 && begin >= until;
    if (end <= since || isBefore) continue;
    const isOver = index === 0 || since - begin > OVERLAP_MS;
    const from = isOver ? since : firstOf(schedule, changeovers, index);
    const found = occurrences({ ...schedule, tzdata: version }, Math.max(from, since), end, limit + 1);
    for (const at of found.instants) instants.add(at);
    more ||= found.more;
  }
  const all = [...instants].sort((a, b) => a - b);
  return { instants: all.slice(0, limit), more: more || all.length > limit };
}

/** Rules before a changeover, the latest first. */
export function earlierThan(changeovers: readonly Changeover[], index: number): Earlier[] {
  const earlier = changeovers.slice(Math.max(0, index - EARLIER_MAX), Math.max(0, index)).reverse();
  return earlier.map(({ version }, back) => ({ version, until: (changeovers[index - back] as Changeover).since }));
}

/** Cached results of `firstOf`, because a backfill needs them at each of its instants and the past does not change. */
const firsts = new WeakMap<readonly Changeover[], WeakMap<Schedule, Map<number, EpochMs>>>();

/** Time from which the instants of a changeover count. Some of its instants may lie before the changeover. */
function firstOf(schedule: Schedule, changeovers: readonly Changeover[], index: number): EpochMs {
  const ofSchedules = firsts.get(changeovers) ?? new WeakMap<Schedule, Map<number, EpochMs>>();
  firsts.set(changeovers, ofSchedules);
  const known = ofSchedules.get(schedule) ?? new Map<number, EpochMs>();
  ofSchedules.set(schedule, known);
  const first = known.get(index) ?? findFirst(schedule, changeovers, index);
  known.set(index, first);
  return first;
}

function findFirst(schedule: Schedule, changeovers: readonly Changeover[], index: number): EpochMs {
  const [former, { version, since: begin }] = changeovers.slice(index - 1, index + 1) as [Changeover, Changeover];
  const unlimited = { ...schedule, maxFires: null };
  // The first instant of the former rules may lie after this changeover.
  const isLong = index === 1 || begin - former.since > OVERLAP_MS;
  const formerFirst = isLong ? begin : firstOf(schedule, changeovers, index - 1);
  const next = nextFire({ ...unlimited, tzdata: former.version }, Math.max(formerFirst, begin) - 1, 0);
  if (next === null) return begin;
  const earlier = earlierThan(changeovers, index - 1);
  return movedFire({ ...unlimited, tzdata: version }, former.version, next, begin, 0, earlier) ?? begin;
}
