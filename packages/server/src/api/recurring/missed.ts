import type { EpochMs } from "../../domain/ids.ts";
import { scheduleOf } from "../../domain/recurrence.ts";
import { plannedInstants } from "../../domain/schedule/planned.ts";
import type { InstantTraces, RecurringJob } from "../../ports/store-queries.ts";
import { isAhead, type KnownPast, missedSince } from "./ledger.ts";

/** Result of a look at a range of a job's planned instants. */
export interface MissedLook {
  /** Planned instants without any trace, ascending. */
  missed: EpochMs[];
  /** First instant of the range for which the plan has yet to account; null: none. */
  aheadAt: EpochMs | null;
  /**
   * End of the judged part. It lies before the end of the range if there were more traces than the limit, or the plan
   * has not come further.
   */
  lookedUntil: EpochMs;
  /** Whether there were more traces than the limit. */
  isCut: boolean;
}

/**
 * Judges a range as the ledger does, from traces that were read after the job.
 * @param limit limit of each kind of trace in the read
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

/** End of the range for which all traces were read. */
function endOfRead({ fired, skipped }: InstantTraces, limit: number): EpochMs {
  const firedEnd = fired.length < limit ? Infinity : (fired.at(-1) as EpochMs) + 1;
  const skippedEnd = skipped.length < limit ? Infinity : (skipped.at(-1)?.to as EpochMs) + 1;
  return Math.min(firedEnd, skippedEnd);
}

/** If nothing more is planned, the last trace is the last instant that was planned. */
function endOfFinished({ fired, skipped }: InstantTraces, since: EpochMs): EpochMs {
  return Math.max(since, fired.at(-1) ?? 0, skipped.at(-1)?.to ?? 0);
}

/** @param instants ascending, as the traces */
function withoutTrace(instants: readonly EpochMs[], { fired, skipped }: InstantTraces): EpochMs[] {
  const known = new Set(fired);
  let next = 0;
  return instants.filter((at) => {
    while (next < skipped.length && (skipped[next]?.to as EpochMs) < at) next++;
    const isSkipped = next < skipped.length && (skipped[next]?.from as EpochMs) <= at;
    return !isSkipped && !known.has(at);
  });
}
