import type { EpochMs, Retention } from "@mainspring/server/testing";
import type { ExecutionRow } from "./execution-row.ts";
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
    if (job !== undefined && data.executions.ofJob(job.job.jobId).length === 0) data.jobs.remove(job);
  }
  data.idempotencyKeys.forgetBefore(now - IDEMPOTENCY_DAYS * DAY_MS);
  if (rows.length > 0) data.tell({ kind: "FORGOTTEN", at: data.now(), rows });
}
