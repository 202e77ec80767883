import type { EpochMs, JobId } from "../../../domain/ids.ts";
import { ledgerPage, ledgerStart, type SkippedInstants } from "../../../ports/ledger-page.ts";
import type { LedgerItem, Listing, Page } from "../../../ports/store-queries.ts";
import { skipReasonOf } from "../connection/codes.ts";
import type { Connections, Row } from "../connection/connections.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "../executions/execution-rows.ts";
import { IS_PLANNED } from "./recurrences.ts";

const EXECUTIONS = `
  SELECT ${SUMMARY_COLUMNS} FROM executions e
  WHERE e.job_id = $1 AND e.scheduled_at >= $2 AND e.scheduled_at < $3 AND ${IS_PLANNED} AND e.tenant = $5
  ORDER BY e.scheduled_at DESC LIMIT $4`;

/** Number of instants of a range for which a catch-up or backfill created executions later. */
const MADE_UP = `(SELECT count(*) FROM executions e
  WHERE e.job_id = s.job_id AND e.scheduled_at BETWEEN s.from_at AND s.to_at AND ${IS_PLANNED})`;

/** Ranges of skipped instants do not overlap, so at most one began before `since` and reaches beyond it. */
const SKIPS = `
  SELECT from_at, to_at, rest, reason FROM (
    SELECT s.from_at, s.to_at, s.count - ${MADE_UP} AS rest, s.reason FROM skips s
    WHERE s.job_id = $1 AND EXISTS (SELECT FROM jobs j WHERE j.id = $1 AND j.tenant = $5) AND s.from_at < $3 AND s.to_at >= $2 AND s.from_at >=
      coalesce((SELECT max(f.from_at) FROM skips f WHERE f.job_id = $1 AND f.from_at < $2), $2)
  ) r WHERE rest > 0 ORDER BY from_at DESC LIMIT $4`;

/** See StoreQueries.ledger. */
export async function ledger(
  db: Connections,
  tenant: string,
  jobId: JobId,
  since: EpochMs,
  until: EpochMs,
  { after, limit }: Page,
): Promise<Listing<LedgerItem>> {
  const start = ledgerStart(until, after);
  // The queries run in this order, so that an instant that a backfill creates in between is listed twice rather than
  // not at all.
  const skips = await db.run("query", { text: SKIPS, values: [jobId, since, start.skips, limit + 1, tenant] });
  const executions = await db.run("query", {
    text: EXECUTIONS,
    values: [jobId, since, start.executions, limit + 1, tenant],
  });
  return ledgerPage(executions.map(summaryFrom), skips.map(skipFrom), limit);
}

function skipFrom(row: Row): SkippedInstants {
  const [from, to, count, reason] = row as [EpochMs, EpochMs, number, number];
  return { from, to, count, reason: skipReasonOf(reason) };
}
