import { defaultPool, type Pool } from "../../domain/pool.ts";
import type { PoolChange } from "../../ports/store.ts";
import type { Connections, Row } from "./connections.ts";

const COLUMNS = "name, paused, order_strategy, priority_step_ms, placement";

const READ = `SELECT ${COLUMNS} FROM pools ORDER BY name`;

/** $2 to $5 are the change, $6 to $9 what a pool begins with. */
const PUT = `
  INSERT INTO pools AS p (${COLUMNS}) VALUES ($1, coalesce($2::boolean, $6::boolean), coalesce($3::text, $7::text),
    coalesce($4::bigint, $8::bigint), coalesce($5::text, $9::text))
  ON CONFLICT (name) DO UPDATE SET paused = coalesce($2, p.paused), order_strategy = coalesce($3, p.order_strategy),
    priority_step_ms = coalesce($4, p.priority_step_ms), placement = coalesce($5, p.placement)
  RETURNING ${COLUMNS}`;

export async function readPools(db: Connections): Promise<Pool[]> {
  return (await db.run("read", { text: READ })).map(poolFrom);
}

/** See Store.putPool. One statement, so that two people who change different things of a pool both do. */
export async function putPool(db: Connections, change: PoolChange): Promise<Pool> {
  const { name, ...changed } = change;
  const values = [name, ...valuesOf(changed), ...valuesOf(defaultPool(name))];
  const [row] = await db.run("query", { text: PUT, values });
  return poolFrom(row as Row);
}

function valuesOf({ paused, order, priorityStepMs, placement }: Partial<Pool>): unknown[] {
  return [paused ?? null, order ?? null, priorityStepMs ?? null, placement ?? null];
}

function poolFrom(row: Row): Pool {
  const [name, paused, order, priorityStepMs, placement] = row;
  return { name, paused, order, priorityStepMs, placement } as Pool;
}
