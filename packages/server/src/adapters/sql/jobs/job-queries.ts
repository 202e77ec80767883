import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type { JobView } from "../../../ports/store-queries.ts";
import type { Connections } from "../connection/connections.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "../executions/execution-rows.ts";
import { executionsOf, isLater } from "../executions/of-job.ts";
import { definitionOf, jobSummary, SUMMARY, TABLES } from "./job-rows.ts";

export const NEWEST = `SELECT ${SUMMARY_COLUMNS} FROM (${executionsOf("$1::uuid", "e.*", "e.tenant = $2")}) e
  ORDER BY e.id DESC LIMIT 5`;
/**
 * Statement for the last planned executions. A job may have millions, so it reads them by the index of planned
 * instants.
 */
const LAST_PLANNED = `SELECT ${SUMMARY_COLUMNS} FROM executions e
  WHERE e.job_id = $1 AND ${isLater("e")} AND e.tenant = $2 ORDER BY e.scheduled_at DESC, e.id DESC LIMIT 5`;

export async function getJob(db: Connections, tenant: string, id: string): Promise<JobView | null> {
  const text = `SELECT ${SUMMARY}, j.payload FROM ${TABLES} WHERE j.id = $1 AND j.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  if (row === undefined) return null;
  const latest = await db.run("query", {
    text: isRecurringJobId(id) ? LAST_PLANNED : NEWEST,
    values: [id, tenant],
  });
  const payload = row.at(-1) as Uint8Array | null;
  return { ...jobSummary(row), definition: definitionOf(row), payload, latestExecutions: latest.map(summaryFrom) };
}
