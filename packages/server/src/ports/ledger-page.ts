import type { EpochMs } from "../domain/ids.ts";
import type { SkipReason } from "../domain/recurrence.ts";
import type { ExecutionSummary, LedgerItem, Listing } from "./store-queries.ts";

/** Planned instants that did not run, less those that were made up for. */
export interface SkippedInstants {
  from: EpochMs;
  to: EpochMs;
  count: number;
  reason: SkipReason;
}

/**
 * Where a page of a ledger begins. An instant may be the first of a stretch of skipped ones and, made up for, an execution; the
 * execution comes first then, and a page may end between the two. So a place is twice the instant, and one more for executions.
 */
export function ledgerStart(until: EpochMs, after: string | null): { executions: EpochMs; skips: EpochMs } {
  if (after === null) return { executions: until, skips: until };
  const place = Number(after);
  return { executions: Math.min(until, Math.floor(place / 2)), skips: Math.min(until, Math.ceil(place / 2)) };
}

/** @param executions,skips newest first, one more of each than the page holds where there are so many */
export function ledgerPage(
  executions: readonly ExecutionSummary[],
  skips: readonly SkippedInstants[],
  limit: number,
): Listing<LedgerItem> {
  const ran = new Set(executions.map(({ scheduledAt }) => scheduledAt));
  const items: LedgerItem[] = executions.map((execution) => ({ plannedAt: execution.scheduledAt, execution }));
  for (const { from, to, count, reason } of skips) {
    // Made up for between the two looks.
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
