import type { BacklogOfPool } from "../../../ports/store-queries.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";

/** Largest number of lanes to count. A pool has several lanes if capabilities or concurrency keys divide its work. */
const LANES_MAX = 1_000;

const nextLane = (after: string) => `SELECT e.lane, e.pool, e.due_at FROM executions e
  WHERE e.queue = ${QUEUE_CODES.READY} AND ${after} ORDER BY e.lane, e.rank, e.id LIMIT 1`;

/** Finds each lane by one index lookup, then counts each in the index, up to the limit. */
const BACKLOG = `
  WITH RECURSIVE lanes AS (
    (${nextLane("true")})
    UNION ALL SELECT n.* FROM lanes l, LATERAL (${nextLane("e.lane > l.lane")}) n
  )
  SELECT l.pool, least(sum(c.count), $1)::int4, min(l.due_at) FROM (SELECT * FROM lanes LIMIT ${LANES_MAX}) l, LATERAL (
    SELECT count(*) FROM (SELECT FROM executions e WHERE e.queue = ${QUEUE_CODES.READY} AND e.lane = l.lane LIMIT $1) s
  ) c GROUP BY l.pool ORDER BY l.pool`;

/** See StoreQueries.backlog. */
export async function backlog(db: Connections, limit: number): Promise<BacklogOfPool[]> {
  const rows = await db.run("list", { text: BACKLOG, values: [limit] });
  return rows.map(([pool, ready, oldestDueAt]) => ({ pool, ready, oldestDueAt }) as BacklogOfPool);
}
