import type { EpochMs, JobId } from "../../../domain/ids.ts";
import { ledgerPage, ledgerStart } from "../../../ports/ledger-page.ts";
import type {
  InstantTraces,
  JobStretch,
  LedgerItem,
  Listing,
  Page,
  RecurringJob,
} from "../../../ports/store-queries.ts";
import type { StoreData } from "../store-data.ts";
import { summary } from "./queries.ts";
import { firedInstants, plannedOf } from "./recurrences.ts";

/** A page of what became of a recurring job's planned instants, newest first. See StoreQueries.ledger. */
export function ledger(
  data: StoreData,
  tenant: string,
  jobId: JobId,
  since: EpochMs,
  until: EpochMs,
  { after, limit }: Page,
): Listing<LedgerItem> {
  const start = ledgerStart(until, after);
  if (data.jobs.get(jobId)?.job.tenant !== tenant) return { items: [], next: null };
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

/** See StoreQueries.recurringJobs. */
export function recurringJobs(data: StoreData, after: JobId | null, limit: number): RecurringJob[] {
  const found: RecurringJob[] = [];
  data.plans.ascend(after, ({ jobId, plan }) => {
    const row = data.jobs.get(jobId);
    if (row === undefined || row.deletedAt !== null) return true;
    const { job, version, updatedAt } = row;
    const { name, recurrence } = job.definition;
    const { createdAt, tenant } = job;
    if (recurrence !== null)
      found.push({ jobId, tenant, name, version, createdAt, updatedAt, recurrence, plan: { ...plan } });
    return found.length < limit;
  });
  return found;
}

/** See StoreQueries.traces. */
export function traces(data: StoreData, asked: readonly JobStretch[], limit: number): InstantTraces[] {
  return asked.map(({ jobId, since, until }) => {
    const skips = data.plans.skips(jobId).filter(({ from, to }) => from < until && to >= since);
    const ranges = skips.map(({ from, to }) => ({ from, to })).sort((a, b) => a.from - b.from);
    return { fired: firedInstants(data, jobId, since, until).slice(0, limit), skipped: ranges.slice(0, limit) };
  });
}
