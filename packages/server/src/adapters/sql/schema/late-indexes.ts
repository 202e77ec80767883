import { isOn } from "../../../domain/cluster/feature-level.ts";
import type { Session } from "../connection/connections.ts";

interface LateIndex {
  table: "jobs" | "executions";
  /**
   * Name of the partitioned table's index. A migration (migrations/0011-lists.ts, 0013-later-executions.ts,
   * 0016-flows.ts, 0018-workflows.ts, 0034-tenants.ts and 0036-tenant-quotas.ts) made it without the partitions that existed then.
   */
  name: string;
  /** Definition of the index, as in the migration. */
  definition: string;
}

const LATE_INDEXES: readonly LateIndex[] = [
  { table: "executions", name: "executions_over", definition: "(handler, pool, state, id) WHERE queue = 0" },
  {
    table: "executions",
    name: "executions_flow",
    definition: "(tenant, pool, due_at, id) WHERE queue = 1 AND shard >= 0",
  },
  { table: "executions", name: "executions_open_runs", definition: "(due_at, id) WHERE queue = 4" },
  { table: "jobs", name: "jobs_kind", definition: "(handler, pool, id)" },
  { table: "jobs", name: "jobs_deleted", definition: "(id) WHERE deleted_at IS NOT NULL" },
  {
    table: "executions",
    name: "executions_later",
    definition:
      "(job_id, scheduled_at) WHERE trigger <> 1 OR uuid_send(id) <> set_byte(uuid_send(job_id), 10, get_byte(uuid_send(job_id), 10) # 128)",
  },
  { table: "executions", name: "executions_tenant", definition: "(tenant, id) WHERE tenant <> 'default'" },
  {
    table: "executions",
    name: "executions_tenant_dead",
    definition: "(tenant, id) WHERE state = 7 AND settled IS NULL AND tenant <> 'default'",
  },
  {
    table: "executions",
    name: "executions_tenant_ready",
    definition: "(tenant) WHERE queue = 2 AND tenant <> 'default'",
  },
  { table: "jobs", name: "jobs_tenant", definition: "(tenant, id) WHERE tenant <> 'default'" },
];

/** Index on plans, which have no partitions. The migration `flows` (migrations/0016-flows.ts) only made its columns. */
const PLANS_FLOW =
  "CREATE INDEX CONCURRENTLY plans_flow ON plans (tenant, pool, next_fire_at, job_id) WHERE state = 1 AND next_fire_at IS NOT NULL AND shard >= 0";

const FILL_PAGE = 1_000;
/**
 * Gives plans the flow of their job: those of before the migration, and those that nodes of the release before have made. A plan that is
 * being written waits for the next upkeep, so that this statement waits for no commit while it holds rows.
 */
const FILL_FLOWS = `
  UPDATE plans p SET tenant = j.tenant, pool = j.pool FROM jobs j
  WHERE j.id = p.job_id AND j.id >= '80000000-0000-0000-0000-000000000000' AND p.job_id = ANY(ARRAY(
    SELECT job_id FROM plans WHERE state = 1 AND next_fire_at IS NOT NULL AND shard >= 0 AND tenant = '' AND pool = ''
    ORDER BY next_fire_at DESC LIMIT ${FILL_PAGE} FOR UPDATE SKIP LOCKED)) RETURNING 1`;

/** Partitions of a table that lack their part of the index. */
const LACKING = `
  SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = $1::text::regclass AND NOT EXISTS (
    SELECT FROM pg_inherits x JOIN pg_index p ON p.indexrelid = x.inhrelid
    WHERE x.inhparent = $2::text::regclass AND p.indrelid = c.oid
  ) ORDER BY c.relname DESC`;

/**
 * Creates the missing parts of newer indexes on partitions, the newest month first, without blocking reads or writes.
 * An index that an earlier try left unfinished is created again. Safe to repeat.
 */
export async function completeIndexes(session: Session): Promise<void> {
  for (const { table, name, definition } of LATE_INDEXES) {
    const lacking = await session.run({ text: LACKING, values: [table, name] });
    for (const [partition] of lacking) {
      const part = `${partition as string}_${name.slice(table.length + 1)}`;
      await session.run({ text: `DROP INDEX IF EXISTS ${part}` });
      await session.run({ text: `CREATE INDEX CONCURRENTLY ${part} ON ${partition as string} ${definition}` });
      await session.run({ text: `ALTER INDEX ${name} ATTACH PARTITION ${part}` });
    }
  }
  await completePlans(session);
}

async function completePlans(session: Session): Promise<void> {
  if (!(await isComplete(session, "plans_flow"))) {
    await session.run({ text: "DROP INDEX IF EXISTS plans_flow" });
    await session.run({ text: PLANS_FLOW });
  }
  while ((await session.run({ text: FILL_FLOWS })).length === FILL_PAGE);
}

/** Index of all executions of a job, which programs of level 3 do without. */
const FORMER = "executions_job";
/** Whether the former index is there, its successor is complete, and the migration is old enough. */
const MAY_GO = `
  SELECT to_regclass('${FORMER}') IS NOT NULL AND i.indisvalid AND m.applied_at < now() - interval '1 day'
  FROM pg_index i, schema_migrations m WHERE i.indexrelid = 'executions_later'::regclass AND m.name = 'later executions'`;

/**
 * Drops the index of all executions of a job once no node needs it: programs of the release before find a job's executions
 * by it. The day is for upgrades: nodes of the release before may be stopped for a moment, and so unknown.
 * @param level feature level of the cluster
 */
export async function dropFormerIndex(session: Session, level: number): Promise<void> {
  if (!isOn("LATER_EXECUTIONS", level)) return;
  const [row] = await session.run({ text: MAY_GO });
  if (row?.[0] === true) await session.run({ text: `DROP INDEX ${FORMER}` });
}

const IS_COMPLETE = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)";

/**
 * Whether every partition has its part of the index. Until then, a statement that relies on the index may read a whole
 * month.
 */
export async function isComplete(session: Session, index: string): Promise<boolean> {
  const [row] = await session.run({ text: IS_COMPLETE, values: [index] });
  return row?.[0] === true;
}
