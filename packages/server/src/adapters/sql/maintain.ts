import type { EpochMs } from "../../domain/ids.ts";
import type { Retention } from "../../ports/store.ts";
import { QUEUE_CODES, STATE_CODES } from "./codes.ts";
import type { Connections } from "./connections.ts";
import {
  createPartition,
  type Month,
  monthNamed,
  monthsAround,
  PARTITIONED,
  PARTITIONS,
  type PartitionedTable,
  uuidFloor,
} from "./partitions.ts";

const DAY_MS = 86_400_000;
/** How long a repeated request is recognised by its Idempotency-Key. */
const IDEMPOTENCY_DAYS = 7;
/** Rows in one delete: short enough that nothing waits for it, and vacuum keeps up. */
const PAGE = 1_000;

const FORGET_KEYS = `
  DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at < $1 LIMIT ${PAGE})) RETURNING 1`;

/** Payloads of former versions of jobs, once no execution runs or ran by them, nor is told to. */
const FORGET_PAYLOADS = `
  DELETE FROM job_payloads WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM job_payloads p WHERE NOT EXISTS (
      SELECT FROM executions e WHERE e.job_id = p.job_id AND e.job_version = p.version
    ) AND NOT EXISTS (SELECT FROM commands c WHERE c.job_id = p.job_id) LIMIT ${PAGE})) RETURNING 1`;

/** See Store.maintain. */
export async function maintain(db: Connections, now: EpochMs, retention: Retention): Promise<void> {
  await makePartitions(db, now);
  const keepFrom = now - retention.days * DAY_MS;
  const keepDeadFrom = Math.min(keepFrom, now - retention.deadDays * DAY_MS);
  for (const month of await months(db, "executions")) {
    if (month.endMs <= keepFrom) await retireExecutions(db, month, keepFrom, keepDeadFrom);
  }
  for (const month of await months(db, "jobs")) {
    if (month.endMs <= keepFrom) await retireJobs(db, month);
  }
  while ((await db.run("maintain", { text: FORGET_PAYLOADS })).length === PAGE);
  const values = [now - IDEMPOTENCY_DAYS * DAY_MS];
  while ((await db.run("maintain", { text: FORGET_KEYS, values })).length === PAGE);
}

/** Makes the months that are missing around `now`. */
export async function makePartitions(db: Connections, now: EpochMs): Promise<void> {
  for (const table of PARTITIONED) {
    const existing = new Set((await months(db, table)).map((month) => month.name));
    for (const month of monthsAround(now)) {
      if (!existing.has(month.name)) await db.run("maintain", { text: createPartition(table, month) });
    }
  }
}

async function months(db: Connections, table: PartitionedTable): Promise<Month[]> {
  const rows = await db.run("maintain", { text: PARTITIONS, values: [table] });
  return rows.map(([name]) => monthNamed(table, name as string)).filter((month) => month !== null);
}

/** Drops the month if none of its rows is to be kept, else removes those that are not. */
async function retireExecutions(db: Connections, month: Month, keepFrom: EpochMs, keepDeadFrom: EpochMs) {
  const partition = `executions_${month.name}`;
  const isOver = `queue = ${QUEUE_CODES.NONE} AND coalesce(finished_at, updated_at) <
    CASE state WHEN ${STATE_CODES.DEAD} THEN ${keepDeadFrom} ELSE ${keepFrom} END`;
  const [kept] = await db.run("maintain", { text: `SELECT EXISTS (SELECT FROM ${partition} WHERE NOT (${isOver}))` });
  if (kept?.[0] === false) await drop(db, partition);
  else await removeByPages(db, partition, isOver);
}

/** The same for jobs: a job is kept for as long as any execution of it is. */
async function retireJobs(db: Connections, month: Month) {
  const partition = `jobs_${month.name}`;
  const [needed] = await db.run("maintain", {
    text: "SELECT EXISTS (SELECT FROM executions WHERE job_id >= $1 AND job_id < $2)",
    values: [uuidFloor(month.startMs), uuidFloor(month.endMs)],
  });
  if (needed?.[0] === false) await drop(db, partition);
  else await removeByPages(db, partition, "NOT EXISTS (SELECT FROM executions e WHERE e.job_id = r.id)");
}

/** Goes through the partition by its key: rows that stay are not looked at again for every page. */
async function removeByPages(db: Connections, partition: string, condition: string) {
  const text = `
    WITH page AS MATERIALIZED (SELECT id FROM ${partition} WHERE id > $1 ORDER BY id LIMIT ${PAGE}), gone AS (
      DELETE FROM ${partition} r USING page p WHERE r.id = p.id AND ${condition}
    )
    SELECT id FROM page ORDER BY id DESC LIMIT 1`;
  for (let after = uuidFloor(0); ; ) {
    const [last] = await db.run("maintain", { text, values: [after] });
    if (last === undefined) return;
    after = last[0] as string;
  }
}

async function drop(db: Connections, partition: string): Promise<void> {
  await db.run("maintain", { text: `DROP TABLE ${partition}` });
}
