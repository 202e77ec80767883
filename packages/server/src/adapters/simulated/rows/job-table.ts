import type { EpochMs, JobId } from "../../../domain/ids.ts";
import type { NewJob, NewRecurringJob } from "../../../ports/store.ts";
import { byText, SortedList } from "../sorted-list.ts";

/** A row of the simulated table. Rows are replaced, never changed. */
export interface JobRow {
  /** The job as it was submitted, with its present definition and payload. */
  readonly job: NewJob | NewRecurringJob;
  readonly version: number;
  readonly updatedAt: EpochMs;
  readonly deletedAt: EpochMs | null;
  /** Payload of each version, from the first. */
  readonly payloads: readonly (Uint8Array | null)[];
}

/** All jobs, by id. */
export class JobTable {
  readonly #jobs = new Map<JobId, JobRow>();
  readonly #ids = new SortedList<JobId>(byText);

  /** A copy of the table with the same rows. */
  copy(): JobTable {
    const copy = new JobTable();
    for (const [id, row] of this.#jobs) {
      copy.#jobs.set(id, row);
      copy.#ids.add(id);
    }
    return copy;
  }

  get(id: JobId): JobRow | undefined {
    return this.#jobs.get(id);
  }

  all(): Iterable<JobRow> {
    return this.#jobs.values();
  }

  insert(job: NewJob | NewRecurringJob): void {
    const row = { job, version: 1, updatedAt: job.createdAt, deletedAt: null, payloads: [job.payload] };
    this.#jobs.set(job.jobId, row);
    this.#ids.add(job.jobId);
  }

  replace(row: JobRow): void {
    this.#jobs.set(row.job.jobId, row);
  }

  remove({ job: { jobId } }: JobRow): void {
    this.#jobs.delete(jobId);
    this.#ids.delete(jobId);
  }

  /** Visits rows in descending order of ids, so the newest first. @param visit return false to stop */
  newestFirst(before: JobId | null, visit: (row: JobRow) => boolean): void {
    this.#ids.descend(before, (id) => visit(this.#jobs.get(id) as JobRow));
  }
}
