import type { Session } from "../connection/connections.ts";

interface LateIndex {
  table: "jobs" | "executions";
  /**
   * Name of the index of the partitioned table. The migration `lists` (migrations/0011-lists.ts) made it without the
   * partitions that existed then.
   */
  name: string;
  /** As in the migration. */
  definition: string;
}

const LATE_INDEXES: readonly LateIndex[] = [
  { table: "executions", name: "executions_over", definition: "(handler, pool, state, id) WHERE queue = 0" },
  { table: "jobs", name: "jobs_kind", definition: "(handler, pool, id)" },
  { table: "jobs", name: "jobs_deleted", definition: "(id) WHERE deleted_at IS NOT NULL" },
];

/** Partitions of a table without a part of the index. */
const LACKING = `
  SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = $1::text::regclass AND NOT EXISTS (
    SELECT FROM pg_inherits x JOIN pg_index p ON p.indexrelid = x.inhrelid
    WHERE x.inhparent = $2::text::regclass AND p.indrelid = c.oid
  ) ORDER BY c.relname DESC`;

/**
 * Makes what partitions lack of newer indexes, newest month first, beside all reading and writing. An index that a former try left
 * unfinished is made anew. Safe to repeat.
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
}

const IS_COMPLETE = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)";

/** Whether every partition has its part of the index: until then a statement that counts on it may read a whole month. */
export async function isComplete(session: Session, index: string): Promise<boolean> {
  const [row] = await session.run({ text: IS_COMPLETE, values: [index] });
  return row?.[0] === true;
}
