import type { JobId, NewJob } from "@mainspring/server/testing";
import { byText, SortedList } from "./sorted-list.ts";

/** All jobs, by id. */
export class JobTable {
  readonly #jobs = new Map<JobId, NewJob>();
  readonly #ids = new SortedList<JobId>(byText);

  get(id: JobId): NewJob | undefined {
    return this.#jobs.get(id);
  }

  all(): Iterable<NewJob> {
    return this.#jobs.values();
  }

  insert(job: NewJob): void {
    this.#jobs.set(job.jobId, job);
    this.#ids.add(job.jobId);
  }

  remove({ jobId }: NewJob): void {
    this.#jobs.delete(jobId);
    this.#ids.delete(jobId);
  }

  /** Backwards by id, which is newest first. @param visit false ends it */
  newestFirst(before: JobId | null, visit: (job: NewJob) => boolean): void {
    this.#ids.descend(before, (id) => visit(this.#jobs.get(id) as NewJob));
  }
}
