import type { ExecutionCounts, ExecutionView } from "../../../ports/store-queries.ts";
import { IS_OPEN } from "../commit/settle-statement.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";
import { DETAIL_COLUMNS, SUMMARY_COLUMNS, viewFrom } from "./execution-rows.ts";

/** Counts rows in a partial index, up to the limit, so the cost is the same with a hundred million rows. */
const upTo = (condition: string) => `(SELECT count(*) FROM (SELECT FROM executions e WHERE ${condition} LIMIT $1) s)`;

const COUNT = `SELECT ${upTo(`e.queue = ${QUEUE_CODES.WAITING}`)}, ${upTo(`e.queue = ${QUEUE_CODES.READY}`)},
  ${upTo(`e.queue = ${QUEUE_CODES.HELD}`)}, ${upTo(IS_OPEN)}`;

export async function countExecutions(db: Connections, limit: number): Promise<ExecutionCounts> {
  const [row] = await db.run("query", { text: COUNT, values: [limit] });
  const [waiting, ready, held, deadLetters] = row as [number, number, number, number];
  return { waiting, ready, held, deadLetters };
}

export async function getExecution(db: Connections, tenant: string, id: string): Promise<ExecutionView | null> {
  const text = `SELECT ${SUMMARY_COLUMNS}, ${DETAIL_COLUMNS} FROM executions e LEFT JOIN jobs j ON j.id = e.job_id
    WHERE e.id = $1 AND e.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  return row === undefined ? null : viewFrom(row);
}
