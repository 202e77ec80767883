import type { EpochMs } from "../domain/ids.ts";
import { scheduleOf } from "../domain/recurrence.ts";
import { plannedInstants } from "../domain/schedule/planned.ts";
import type { InstantTraces, RecurringJob } from "../ports/store-queries.ts";
import { isAhead, type KnownPast, missedSince } from "./ledger.ts";

/** Result of a look at a stretch of a job's planned instants. */
export interface MissedLook {
  /** Planned instants without any trace, ascending. */
  missed: EpochMs[];
  /** First instant of the stretch that the plan has still to account for; null: none. */
  aheadAt: EpochMs | null;
  /** End of what was looked at. Before the end of the stretch: there was more than the limit, or the plan has not come further. */
  lookedUntil: EpochMs;
  /** Whether there was more than the limit. */
  isCut: boolean;
}

/**
 * Judges a stretch as the ledger does, from what was read after the job.
 * @param limit what bounded each kind of trace
 */
export function lookForMissed(
  job: RecurringJob,
  { since, until }: { since: EpochMs; until: EpochMs },
  traces: InstantTraces,
  limit: number,
  now: EpochMs,
  known: KnownPast,
): MissedLook {
  const judgedSince = missedSince(job, now, known);
  // The plan has not followed the last edit yet.
  if (judgedSince === null) return { missed: [], aheadAt: null, lookedUntil: since, isCut: false };
  const readUntil = Math.min(until, endOfRead(traces, limit));
  const accountedUntil = job.plan.nextFireAt ?? endOfFinished(traces, since);
  const schedule = scheduleOf(job.recurrence, job.jobId, job.createdAt);
  const end = Math.min(readUntil, accountedUntil);
  const from = Math.max(since, judgedSince);
  const { instants, more } =
    from < end ? plannedInstants(schedule, known.changeovers, from, end, 2 * limit) : { instants: [], more: false };
  const lookedUntil = more ? (instants.at(-1) as EpochMs) + 1 : Math.min(readUntil, job.plan.nextFireAt ?? readUntil);
  const open = withoutTrace(instants, traces);
  return {
    missed: open.filter((at) => !isAhead(job.plan, at)),
    aheadAt: open.find((at) => isAhead(job.plan, at)) ?? null,
    lookedUntil,
    isCut: lookedUntil < Math.min(until, job.plan.nextFireAt ?? until),
  };
}

/** Up to where all traces were read. */
function endOfRead({ fired, skipped }: InstantTraces, limit: number): EpochMs {
  const firedEnd = fired.length < limit ? Infinity : (fired.at(-1) as EpochMs) + 1;
  const skippedEnd = skipped.length < limit ? Infinity : (skipped.at(-1)?.to as EpochMs) + 1;
  return Math.min(firedEnd, skippedEnd);
}

/** Where nothing is planned any more, the last trace is the last instant that there was to be. */
function endOfFinished({ fired, skipped }: InstantTraces, since: EpochMs): EpochMs {
  return Math.max(since, fired.at(-1) ?? 0, skipped.at(-1)?.to ?? 0);
}

/** @param instants ascending, as the traces are */
function withoutTrace(instants: readonly EpochMs[], { fired, skipped }: InstantTraces): EpochMs[] {
  const known = new Set(fired);
  let next = 0;
  return instants.filter((at) => {
    while (next < skipped.length && (skipped[next]?.to as EpochMs) < at) next++;
    const isSkipped = next < skipped.length && (skipped[next]?.from as EpochMs) <= at;
    return !isSkipped && !known.has(at);
  });
}
