import type { Changeover } from "../changeover.ts";
import type { EpochMs } from "../ids.ts";
import { nextFire, type Occurrences, occurrences } from "./fires.ts";
import { type Earlier, movedFire } from "./moved.ts";
import type { Schedule } from "./schedule.ts";

/**
 * So long after a changeover a time on the wall may come again that was planned before it: no two offsets are further
 * apart.
 */
const OVERLAP_MS = 32 * 3_600_000;
/** Changeovers that are looked back at for which rules have planned an instant: nodes have the data of so many at hand. */
const EARLIER_MAX = 8;

/**
 * Instants that were or are planned at or after `since` and before `until`, each by the rules that were in force then.
 * The rules before the first changeover are not known: its rules stand for them.
 * @param limit instants, 1 or more
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

/** The rules before a changeover, the latest first. */
export function earlierThan(changeovers: readonly Changeover[], index: number): Earlier[] {
  const earlier = changeovers.slice(Math.max(0, index - EARLIER_MAX), Math.max(0, index)).reverse();
  return earlier.map(({ version }, back) => ({ version, until: (changeovers[index - back] as Changeover).since }));
}

/** Cached results of `firstOf`: a backfill asks for them at each of its instants, and the past does not change. */
const firsts = new WeakMap<readonly Changeover[], WeakMap<Schedule, Map<number, EpochMs>>>();

/** Where the instants of a changeover begin: some of them may lie before it. */
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
  // The former rules may have begun with an instant that had not come yet.
  const isLong = index === 1 || begin - former.since > OVERLAP_MS;
  const formerFirst = isLong ? begin : firstOf(schedule, changeovers, index - 1);
  const next = nextFire({ ...unlimited, tzdata: former.version }, Math.max(formerFirst, begin) - 1, 0);
  if (next === null) return begin;
  const earlier = earlierThan(changeovers, index - 1);
  return movedFire({ ...unlimited, tzdata: version }, former.version, next, begin, 0, earlier) ?? begin;
}
