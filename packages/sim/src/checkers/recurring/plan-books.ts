import type {
  ExecutionRow,
  JobRow,
  Plan,
  PlanCommand,
  RecurrenceRule,
  Skip,
  StoreEvent,
} from "@mainspring/server/testing";

/** A definition of a recurring job, from its write until the plan followed the next one. */
export interface BookedVersion {
  version: number;
  rule: RecurrenceRule;
  /** Time of the write, by the store's clock. */
  writtenAt: number;
  /** Time at which the plan first followed it; null: never. */
  followedAt: number | null;
  /**
   * Time at which the edit that replaced it was requested, and from which the edit counts; null: no edit has replaced
   * it.
   */
  replacedAt: number | null;
}

/** Writes about one recurring job. */
export interface PlanBook {
  readonly jobId: string;
  readonly createdAt: number;
  readonly versions: BookedVersion[];
  plan: Plan | null;
  deletedAt: number | null;
  /** Time at which the plan ended; null: it has not. */
  finishedAt: number | null;
  pausedBefore: boolean;
  /** Executions that its schedule or a misfire created, in the order of their writes. */
  readonly created: ExecutionRow[];
  readonly backfills: ExecutionRow[];
  readonly skips: Skip[];
}

/** Records of the plans of recurring jobs in the store, for other checkers. */
export class PlanBooks {
  readonly name = "the books of plans";
  readonly all = new Map<string, PlanBook>();

  saw(event: StoreEvent): void {
    if (event.kind === "SUBMITTED") this.#submitted(event);
    else if (event.kind === "JOB_CHANGED") this.#changed(event.job, event.at);
    else if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") this.#committed(event);
    else if (event.kind === "COMMANDED" && event.command.kind === "PLAN") this.#ordered(event.command, event.at);
  }

  versionOf(book: PlanBook, version: number): BookedVersion | undefined {
    return book.versions.find((booked) => booked.version === version);
  }

  #ordered({ jobId, order }: PlanCommand, at: number): void {
    const book = this.all.get(jobId);
    if (book === undefined) return;
    if (order.kind === "PAUSE") book.pausedBefore = true;
    const former = order.kind === "LOOK" ? order.former : undefined;
    const replaced = former && this.versionOf(book, former.version);
    if (replaced !== undefined) replaced.replacedAt = Math.min(former?.until ?? at, at);
  }

  #submitted({ submission, outcome, at }: Extract<StoreEvent, { kind: "SUBMITTED" }>): void {
    if (outcome.kind !== "ACCEPTED" || outcome.replayed) return;
    submission.jobs.forEach(({ jobId, createdAt, definition, executionId }, index) => {
      if (executionId !== null || outcome.jobs[index]?.nameHeldBy !== undefined) return;
      if (definition.recurrence !== null) this.#open(jobId, createdAt, 1, definition.recurrence, at);
    });
  }

  #changed({ job, version, deletedAt }: JobRow, at: number): void {
    const rule = job.definition.recurrence;
    if (rule === null) return;
    const book = this.all.get(job.jobId) ?? this.#open(job.jobId, job.createdAt, version, rule, at);
    if (version > (book.versions.at(-1)?.version ?? 0)) {
      book.versions.push({ version, rule, writtenAt: at, followedAt: null, replacedAt: null });
    }
    if (deletedAt !== null) book.deletedAt ??= at;
  }

  #open(jobId: string, createdAt: number, version: number, rule: RecurrenceRule, at: number): PlanBook {
    const first = { version, rule, writtenAt: Math.min(createdAt, at), followedAt: createdAt, replacedAt: null };
    const book: PlanBook = {
      ...{ jobId, createdAt, versions: [first], plan: null, deletedAt: null, finishedAt: null, pausedBefore: false },
      ...{ created: [], backfills: [], skips: [] },
    };
    this.all.set(jobId, book);
    return book;
  }

  #committed({ planned, born, at }: Extract<StoreEvent, { kind: "COMMITTED" }>): void {
    for (const { after, skips } of planned) {
      const book = this.all.get(after.jobId);
      if (book === undefined) continue;
      book.plan = after.plan;
      if (after.plan.state === "FINISHED") book.finishedAt ??= at;
      book.skips.push(...skips);
      const followed = this.versionOf(book, after.plan.version);
      if (followed !== undefined) followed.followedAt ??= at;
    }
    for (const row of born) {
      const book = this.all.get(row.job.jobId);
      (row.trigger === "BACKFILL" ? book?.backfills : book?.created)?.push(row);
    }
  }
}
