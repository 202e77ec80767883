import type { ExecutionState } from "../../domain/execution.ts";
import type { ExecutionFilter, ExecutionSummary, ExecutionView, Listing, Page } from "../../ports/store-queries.ts";
import { QUEUE_CODES, STATE_CODES } from "./codes.ts";
import type { Connections } from "./connections.ts";
import { DETAIL_COLUMNS, SUMMARY_COLUMNS, summaryFrom, viewFrom } from "./execution-rows.ts";
import { uuidFloor } from "./partitions.ts";
import { Conditions, listing } from "./query.ts";

/** The id of an execution and its creation tell the same time, but not of the same clock. */
const ID_SLACK_MS = 86_400_000;

export async function getExecution(db: Connections, tenant: string, id: string): Promise<ExecutionView | null> {
  const text = `SELECT ${SUMMARY_COLUMNS}, ${DETAIL_COLUMNS} FROM executions e LEFT JOIN jobs j ON j.id = e.job_id
    WHERE e.id = $1 AND e.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  return row === undefined ? null : viewFrom(row);
}

export async function listExecutions(
  db: Connections,
  tenant: string,
  filter: ExecutionFilter,
  page: Page,
): Promise<Listing<ExecutionSummary>> {
  const where = new Conditions().add("e.tenant = ?", tenant);
  if (page.after !== null) where.add("e.id < ?", page.after);
  if (filter.pool !== undefined) where.add("e.pool = ?", filter.pool);
  if (filter.jobId !== undefined) where.add("e.job_id = ?", filter.jobId);
  if (filter.state !== undefined) where.fixed(stateCondition(filter.state));
  if (filter.ids !== undefined) where.add("e.id >= ?", filter.ids.first).add("e.id <= ?", filter.ids.last);
  // The second condition of each says nothing new, but by the key it says where to begin and where to end.
  if (filter.since !== undefined) {
    where.add("e.created_at >= ?", filter.since).add("e.id >= ?", uuidFloor(filter.since - ID_SLACK_MS));
  }
  if (filter.until !== undefined) {
    where.add("e.created_at < ?", filter.until).add("e.id < ?", uuidFloor(filter.until + ID_SLACK_MS));
  }
  const text = `SELECT ${SUMMARY_COLUMNS} FROM executions e WHERE ${where.text}
    ORDER BY e.id DESC LIMIT ${page.limit + 1}`;
  const rows = await db.run("query", { text, values: where.values });
  return listing(rows.map(summaryFrom), page.limit, (item) => item.executionId);
}

/** Names the queue as well, and both as literals, so that the partial indexes apply to what is rare. */
function stateCondition(state: ExecutionState): string {
  const is = `e.state = ${STATE_CODES[state]}`;
  if (state === "RUNNING") return `${is} AND e.queue = ${QUEUE_CODES.HELD}`;
  if (state === "PENDING") return `${is} AND (e.queue = ${QUEUE_CODES.WAITING} OR e.queue = ${QUEUE_CODES.READY})`;
  return is;
}
