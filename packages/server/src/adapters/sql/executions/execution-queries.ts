import type { ExecutionView } from "../../../ports/store-queries.ts";
import type { Connections } from "../connection/connections.ts";
import { DETAIL_COLUMNS, SUMMARY_COLUMNS, viewFrom } from "./execution-rows.ts";

export async function getExecution(db: Connections, tenant: string, id: string): Promise<ExecutionView | null> {
  const text = `SELECT ${SUMMARY_COLUMNS}, ${DETAIL_COLUMNS} FROM executions e LEFT JOIN jobs j ON j.id = e.job_id
    WHERE e.id = $1 AND e.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  return row === undefined ? null : viewFrom(row);
}
