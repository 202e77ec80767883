import type { EpochMs } from "../../../domain/ids.ts";
import type { OverdueJob } from "../../../ports/store-queries.ts";
import type { Connections } from "../connection/connections.ts";
import { IS_DUE } from "./recurrences.ts";

/** Largest number of due rows to examine. Due rows are a short range of an index if the scheduler keeps up. */
const LOOKED_AT = 10_000;
const OVERDUE = `
  SELECT d.job_id, j.name, d.next_fire_at FROM (
    SELECT p.job_id, p.next_fire_at FROM plans p WHERE ${IS_DUE("$1")}
    ORDER BY p.next_fire_at, p.job_id LIMIT ${LOOKED_AT}
  ) d JOIN jobs j ON j.id = d.job_id AND j.id >= '80000000-0000-0000-0000-000000000000'
  WHERE ($3::text IS NULL OR j.tenant = $3) AND d.next_fire_at + (j.recurrence::json->>'misfireGraceMs')::bigint < $1
  ORDER BY d.next_fire_at, d.job_id LIMIT $2`;

/** See StoreQueries.overdue. */
export async function overdue(
  db: Connections,
  tenant: string | null,
  now: EpochMs,
  limit: number,
): Promise<OverdueJob[]> {
  const rows = await db.run("query", { text: OVERDUE, values: [now, limit, tenant] });
  return rows.map(([jobId, name, at]) => ({ jobId, name, nextFireAt: at }) as OverdueJob);
}
