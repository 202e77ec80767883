import type { EpochMs } from "../../../domain/ids.ts";

/** A month in UTC, with the partitions `jobs_2026_07`, `executions_2026_07` and `attempt_logs_2026_07`. */
export interface Month {
  /** Name of the month, such as 2026_07. */
  name: string;
  startMs: EpochMs;
  /** End of the month, not included. */
  endMs: EpochMs;
}

/** Tables whose rows belong to executions. Their months are those of `executions`. */
export const OF_EXECUTIONS = ["execution_steps", "attempt_logs", "signals"] as const;
/** Partitioned tables; those whose months depend on others come after these. */
export const PARTITIONED = ["jobs", "executions", ...OF_EXECUTIONS, "audit"] as const;
export type PartitionedTable = (typeof PARTITIONED)[number];

export function isOfExecutions(table: PartitionedTable): boolean {
  return (OF_EXECUTIONS as readonly string[]).includes(table);
}

/** Names of a table's partitions; none if the schema is so old that it does not have the table. */
export const PARTITIONS =
  "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass($1::text) ORDER BY 1";

/**
 * Number of past months that must exist, for ids of clocks that run behind. Two months ahead exist, so that one or two
 * failed rounds of upkeep do no harm.
 */
const MONTHS_BEFORE = 1;
const MONTHS_AHEAD = 2;

/** Months that must exist at `now`. */
export function monthsAround(now: EpochMs): Month[] {
  const months: Month[] = [];
  for (let offset = -MONTHS_BEFORE; offset <= MONTHS_AHEAD; offset++) months.push(monthOf(now, offset));
  return months;
}

/** The month of `at`, or the month that is `offset` months away from it. */
export function monthOf(at: EpochMs, offset = 0): Month {
  // Date only converts milliseconds since 1970 to year and month here; it does not read the clock.
  const date = new Date(at);
  const startMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1);
  const start = new Date(startMs);
  const endMs = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  const name = `${start.getUTCFullYear()}_${String(start.getUTCMonth() + 1).padStart(2, "0")}`;
  return { name, startMs, endMs };
}

/** Month of a partition, by its name. @returns null: the partition is not one of this store */
export function monthNamed(table: PartitionedTable, partition: string): Month | null {
  const match = new RegExp(`^${table}_(\\d{4})_(\\d{2})$`).exec(partition);
  return match === null ? null : monthOf(Date.UTC(Number(match[1]), Number(match[2]) - 1, 1));
}

/** Lower bound of all UUIDv7 of an instant, which sorts above those of the instant before. */
export function uuidFloor(at: EpochMs): string {
  const time = Math.max(at, 0).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/**
 * Storage settings. Every row is written two or three times within minutes and then never again. Vacuum therefore
 * starts early, at a small share of the table, and without pauses, because scans of the ready index have to step over
 * dead entries.
 */
const STORAGE = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0`;

/**
 * Creates a partition as a separate table and then attaches it. Unlike CREATE … PARTITION OF, this neither waits for
 * concurrent reads and writes nor blocks them.
 */
export function createPartition(table: PartitionedTable, month: Month): string {
  const partition = `${table}_${month.name}`;
  const bound = (at: EpochMs) => (table === "audit" ? String(at) : `'${uuidFloor(at)}'`);
  return `
    CREATE TABLE ${partition} (LIKE ${table} INCLUDING ALL) WITH (${STORAGE});
    ALTER TABLE ${table} ATTACH PARTITION ${partition} FOR VALUES FROM (${bound(month.startMs)}) TO (${bound(month.endMs)});`;
}
