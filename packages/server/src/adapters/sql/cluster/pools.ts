import type { PoolChange } from "../../../domain/pool.ts";
import { defaultPool, ownerOfPool, type Pool } from "../../../domain/pool.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { RAISE_OWNED_POOLS } from "../commit/raised-levels.ts";
import type { Connections, Row } from "../connection/connections.ts";
import { raiseTenants } from "./tenants.ts";

export const POOL_COLUMNS =
  "name, paused, order_strategy, priority_step_ms, placement, max_running, rate_per_sec, headroom";

const READ = `SELECT ${POOL_COLUMNS} FROM pools ORDER BY name`;

/** $2 to $8 are the change, $9 to $15 the defaults of a new pool, $16 its owner. */
const PUT = `
  INSERT INTO pools AS p (${POOL_COLUMNS}, owner) VALUES ($1, coalesce($2::boolean, $9::boolean), coalesce($3::text, $10::text),
    coalesce($4::bigint, $11::bigint), coalesce($5::text, $12::text), coalesce($6::int, $13::int),
    coalesce($7::float8, $14::float8), coalesce($8::int, $15::int), $16)
  ON CONFLICT (name) DO UPDATE SET paused = coalesce($2, p.paused), order_strategy = coalesce($3, p.order_strategy),
    priority_step_ms = coalesce($4, p.priority_step_ms), placement = coalesce($5, p.placement),
    max_running = coalesce($6, p.max_running), rate_per_sec = coalesce($7, p.rate_per_sec),
    headroom = coalesce($8, p.headroom)
  RETURNING ${POOL_COLUMNS}`;

export async function readPools(db: Connections): Promise<Pool[]> {
  return (await db.run("read", { text: READ })).map(poolFrom);
}

/**
 * See Store.putPool. One statement makes the change, so that concurrent changes of different settings of a pool both apply. The level of
 * the store rises with an owned pool, so that no program that shows it to others opens the store from then on.
 */
export async function putPool(trail: AuditTrail, change: PoolChange, note?: AuditNote): Promise<Pool> {
  const { name, ...changed } = change;
  const owner = ownerOfPool(name);
  const values = [name, ...valuesOf(changed), ...valuesOf(defaultPool(name)), owner];
  const put = { text: PUT, values };
  if (owner === null) return poolFrom((await trail.run("query", note, put))[0] as Row);
  const [row] = await trail.transaction(
    "query",
    note,
    async (session) => {
      await raiseTenants(session);
      await session.run(RAISE_OWNED_POOLS);
      return await session.run(put);
    },
    () => true,
  );
  return poolFrom(row as Row);
}

function valuesOf(pool: Partial<Pool>): unknown[] {
  const { paused, order, priorityStepMs, placement, maxRunning, ratePerSec, headroom } = pool;
  const limits = [limitValue(maxRunning), limitValue(ratePerSec), headroom ?? null];
  return [paused ?? null, order ?? null, priorityStepMs ?? null, placement ?? null, ...limits];
}

/** The value of a limit's column. Removing a limit is a change too: 0 in the column means no limit. */
function limitValue(limit: number | null | undefined): number | null {
  return limit === undefined ? null : (limit ?? 0);
}

/** @param row values of POOL_COLUMNS */
export function poolFrom(row: Row): Pool {
  const [name, paused, order, priorityStepMs, placement, maxRunning, ratePerSec, headroom] = row;
  const limits = { maxRunning: maxRunning || null, ratePerSec: ratePerSec || null };
  return { name, paused, order, priorityStepMs, placement, ...limits, headroom } as Pool;
}
