import type { EpochMs, JobId, ShardId } from "../../../domain/ids.ts";
import type { Plan, Skip } from "../../../domain/recurrence.ts";
import { byText, SortedList } from "../sorted-list.ts";

/** A row of the simulated table. Never changed, only replaced. */
export interface PlanRow {
  readonly jobId: JobId;
  readonly shard: ShardId;
  readonly revision: number;
  readonly plan: Plan;
}

interface DueCursor {
  at: EpochMs;
  jobId: JobId;
}

/** Progress of recurring jobs, and their planned instants that did not run. */
export class PlanTable {
  readonly #rows = new Map<JobId, PlanRow>();
  readonly #ids = new SortedList<JobId>(byText);
  readonly #due = new SortedList<DueCursor>((a, b) => a.at - b.at || byText(a.jobId, b.jobId));
  readonly #skips = new Map<JobId, Skip[]>();

  /** A copy of the table with the same rows. */
  copy(): PlanTable {
    const copy = new PlanTable();
    for (const row of this.#rows.values()) copy.insert(row);
    for (const [jobId, skips] of this.#skips) copy.#skips.set(jobId, skips);
    return copy;
  }

  get(jobId: JobId): PlanRow | undefined {
    return this.#rows.get(jobId);
  }

  all(): IterableIterator<PlanRow> {
    return this.#rows.values();
  }

  insert(row: PlanRow): void {
    this.#ids.add(row.jobId);
    this.#put(row);
  }

  replace(row: PlanRow): void {
    this.#takeOut(row.jobId);
    this.#put(row);
  }

  remove(jobId: JobId): void {
    this.#takeOut(jobId);
    this.#rows.delete(jobId);
    this.#ids.delete(jobId);
    this.#skips.delete(jobId);
  }

  /** Visits ACTIVE plans, the earliest first. @param visit return false to stop */
  due(until: EpochMs, visit: (row: PlanRow) => boolean): void {
    this.#due.ascend(null, ({ at, jobId }) => at <= until && visit(this.#rows.get(jobId) as PlanRow));
  }

  /** Visits plans in the order of ids. @param visit return false to stop */
  ascend(after: JobId | null, visit: (row: PlanRow) => boolean): void {
    this.#ids.ascend(after, (jobId) => visit(this.#rows.get(jobId) as PlanRow));
  }

  /** Adds a range of skipped instants. A range with the same start as an existing one is ignored. */
  addSkip(jobId: JobId, skip: Skip): void {
    const skips = this.#skips.get(jobId) ?? [];
    if (skips.some(({ from }) => from === skip.from)) return;
    this.#skips.set(jobId, [...skips, skip]);
  }

  skips(jobId: JobId): readonly Skip[] {
    return this.#skips.get(jobId) ?? [];
  }

  forgetSkipsBefore(instant: EpochMs): void {
    for (const [jobId, skips] of this.#skips) {
      this.#skips.set(
        jobId,
        skips.filter(({ to }) => to >= instant),
      );
    }
  }

  #put(row: PlanRow): void {
    this.#rows.set(row.jobId, row);
    const at = dueAt(row);
    if (at !== null) this.#due.add({ at, jobId: row.jobId });
  }

  #takeOut(jobId: JobId): void {
    const at = dueAt(this.#rows.get(jobId) as PlanRow);
    if (at !== null) this.#due.delete({ at, jobId });
  }
}

function dueAt({ plan }: PlanRow): EpochMs | null {
  return plan.state === "ACTIVE" ? plan.nextFireAt : null;
}
