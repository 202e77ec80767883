import type { EpochMs, JobId, Plan, ShardId, Skip } from "@mainspring/server/testing";
import { byText, SortedList } from "./sorted-list.ts";

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

/** How far recurring jobs have come, and which of their planned instants did not run. */
export class PlanTable {
  readonly #rows = new Map<JobId, PlanRow>();
  readonly #ids = new SortedList<JobId>(byText);
  readonly #due = new SortedList<DueCursor>((a, b) => a.at - b.at || byText(a.jobId, b.jobId));
  readonly #skips = new Map<JobId, Skip[]>();

  /** A table of its own with the same rows. */
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

  /** ACTIVE ones, earliest first. @param visit false ends it */
  due(until: EpochMs, visit: (row: PlanRow) => boolean): void {
    this.#due.ascend(null, ({ at, jobId }) => at <= until && visit(this.#rows.get(jobId) as PlanRow));
  }

  /** In the order of ids. @param visit false ends it */
  ascend(after: JobId | null, visit: (row: PlanRow) => boolean): void {
    this.#ids.ascend(after, (jobId) => visit(this.#rows.get(jobId) as PlanRow));
  }

  /** A stretch that begins where another one does is left out. */
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
