import type { FinalState } from "../../domain/execution.ts";
import type { PlannedOutcome } from "../../domain/recurrence.ts";
import type { Batch } from "../../engine/batch.ts";
import type { Metrics } from "../../ports/metrics.ts";

/** Counts the results of a batch, with or without a commit, for metrics. */
export function countBatch(metrics: Metrics, batch: Batch): void {
  for (const { pool, latenessMs } of batch.starts) metrics.lateness(pool, latenessMs);
  for (const { pool, runMs } of batch.runs) metrics.ran(pool, runMs);
  for (const handler of batch.failures) metrics.failed(handler);
  for (const pool of batch.deadLetters) metrics.deadLetter(pool);
  const finals = new Map<FinalState, number>();
  let retried = 0;
  for (const draft of batch.shards.values()) {
    for (const change of draft.changes.values()) {
      if (change.queue === "NONE") {
        const state = change.state as FinalState;
        finals.set(state, (finals.get(state) ?? 0) + 1);
      } else if (change.reason === "BACKOFF") retried++;
    }
  }
  for (const [state, count] of finals) metrics.finished(state, count);
  if (retried > 0) metrics.retried(retried);
  if (batch.refusedStale > 0) metrics.refusedStale(batch.refusedStale);
  countPlanned(metrics, batch);
}

function countPlanned(metrics: Metrics, batch: Batch): void {
  const counts = new Map<PlannedOutcome, number>();
  const add = (outcome: PlannedOutcome, count: number) => counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  for (const draft of batch.shards.values()) {
    for (const { jobId, created, skips } of draft.plans.values()) {
      const graceMs = batch.graceMs.get(jobId) ?? 0;
      // An instant of a backfill was accounted for when it was due, or lies before the creation of the job.
      for (const { row, createdAt, trigger } of created) {
        if (trigger === "SCHEDULE") add(createdAt - row.scheduledAt > graceMs ? "LATE" : "ON_TIME", 1);
      }
      for (const { reason, count } of skips) add(reason, count);
    }
  }
  for (const [outcome, count] of counts) metrics.planned(outcome, count);
}
