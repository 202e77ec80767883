import { type EpochMs, isRecurringJobId, type Retention } from "@mainspring/server/testing";
import type { ExecutionRow } from "./execution-row.ts";
import type { JobRow } from "./job-table.ts";
import type { StoreData } from "./store-data.ts";

const DAY_MS = 86_400_000;
/** How long a repeated request is recognised by its idempotency key. */
const IDEMPOTENCY_DAYS = 7;

/** See Store.maintain. There are no months here: what is over is let go on its own day. */
export function maintain(data: StoreData, now: EpochMs, retention: Retention): void {
  const keepFrom = now - retention.days * DAY_MS;
  const keepDeadFrom = Math.min(keepFrom, now - retention.deadDays * DAY_MS);
  const isOver = (row: ExecutionRow) =>
    row.queue === "NONE" && (row.finishedAt ?? row.updatedAt) < (row.state === "DEAD" ? keepDeadFrom : keepFrom);
  const rows = [...data.executions.all()].filter(isOver);
  for (const row of rows) {
    data.executions.remove(row);
    const job = data.jobs.get(row.job.jobId);
    const isLast = data.executions.ofJob(row.job.jobId).length === 0;
    if (job !== undefined && isLast && !isRecurringJobId(row.job.jobId)) data.jobs.remove(job);
  }
  data.plans.forgetSkipsBefore(keepFrom);
  for (const job of [...data.jobs.all()]) if (isGone(data, job, keepFrom)) removeRecurring(data, job);
  data.idempotencyKeys.forgetBefore(now - IDEMPOTENCY_DAYS * DAY_MS);
  if (rows.length > 0) data.tell({ kind: "FORGOTTEN", at: data.now(), rows });
}

/** Recurring jobs are kept for as long as they are not deleted, and after that for as long as what they did. */
function isGone(data: StoreData, { job, deletedAt }: JobRow, keepFrom: EpochMs): boolean {
  const isOver = isRecurringJobId(job.jobId) && deletedAt !== null && deletedAt < keepFrom;
  return isOver && data.executions.ofJob(job.jobId).length === 0 && !data.commands.isAbout(job.jobId);
}

function removeRecurring(data: StoreData, job: JobRow): void {
  data.plans.remove(job.job.jobId);
  data.jobs.remove(job);
}
