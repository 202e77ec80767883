import {
  type EpochMs,
  type JobId,
  type LedgerItem,
  type Listing,
  ledgerPage,
  ledgerStart,
  type Page,
} from "@mainspring/server/testing";
import { summary } from "./queries.ts";
import { plannedOf } from "./recurrences.ts";
import type { StoreData } from "./store-data.ts";

/** See StoreQueries.ledger. */
export function ledger(
  data: StoreData,
  jobId: JobId,
  since: EpochMs,
  until: EpochMs,
  { after, limit }: Page,
): Listing<LedgerItem> {
  const start = ledgerStart(until, after);
  const all = plannedOf(data, jobId).map(summary);
  const executions = all
    .filter(({ scheduledAt }) => scheduledAt >= since && scheduledAt < start.executions)
    .sort((a, b) => b.scheduledAt - a.scheduledAt);
  const skips = data.plans
    .skips(jobId)
    .map((skip) => {
      const madeUp = all.filter(({ scheduledAt }) => scheduledAt >= skip.from && scheduledAt <= skip.to);
      return { ...skip, count: skip.count - madeUp.length };
    })
    .filter(({ from, to, count }) => count > 0 && to >= since && from < start.skips)
    .sort((a, b) => b.from - a.from);
  return ledgerPage(executions.slice(0, limit + 1), skips.slice(0, limit + 1), limit);
}
