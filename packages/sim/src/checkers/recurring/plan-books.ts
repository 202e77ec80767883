import type { Plan, PlanCommand, RecurrenceRule, Skip } from "@mainspring/server/testing";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { StoreEvent } from "../store/history.ts";
import type { JobRow } from "../store/job-table.ts";

/** A definition of a recurring job, from when it was written until its plan followed the next one. */
export interface BookedVersion {
  version: number;
  rule: RecurrenceRule;
  /** Time of the write, by the store's clock. */
  writtenAt: number;
  /** When the plan was made by it; null: it never was. */
  followedAt: number | null;
  /** When the edit that replaced it was asked for, and counts from; null: no edit has replaced it. */
  replacedAt: number | null;
}

/** Writes about one recurring job. */
export interface PlanBook {
  readonly jobId: string;
  readonly createdAt: number;
  readonly versions: BookedVersion[];
  plan: Plan | null;
  deletedAt: number | null;
  /** When nothing was planned any more. */
  finishedAt: number | null;
  pausedBefore: boolean;
  /** Executions that its schedule or a misfire created, in the order in which they were written. */
  readonly births: ExecutionRow[];
  readonly backfills: ExecutionRow[];
  readonly skips: Skip[];
}

/** The plans of recurring jobs as the store was told of them, kept for those who judge. */
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
      ...{ births: [], backfills: [], skips: [] },
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
      (row.trigger === "BACKFILL" ? book?.backfills : book?.births)?.push(row);
    }
  }
}
