import type { EpochMs } from "../../../domain/ids.ts";

/** A month of UTC: the partitions `jobs_2026_07` and `executions_2026_07`. */
export interface Month {
  /** 2026_07 */
  name: string;
  startMs: EpochMs;
  /** Exclusive. */
  endMs: EpochMs;
}

export const PARTITIONED = ["jobs", "executions"] as const;
export type PartitionedTable = (typeof PARTITIONED)[number];

/** The names of a table's partitions. */
export const PARTITIONS = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1";

/** One month before for ids of clocks that run behind, two ahead so that a failed round or two do no harm. */
const MONTHS_BEFORE = 1;
const MONTHS_AHEAD = 2;

/** The months that must exist at `now`. */
export function monthsAround(now: EpochMs): Month[] {
  const months: Month[] = [];
  for (let offset = -MONTHS_BEFORE; offset <= MONTHS_AHEAD; offset++) months.push(monthOf(now, offset));
  return months;
}

/** The month that `at` is in, or one so many months away from it. */
export function monthOf(at: EpochMs, offset = 0): Month {
  // Milliseconds since 1970 to year and month is all that is asked of Date here; it does not tell the time.
  const date = new Date(at);
  const startMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1);
  const start = new Date(startMs);
  const endMs = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  const name = `${start.getUTCFullYear()}_${String(start.getUTCMonth() + 1).padStart(2, "0")}`;
  return { name, startMs, endMs };
}

/** The month of a partition, by its name. @returns null: not one of ours */
export function monthNamed(table: PartitionedTable, partition: string): Month | null {
  const match = new RegExp(`^${table}_(\\d{4})_(\\d{2})$`).exec(partition);
  return match === null ? null : monthOf(Date.UTC(Number(match[1]), Number(match[2]) - 1, 1));
}

/** The smallest UUIDv7 of an instant, or rather what sorts below all of them and above those of the instant before. */
export function uuidFloor(at: EpochMs): string {
  const time = Math.max(at, 0).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/**
 * Every row is written two or three times within minutes and then never again, so vacuum comes early, by a share of the
 * table that is small and with no pauses: what it leaves behind, scans of the ready index have to step over.
 */
const STORAGE = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0`;

/**
 * Makes a partition beside its table and then attaches it: unlike CREATE … PARTITION OF this does not wait for, nor
 * hold up, what is reading and writing.
 */
export function createPartition(table: PartitionedTable, month: Month): string {
  const partition = `${table}_${month.name}`;
  return `
    CREATE TABLE ${partition} (LIKE ${table} INCLUDING ALL) WITH (${STORAGE});
    ALTER TABLE ${table} ATTACH PARTITION ${partition}
      FOR VALUES FROM ('${uuidFloor(month.startMs)}') TO ('${uuidFloor(month.endMs)}');`;
}
