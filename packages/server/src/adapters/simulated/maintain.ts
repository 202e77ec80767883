import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import { isRecurringJobId } from "../../domain/recurrence.ts";
import type { Retention } from "../../ports/store.ts";
import { EVENTS_KEPT_MS } from "../../ports/store-events.ts";
import { type ExecutionRow, isNode } from "./rows/execution-row.ts";
import type { JobRow } from "./rows/job-table.ts";
import type { StoreData } from "./store-data.ts";

const DAY_MS = 86_400_000;
/** Time for which a repeated request is recognised by its idempotency key, in days. */
const IDEMPOTENCY_DAYS = 7;

/** See Store.maintain. This store has no months, so each row is deleted on its own day. */
export function maintain(data: StoreData, now: EpochMs, retention: Retention): void {
  const keepFrom = now - retention.days * DAY_MS;
  const keepDeadFrom = Math.min(keepFrom, now - retention.deadDays * DAY_MS);
  const isPast = (row: ExecutionRow) =>
    row.queue === "NONE" && (row.finishedAt ?? row.updatedAt) < (row.state === "DEAD" ? keepDeadFrom : keepFrom);
  const needed = neededRuns(data);
  // Nodes are kept for as long as their run.
  const isOver = (row: ExecutionRow) => {
    let whole = row;
    // The run of a node may be that of a sub-workflow.
    for (let run: ExecutionRow | undefined = row; run !== undefined; ) {
      whole = run;
      run = isNode(run) ? data.executions.get(run.job.jobId) : undefined;
    }
    return isPast(whole) && !needed.has(whole.id);
  };
  const rows = [...data.executions.all()].filter(isOver);
  for (const row of rows) {
    data.executions.remove(row);
    data.steps.forget(row.id);
    data.signals.forget(row.id);
    data.logs.forget(row.id);
    data.runs.remove(row.id);
    const job = data.jobs.get(row.job.jobId);
    const isLast = data.executions.ofJob(row.job.jobId).length === 0;
    if (job === undefined || !isLast || isRecurringJobId(row.job.jobId)) continue;
    data.jobs.remove(job);
    data.runs.removeGraphs(row.job.jobId);
  }
  data.plans.forgetSkipsBefore(keepFrom);
  data.events.nameSinks(retention.eventSinks ?? [], now);
  data.events.forgetBefore(now - (retention.eventsMs ?? EVENTS_KEPT_MS));
  data.webhooks.forget(now, retention.days);
  data.keys.forget(now);
  data.requests.forget(now, retention.days);
  data.ingest.forget(now, retention.days);
  for (const job of [...data.jobs.all()]) if (isGone(data, job, keepFrom)) removeRecurring(data, job);
  data.idempotencyKeys.forgetBefore(now - IDEMPOTENCY_DAYS * DAY_MS);
  if (rows.length > 0) data.tell({ kind: "FORGOTTEN", at: data.now(), rows });
}

/** Runs from which open runs keep nodes, and so need the results. */
function neededRuns(data: StoreData): ReadonlySet<ExecutionId> {
  const open = [...data.runs.all()].filter(({ run }) => data.executions.get(run)?.queue === "OPEN");
  return new Set(open.flatMap(({ kept }) => kept.map(({ run }) => run)));
}

/**
 * Whether retention deletes a recurring job. A recurring job is kept until it is deleted, and then for as long as its
 * executions.
 */
function isGone(data: StoreData, { job, deletedAt }: JobRow, keepFrom: EpochMs): boolean {
  const isOver = isRecurringJobId(job.jobId) && deletedAt !== null && deletedAt < keepFrom;
  return isOver && data.executions.ofJob(job.jobId).length === 0 && !data.commands.isAbout(job.jobId);
}

function removeRecurring(data: StoreData, job: JobRow): void {
  data.plans.remove(job.job.jobId);
  data.jobs.remove(job);
}
