import type { ExecutionCounts, ExecutionView } from "../../../ports/store-queries.ts";
import { IS_OPEN } from "../commit/settle-statement.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";
import { isComplete } from "../schema/late-indexes.ts";
import { DETAIL_COLUMNS, SUMMARY_COLUMNS, viewFrom } from "./execution-rows.ts";

/** Counts rows in a partial index, up to the limit, so the cost is the same with a hundred million rows. */
const upTo = (condition: string, owner: string) =>
  `(SELECT count(*) FROM (SELECT FROM executions e WHERE ${condition}${owner} LIMIT $1) s)`;

/** @param owner condition for the rows of one tenant, or none */
const countRuns = (owner: string) => `SELECT ${upTo(`e.queue = ${QUEUE_CODES.OPEN}`, owner)}`;

const count = (owner: string) => `SELECT ${upTo(`e.queue = ${QUEUE_CODES.WAITING}`, owner)},
  ${upTo(`e.queue = ${QUEUE_CODES.READY}`, owner)}, ${upTo(`e.queue = ${QUEUE_CODES.HELD}`, owner)}, ${upTo(IS_OPEN, owner)}`;

/** See StoreQueries.countExecutions. */
export function countExecutions(db: Connections, tenant: string | null, limit: number): Promise<ExecutionCounts> {
  const values = tenant === null ? [limit] : [limit, tenant];
  const owner = tenant === null ? "" : " AND e.tenant = $2";
  return db.session("query", async (session) => {
    const [row] = await session.run({ text: count(owner), values });
    const [waiting, ready, held, deadLetters] = row as [number, number, number, number];
    const isIndexed = await isComplete(session, "executions_open_runs");
    const [runs] = isIndexed ? await session.run({ text: countRuns(owner), values }) : [];
    return { waiting, ready, held, deadLetters, openRuns: (runs?.[0] as number | undefined) ?? null };
  });
}

export async function getExecution(db: Connections, tenant: string, id: string): Promise<ExecutionView | null> {
  const text = `SELECT ${SUMMARY_COLUMNS}, ${DETAIL_COLUMNS} FROM executions e LEFT JOIN jobs j ON j.id = e.job_id
    WHERE e.id = $1 AND e.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  return row === undefined ? null : viewFrom(row);
}
