import type { EpochMs } from "../../../domain/ids.ts";
import type { Retention } from "../../../ports/store.ts";
import { QUEUE_CODES, STATE_CODES } from "../connection/codes.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";
import { isLockTimeout } from "../connection/errors.ts";
import { completeIndexes } from "./late-indexes.ts";
import { lockKey } from "./locks.ts";
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

/** Held by the node that keeps the tables up; any number that nobody else in the database uses. */
const UPKEEP_LOCK = lockKey(7_303_014_004);
/** Held while months are made, so that a statement which needs one does not wait for the upkeep of all tables. */
const MONTHS_LOCK = lockKey(7_303_014_005);

const DAY_MS = 86_400_000;
/** How long a repeated request is recognised by its Idempotency-Key. */
const IDEMPOTENCY_DAYS = 7;
/** Rows in one delete: short enough that nothing waits for it, and vacuum keeps up. */
const PAGE = 1_000;

const FORGET_KEYS = `
  DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at < $1 LIMIT ${PAGE})) RETURNING 1`;

/** Payloads of former versions of jobs, once no execution runs or ran by them, nor is told to, nor will by its job's plan. */
const FORGET_PAYLOADS = `
  DELETE FROM job_payloads WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM job_payloads p WHERE NOT EXISTS (
      SELECT FROM executions e WHERE e.job_id = p.job_id AND e.job_version = p.version
    ) AND NOT EXISTS (SELECT FROM commands c WHERE c.job_id = p.job_id)
      AND NOT EXISTS (SELECT FROM plans n WHERE n.job_id = p.job_id AND n.version <= p.version) LIMIT ${PAGE})) RETURNING 1`;

const FORGET_SKIPS = `
  DELETE FROM skips WHERE ctid = ANY(ARRAY(SELECT ctid FROM skips WHERE to_at < $1 LIMIT ${PAGE})) RETURNING 1`;

/** Recurring jobs are kept for as long as they are not deleted, and after that for as long as what they did. */
const FORGET_RECURRING = `
  WITH gone AS MATERIALIZED (
    SELECT j.id FROM jobs j WHERE j.id >= '80000000-0000-0000-0000-000000000000' AND j.deleted_at < $1
      AND NOT EXISTS (SELECT FROM executions e WHERE e.job_id = j.id)
      AND NOT EXISTS (SELECT FROM commands c WHERE c.job_id = j.id) LIMIT ${PAGE}
  ), p AS (
    DELETE FROM plans p USING gone g WHERE p.job_id = g.id
  ), s AS (
    DELETE FROM skips s USING gone g WHERE s.job_id = g.id
  )
  DELETE FROM jobs j USING gone g WHERE j.id = g.id RETURNING 1`;

/**
 * See Store.maintain. One of several nodes that ask at the same time does the work: dropping a month twice would be an
 * error, and looking through it twice a waste.
 * @throws {Error} the last month that could not be dropped because somebody reads it; all else was done
 */
export async function maintain(db: Connections, now: EpochMs, retention: Retention): Promise<void> {
  await makePartitions(db, now);
  await db.session("maintain", async (session) => {
    const [locked] = await session.run({ text: `SELECT pg_try_advisory_lock(${UPKEEP_LOCK})` });
    if (locked?.[0] !== true) return;
    const inUse = await retire(session, now, retention);
    await completeIndexes(session);
    // A session that failed is closed, and its locks with it.
    await session.run({ text: `SELECT pg_advisory_unlock(${UPKEEP_LOCK})` });
    if (inUse !== null) throw inUse;
  });
}

/** Makes the months that are missing around `now`, after those who are making them already. */
export function makePartitions(
  db: Connections,
  now: EpochMs,
  purpose: "maintain" | "query" = "maintain",
): Promise<void> {
  return db.transaction(purpose, async (session) => {
    await session.run({ text: `SELECT pg_advisory_xact_lock(${MONTHS_LOCK})` });
    for (const table of PARTITIONED) {
      const existing = new Set((await months(session, table)).map((month) => month.name));
      for (const month of monthsAround(now)) {
        if (!existing.has(month.name)) await session.run({ text: createPartition(table, month) });
      }
    }
  });
}

