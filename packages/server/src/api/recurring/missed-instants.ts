import type { EpochMs, JobId } from "../../domain/ids.ts";
import type { JobStretch, RecurringJob } from "../../ports/store-queries.ts";

/** Largest number of instants that are kept; this count means as many or more. */
const MISSED_COUNTED_MAX = 1_000;

/** A recurring job with planned instants without any trace. */
export interface MissedJob {
  jobId: JobId;
  tenant: string;
  /** Name of the job; null: it has none. */
  name: string | null;
  /** Instants, ascending. */
  instants: readonly EpochMs[];
}

interface Entry {
  tenant: string;
  name: string | null;
  instants: Set<EpochMs>;
  /** Round of the search that saw the job last. */
  round: object;
}

/** MISSED instants that the search has found, by job. */
export class MissedInstants {
  readonly #jobs = new Map<JobId, Entry>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Jobs, the one with the earliest instant first. */
  jobs(): MissedJob[] {
    const jobs = Array.from(this.#jobs, ([jobId, { tenant, name, instants }]) => {
      return { jobId, tenant, name, instants: [...instants].sort((a, b) => a - b) };
    });
    return jobs.sort((a, b) => (a.instants[0] as EpochMs) - (b.instants[0] as EpochMs));
  }

  add({ jobId, tenant, name }: RecurringJob, missed: readonly EpochMs[], round: object): void {
    const known = this.#jobs.get(jobId);
    const entry = known ?? { tenant, name, instants: new Set<EpochMs>(), round };
    for (const at of missed) {
      if (entry.instants.has(at) || this.#count >= MISSED_COUNTED_MAX) continue;
      entry.instants.add(at);
      this.#count++;
    }
    if (known === undefined && entry.instants.size > 0) this.#jobs.set(jobId, entry);
  }

  /**
   * Records that a job still exists. The plan from before the job's last edit is unknown, so earlier instants are
   * dropped.
   */
  visited({ jobId, name, updatedAt }: RecurringJob, round: object): void {
    const entry = this.#jobs.get(jobId);
    if (entry === undefined) return;
    this.#drop(jobId, (at) => at <= updatedAt);
    Object.assign(entry, { name, round });
  }

  /** Drops jobs that the round has not seen, because they were deleted, and instants before `oldest`. */
  endRound(round: object, oldest: EpochMs): void {
    for (const [jobId, entry] of this.#jobs) this.#drop(jobId, (at) => entry.round !== round || at < oldest);
  }

  /** One range for each instant. */
  stretches(): JobStretch[] {
    return Array.from(this.#jobs, ([jobId, { instants }]) =>
      Array.from(instants, (at) => ({ jobId, since: at, until: at + 1 })),
    ).flat();
  }

  /** Removes an instant that has a trace by now. */
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
