import type { EpochMs } from "../../../domain/ids.ts";
import type { Retention } from "../../../ports/store.ts";
import { EVENTS_KEPT_MS } from "../../../ports/store-events.ts";
import { retireKeys } from "../cluster/keys.ts";
import { QUEUE_CODES, STATE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";
import { isLockTimeout } from "../connection/errors.ts";
import { forgetSinks, nameSinks } from "../events/event-sinks.ts";
import { retireEvents } from "../events/retire-events.ts";
import { existsOf, isLater } from "../executions/of-job.ts";
import { retireRecords } from "../ingest/ingest.ts";
import { retireRequests } from "../requests/requests.ts";
import { retireDeliveries } from "../webhooks/webhooks.ts";
import { isRun } from "../workflows/kinds-of-rows.ts";
import { HAS_NO_NODES, isOver, retireRuns } from "../workflows/retire-runs.ts";
import { completeIndexes, dropFormerIndex } from "./late-indexes.ts";
import { lockKey } from "./locks.ts";
import {
  createPartition,
  isOfExecutions,
  type Month,
  monthNamed,
  monthsAround,
  OF_EXECUTIONS,
  PARTITIONED,
  PARTITIONS,
  type PartitionedTable,
  uuidFloor,
} from "./partitions.ts";

/** Lock of the node that maintains the tables. Any number works that nothing else in the database uses. */
const UPKEEP_LOCK = lockKey(7_303_014_004);
/** Lock while months are created, so that a statement that needs one does not wait for the upkeep of all tables. */
const MONTHS_LOCK = lockKey(7_303_014_005);

const DAY_MS = 86_400_000;
/** Time for which a repeated request is recognised by its idempotency key, in days. */
const IDEMPOTENCY_DAYS = 7;
/** Number of rows in one delete: small enough that no other statement waits for it and vacuum keeps up. */
const PAGE = 1_000;

const FORGET_KEYS = `
  DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at < $1 LIMIT ${PAGE})) RETURNING 1`;

/**
 * Deletes payloads of former versions of jobs, once no execution runs or ran by them, no command names them, and no
 * plan uses them.
 */
const FORGET_PAYLOADS = `
  DELETE FROM job_payloads WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM job_payloads p WHERE NOT ${existsOf("p.job_id", "e.job_version = p.version")}
      AND NOT EXISTS (SELECT FROM commands c WHERE c.job_id = p.job_id)
      AND NOT EXISTS (SELECT FROM plans n WHERE n.job_id = p.job_id AND n.version <= p.version) LIMIT ${PAGE})) RETURNING 1`;

const FORGET_SKIPS = `
  DELETE FROM skips WHERE ctid = ANY(ARRAY(SELECT ctid FROM skips WHERE to_at < $1 LIMIT ${PAGE})) RETURNING 1`;

/** Deletes recurring jobs. A recurring job is kept until it is deleted, and then for as long as its executions. */
const FORGET_RECURRING = `
  WITH gone AS MATERIALIZED (
    SELECT j.id FROM jobs j WHERE j.id >= '80000000-0000-0000-0000-000000000000' AND j.deleted_at < $1
      AND NOT EXISTS (SELECT FROM executions e WHERE e.job_id = j.id AND ${isLater("e")})
      AND NOT EXISTS (SELECT FROM commands c WHERE c.job_id = j.id) LIMIT ${PAGE}
  ), p AS (
    DELETE FROM plans p USING gone g WHERE p.job_id = g.id
  ), s AS (
    DELETE FROM skips s USING gone g WHERE s.job_id = g.id
  )
  DELETE FROM jobs j USING gone g WHERE j.id = g.id RETURNING 1`;

/**
 * See Store.maintain. If several nodes ask at the same time, one does the work: dropping a month twice would be an
 * error, and scanning it twice a waste.
 * @param levelOf reads the feature level of the cluster
 * @throws {Error} the last month or index that could not be dropped because another session reads it; everything else was
 * done
 */
export async function maintain(
  db: Connections,
  now: EpochMs,
  retention: Retention,
  levelOf: (session: Session) => Promise<number>,
): Promise<void> {
  await makePartitions(db, now);
  await db.session("maintain", async (session) => {
    // Each node names its own sinks, also one that leaves the rest of the upkeep to another node.
    await nameSinks(session, retention.eventSinks ?? [], now);
    const [locked] = await session.run({ text: `SELECT pg_try_advisory_lock(${UPKEEP_LOCK})` });
    if (locked?.[0] !== true) return;
    let inUse: Error | null = null;
    const unlessInUse = (error: unknown) => {
      if (!isLockTimeout(error)) throw error;
      inUse = error;
    };
    await retire(session, now, retention, unlessInUse);
    await completeIndexes(session);
    await dropFormerIndex(session, await levelOf(session)).catch(unlessInUse);
    // A session that failed is closed, which releases its locks.
    await session.run({ text: `SELECT pg_advisory_unlock(${UPKEEP_LOCK})` });
    if (inUse !== null) throw inUse;
  });
}

/** Creates the months that are missing around `now`, after any other session that is creating months. */
export function makePartitions(
  db: Connections,
  now: EpochMs,
  purpose: "maintain" | "query" = "maintain",
): Promise<void> {
  return db.transaction(purpose, async (session) => {
    await session.run({ text: `SELECT pg_advisory_xact_lock(${MONTHS_LOCK})` });
    for (const table of PARTITIONED) {
      const existing = new Set((await months(session, table)).map((month) => month.name));
      const wanted = isOfExecutions(table) ? await months(session, "executions") : monthsAround(now);
      for (const month of wanted) {
        if (!existing.has(month.name)) await session.run({ text: createPartition(table, month) });
      }
    }
  });
}

/** @param unlessInUse takes the error of a month that another session reads */
async function retire(
  session: Session,
  now: EpochMs,
  retention: Retention,
  unlessInUse: (error: unknown) => void,
): Promise<void> {
  const keepFrom = now - retention.days * DAY_MS;
  const keepDeadFrom = Math.min(keepFrom, now - retention.deadDays * DAY_MS);
  for (const month of await months(session, "executions")) {
    if (month.startMs < keepFrom) await retireExecutions(session, month, keepFrom, keepDeadFrom).catch(unlessInUse);
  }
  for (const table of OF_EXECUTIONS) await retireOrphans(session, table).catch(unlessInUse);
  for (const month of await months(session, "jobs")) {
    if (month.startMs < keepFrom) await retireJobs(session, month, keepFrom).catch(unlessInUse);
  }
  await retireRuns(session, keepFrom);
  await forgetSinks(session, now);
  await retireEvents(session, now - (retention.eventsMs ?? EVENTS_KEPT_MS));
  await retireDeliveries(session, now, retention.days);
  await retireKeys(session, now);
  await retireRequests(session, now, retention.days);
  await retireRecords(session, now, retention.days);
  await repeated(session, { text: FORGET_SKIPS, values: [keepFrom] });
  await repeated(session, { text: FORGET_RECURRING, values: [keepFrom] });
  await repeated(session, { text: FORGET_PAYLOADS });
  await repeated(session, { text: FORGET_KEYS, values: [now - IDEMPOTENCY_DAYS * DAY_MS] });
}

/** Runs a statement page by page, until it affects less than a page. */
async function repeated(session: Session, statement: Statement): Promise<void> {
  while ((await session.run(statement)).length === PAGE);
}

async function months(session: Session, table: PartitionedTable): Promise<Month[]> {
  const rows = await session.run({ text: PARTITIONS, values: [table] });
  return rows.map(([name]) => monthNamed(table, name as string)).filter((month) => month !== null);
}

/**
 * Drops the month if none of its rows must be kept, otherwise deletes the rows that need not be. In a month that is not
 * over, retention can only delete rows.
 */
async function retireExecutions(session: Session, month: Month, keepFrom: EpochMs, keepDeadFrom: EpochMs) {
  const partition = `executions_${month.name}`;
  const isRowOver = isOver(
    (e) => `(${e}.queue = ${QUEUE_CODES.NONE} AND coalesce(${e}.finished_at, ${e}.updated_at) <
    CASE ${e}.state WHEN ${STATE_CODES.DEAD} THEN ${keepDeadFrom} ELSE ${keepFrom} END)`,
  );
  const mayGo = `${isRowOver} AND ${HAS_NO_NODES}`;
  if (month.endMs > keepFrom) return removeByPages(session, partition, mayGo, keepFrom, month);
  const [kept] = await session.run({ text: `SELECT EXISTS (SELECT FROM ${partition} r WHERE NOT (${isRowOver}))` });
  if (kept?.[0] === false) await drop(session, partition);
  else await removeByPages(session, partition, mayGo, month.endMs, month);
}

/** Drops months of a table whose executions were dropped: just now, or by a node of the release before. */
async function retireOrphans(session: Session, table: PartitionedTable): Promise<void> {
  const kept = new Set((await months(session, "executions")).map(({ name }) => name));
  for (const { name } of await months(session, table)) if (!kept.has(name)) await drop(session, `${table}_${name}`);
}

/**
 * Whether a month of jobs has executions. Ids of first executions are in the month of their jobs, of which retention has
 * left few rows by then.
 */
const IS_NEEDED = `SELECT
  EXISTS (SELECT FROM executions e WHERE e.id >= $1 AND e.id < $2 AND e.trigger = ${TRIGGER_CODES.API})
  OR EXISTS (SELECT FROM executions e WHERE e.job_id >= $1 AND e.job_id < $2 AND ${isLater("e")})`;

/** The same for jobs: a job is kept for as long as any execution of it. */
async function retireJobs(session: Session, month: Month, keepFrom: EpochMs) {
  const partition = `jobs_${month.name}`;
  const isUnneeded = `NOT ${existsOf("r.id")}`;
  if (month.endMs > keepFrom) return removeByPages(session, partition, isUnneeded, keepFrom);
  const [needed] = await session.run({
    text: IS_NEEDED,
    values: [uuidFloor(month.startMs), uuidFloor(month.endMs)],
  });
  if (needed?.[0] === false) await drop(session, partition);
  else await removeByPages(session, partition, isUnneeded, month.endMs);
}

/**
 * Deletes rows of the tables that belong to deleted executions. The arrays, unlike joins, have the planner find the rows by
 * their key.
 */
const withOthers = ({ name }: Month) => `, forgotten AS (
      DELETE FROM execution_steps_${name} WHERE execution_id = ANY(ARRAY(SELECT id FROM gone WHERE steps IS NOT NULL))
    ), silenced AS (
      DELETE FROM attempt_logs_${name} WHERE execution_id = ANY(ARRAY(SELECT id FROM gone))
    ), unheard AS (
      DELETE FROM signals_${name} WHERE execution_id = ANY(ARRAY(SELECT id FROM gone))
    ), unborn AS (
      DELETE FROM signals_${name} WHERE run = ANY(ARRAY(SELECT id FROM gone g WHERE ${isRun("g")}))
    )`;

/**
 * Walks through the partition by its key, so that no page examines the remaining rows again.
 * @param until ids from this instant on are not examined
 * @param month month of executions, whose records and log lines go too; left out: the rows are jobs
 */
async function removeByPages(
  session: Session,
  partition: string,
  condition: string,
  until: EpochMs,
  month?: Month,
): Promise<void> {
  const text = `
    WITH page AS MATERIALIZED (SELECT id FROM ${partition} WHERE id > $1 AND id < $2 ORDER BY id LIMIT ${PAGE}), gone AS (
      DELETE FROM ${partition} r USING page p WHERE r.id = p.id AND ${condition}
      RETURNING r.id${month === undefined ? "" : ", r.steps, r.node, r.handler"}
    )${month === undefined ? "" : withOthers(month)}
    SELECT id FROM page ORDER BY id DESC LIMIT 1`;
  for (let after = uuidFloor(0); ; ) {
    const [last] = await session.run({ text, values: [after, uuidFloor(until)] });
    if (last === undefined) return;
    after = last[0] as string;
  }
}

async function drop(session: Session, partition: string): Promise<void> {
  await session.run({ text: `DROP TABLE IF EXISTS ${partition}` });
}
