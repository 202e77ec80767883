import type { EpochMs, JobId } from "../domain/ids.ts";
import type { JobStretch, RecurringJob } from "../ports/store-queries.ts";

/** Instants that are kept; a count of this many stands for more. */
const MISSED_COUNTED_MAX = 1_000;

/** A recurring job with planned instants that have no trace. */
export interface MissedJob {
  jobId: JobId;
  /** null: it has none. */
  name: string | null;
  /** Ascending. */
  instants: readonly EpochMs[];
}

interface Entry {
  name: string | null;
  instants: Set<EpochMs>;
  /** Round of the search that saw the job last. */
  round: object;
}

/** Missed instants that a search has found, by job. */
export class MissedInstants {
  readonly #jobs = new Map<JobId, Entry>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The job with the earliest instant first. */
  jobs(): MissedJob[] {
    const jobs = Array.from(this.#jobs, ([jobId, { name, instants }]) => {
      return { jobId, name, instants: [...instants].sort((a, b) => a - b) };
    });
    return jobs.sort((a, b) => (a.instants[0] as EpochMs) - (b.instants[0] as EpochMs));
  }

  add({ jobId, name }: RecurringJob, missed: readonly EpochMs[], round: object): void {
    const known = this.#jobs.get(jobId);
    const entry = known ?? { name, instants: new Set<EpochMs>(), round };
    for (const at of missed) {
      if (entry.instants.has(at) || this.#count >= MISSED_COUNTED_MAX) continue;
      entry.instants.add(at);
      this.#count++;
    }
    if (known === undefined && entry.instants.size > 0) this.#jobs.set(jobId, entry);
  }

  /** The job is still there. The job's plan from before its last edit is not known any more. */
  visited({ jobId, name, updatedAt }: RecurringJob, round: object): void {
    const entry = this.#jobs.get(jobId);
    if (entry === undefined) return;
    this.#drop(jobId, (at) => at <= updatedAt);
    Object.assign(entry, { name, round });
  }

  /** Drops jobs that the round has not seen, as they were deleted, and instants before `oldest`. */
  endRound(round: object, oldest: EpochMs): void {
    for (const [jobId, entry] of this.#jobs) this.#drop(jobId, (at) => entry.round !== round || at < oldest);
  }

  /** A stretch for each instant. */
  stretches(): JobStretch[] {
    return Array.from(this.#jobs, ([jobId, { instants }]) =>
      Array.from(instants, (at) => ({ jobId, since: at, until: at + 1 })),
    ).flat();
  }

  /** The instant has a trace by now. */
  settled({ jobId, since }: JobStretch): void {
    this.#drop(jobId, (at) => at === since);
  }

  #drop(jobId: JobId, isOver: (at: EpochMs) => boolean): void {
    const { instants } = this.#jobs.get(jobId) as Entry;
    for (const at of instants) {
      if (!isOver(at)) continue;
      instants.delete(at);
      this.#count--;
    }
    if (instants.size === 0) this.#jobs.delete(jobId);
  }
}
