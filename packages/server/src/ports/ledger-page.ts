import type { EpochMs } from "../domain/ids.ts";
import type { SkipReason } from "../domain/recurrence.ts";
import type { ExecutionSummary, LedgerItem, Listing } from "./store-queries.ts";

/** Consecutive planned instants that did not run, without those that were backfilled. */
export interface SkippedInstants {
  from: EpochMs;
  to: EpochMs;
  count: number;
  reason: SkipReason;
}

/**
 * Start of a page of a ledger. An instant may be the first of a range of skipped instants and, after a backfill, also
 * have an execution. The execution comes first then, and a page may end between the two. A place is therefore twice the
 * instant, plus one for an execution.
 * @param until end of the ledger, exclusive
 * @param after place of the last item of the page before; null: the first page
 */
export function ledgerStart(until: EpochMs, after: string | null): { executions: EpochMs; skips: EpochMs } {
  if (after === null) return { executions: until, skips: until };
  const place = Number(after);
  return { executions: Math.min(until, Math.floor(place / 2)), skips: Math.min(until, Math.ceil(place / 2)) };
}

/** @param executions,skips newest first; one more of each than the page holds, if there are more */
export function ledgerPage(
  executions: readonly ExecutionSummary[],
  skips: readonly SkippedInstants[],
  limit: number,
): Listing<LedgerItem> {
  const ran = new Set(executions.map(({ scheduledAt }) => scheduledAt));
  const items: LedgerItem[] = executions.map((execution) => ({ plannedAt: execution.scheduledAt, execution }));
  for (const { from, to, count, reason } of skips) {
    // The instant was backfilled between the read of the skips and the read of the executions.
    if (from === to && ran.has(from)) continue;
    items.push({ plannedAt: from, skipped: { until: to, count, reason } });
  }
  items.sort((a, b) => placeOf(b) - placeOf(a));
  const page = items.slice(0, limit);
  return { items: page, next: items.length <= limit ? null : String(placeOf(page[limit - 1] as LedgerItem)) };
}

function placeOf(item: LedgerItem): number {
  return item.plannedAt * 2 + ("execution" in item ? 1 : 0);
}