/** @returns what kept a month from being dropped; null: nothing */
async function retire(session: Session, now: EpochMs, retention: Retention): Promise<Error | null> {
  const keepFrom = now - retention.days * DAY_MS;
  const keepDeadFrom = Math.min(keepFrom, now - retention.deadDays * DAY_MS);
  let inUse: Error | null = null;
  const unlessInUse = (error: unknown) => {
    if (!isLockTimeout(error)) throw error;
    inUse = error;
  };
  for (const month of await months(session, "executions")) {
    if (month.startMs < keepFrom) await retireExecutions(session, month, keepFrom, keepDeadFrom).catch(unlessInUse);
  }
  for (const month of await months(session, "jobs")) {
    if (month.startMs < keepFrom) await retireJobs(session, month, keepFrom).catch(unlessInUse);
  }
  await repeated(session, { text: FORGET_SKIPS, values: [keepFrom] });
  await repeated(session, { text: FORGET_RECURRING, values: [keepFrom] });
  await repeated(session, { text: FORGET_PAYLOADS });
  await repeated(session, { text: FORGET_KEYS, values: [now - IDEMPOTENCY_DAYS * DAY_MS] });
  return inUse;
}

/** Page by page, until there is less than a page of it. */
async function repeated(session: Session, statement: Statement): Promise<void> {
  while ((await session.run(statement)).length === PAGE);
}

async function months(session: Session, table: PartitionedTable): Promise<Month[]> {
  const rows = await session.run({ text: PARTITIONS, values: [table] });
  return rows.map(([name]) => monthNamed(table, name as string)).filter((month) => month !== null);
}

/**
 * Drops the month if none of its rows is to be kept, else removes those that are not. In a month that is not over,
 * retention can only remove rows.
 */
async function retireExecutions(session: Session, month: Month, keepFrom: EpochMs, keepDeadFrom: EpochMs) {
  const partition = `executions_${month.name}`;
  const isOver = `queue = ${QUEUE_CODES.NONE} AND coalesce(finished_at, updated_at) <
    CASE state WHEN ${STATE_CODES.DEAD} THEN ${keepDeadFrom} ELSE ${keepFrom} END`;
  if (month.endMs > keepFrom) return removeByPages(session, partition, isOver, keepFrom);
  const [kept] = await session.run({ text: `SELECT EXISTS (SELECT FROM ${partition} WHERE NOT (${isOver}))` });
  if (kept?.[0] === false) await drop(session, partition);
  else await removeByPages(session, partition, isOver, month.endMs);
}

/** The same for jobs: a job is kept for as long as any execution of it is. */
async function retireJobs(session: Session, month: Month, keepFrom: EpochMs) {
  const partition = `jobs_${month.name}`;
  const isUnneeded = "NOT EXISTS (SELECT FROM executions e WHERE e.job_id = r.id)";
  if (month.endMs > keepFrom) return removeByPages(session, partition, isUnneeded, keepFrom);
  const [needed] = await session.run({
    text: "SELECT EXISTS (SELECT FROM executions WHERE job_id >= $1 AND job_id < $2)",
    values: [uuidFloor(month.startMs), uuidFloor(month.endMs)],
  });
  if (needed?.[0] === false) await drop(session, partition);
  else await removeByPages(session, partition, isUnneeded, month.endMs);
}

/**
 * Goes through the partition by its key: rows that stay are not looked at again for every page.
 * @param until ids from this instant on are not looked at
 */
async function removeByPages(session: Session, partition: string, condition: string, until: EpochMs): Promise<void> {
  const text = `
    WITH page AS MATERIALIZED (SELECT id FROM ${partition} WHERE id > $1 AND id < $2 ORDER BY id LIMIT ${PAGE}), gone AS (
      DELETE FROM ${partition} r USING page p WHERE r.id = p.id AND ${condition}
    )
    SELECT id FROM page ORDER BY id DESC LIMIT 1`;
  for (let after = uuidFloor(0); ; ) {
    const [last] = await session.run({ text, values: [after, uuidFloor(until)] });
    if (last === undefined) return;
    after = last[0] as string;
  }
}

async function drop(session: Session, partition: string): Promise<void> {
  await session.run({ text: `DROP TABLE ${partition}` });
}
