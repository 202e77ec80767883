import type { Session } from "../connection/connections.ts";

/**
 * Lists of executions hide the executions of nodes, which can be nearly all rows that an index leads to. A store without runs pays one
 * lookup for that.
 */

/** Whether there are runs of workflows, and so executions of nodes. */
export async function hasRuns(session: Session): Promise<boolean> {
  const [row] = await session.run({ text: "SELECT EXISTS (SELECT FROM workflow_runs)" });
  return row?.[0] === true;
}

/** SQL query: numbers of all rows of a query, and of those that lists show. @param read query with the column `node` */
export function visible(read: string): string {
  return `SELECT count(*) AS examined, count(*) FILTER (WHERE (s.node >= 0) IS NOT TRUE) AS shown FROM (${read}) s`;
}

/**
 * Whether an index leads to so many hidden rows that it may not fill a page soon.
 * @param source SQL source `c` with the columns of `visible`, one row for each range of the index
 * @param most largest number of rows examined in each range
 * @param limit items of a page
 */
export async function hidesPage(
  session: Session,
  source: string,
  values: unknown[],
  most: number,
  limit: number,
): Promise<boolean> {
  if (!(await hasRuns(session))) return false;
  const text = `SELECT EXISTS (SELECT FROM ${source} WHERE c.examined = ${most} AND c.shown <= ${limit})`;
  const [row] = await session.run({ text, values });
  return row?.[0] === true;
}
