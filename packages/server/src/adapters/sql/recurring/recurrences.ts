import type { EpochMs, ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import type { Plan } from "../../../domain/recurrence.ts";
import type { FlowPage } from "../../../ports/store-flows.ts";
import type { Recurrence, StoreRecurrences } from "../../../ports/store-recurrences.ts";
import { uuids } from "../connection/arrays.ts";
import { PLAN_STATE_CODES, QUEUE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Connections, Row } from "../connection/connections.ts";
import { byPage, flowsStatement, pagesSource, pagesValues, readFlowNames } from "../connection/flow-pages.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import { DEFINITION_COLUMNS, definitionFrom } from "../jobs/job-definitions.ts";
import { PLAN_COLUMNS, PLAN_LENGTH, planFrom } from "./plan-rows.ts";

/**
 * The bounds are redundant, but they exclude the partitions of months: recurring jobs are in a partition of their own.
 */
const JOBS = "JOIN jobs j ON j.id = p.job_id AND j.id >= '80000000-0000-0000-0000-000000000000'";

/**
 * The latest execution is one index lookup by its key; with EXISTS, PostgreSQL may read all executions. A separate
 * query reads the few executions of catch-ups.
 */
const COLUMNS = `p.job_id, p.shard, j.tenant, j.created_at, j.version, coalesce(octet_length(j.payload), 0), p.revision,
  coalesce((SELECT e.queue FROM executions e WHERE e.id = p.previous) <> ${QUEUE_CODES.NONE}, false),
  ${PLAN_COLUMNS}, ${DEFINITION_COLUMNS}`;

const IS_ACTIVE = `p.state = ${PLAN_STATE_CODES.ACTIVE}`;
/** Predicates of partial indexes, which must match them word by word. */
const IS_AWAITING = `(p.buffered_at IS NOT NULL OR p.catch_ups IS NOT NULL OR (${IS_ACTIVE} AND p.next_fire_at IS NULL))`;

/** SQL condition: a plan fires by the time in the parameter. */
export const IS_DUE = (until: `$${number}`) =>
  `${IS_ACTIVE} AND p.next_fire_at IS NOT NULL AND p.next_fire_at <= ${until}`;

export const READ_DUE = `
  SELECT ${COLUMNS} FROM plans p ${JOBS} WHERE ${IS_DUE("$2")} AND ${ofShards("p.shard", "$1")}
  ORDER BY p.next_fire_at, p.job_id LIMIT $3`;

const DUE = {
  name: "plans",
  at: "next_fire_at",
  id: "job_id",
  isIndexed: `r.state = ${PLAN_STATE_CODES.ACTIVE} AND r.next_fire_at IS NOT NULL AND r.shard >= 0`,
} as const;

export const DUE_FLOWS = flowsStatement(DUE);

export const READ_DUE_FLOWS = `
  SELECT w.n::int4, ${COLUMNS} FROM ${pagesSource(DUE, ofShards("r.shard", "$1"))} p ${JOBS}
  ORDER BY w.n, p.next_fire_at, p.job_id`;

export const READ_AWAITING = `
  SELECT ${COLUMNS} FROM plans p ${JOBS}
  WHERE ${IS_AWAITING} AND p.job_id > $2 AND ${ofShards("p.shard", "$1")} ORDER BY p.job_id LIMIT $3`;

export const READ_OTHER_ZONES = `
  SELECT ${COLUMNS} FROM plans p ${JOBS}
  WHERE p.state IN (${PLAN_STATE_CODES.ACTIVE}, ${PLAN_STATE_CODES.PAUSED}) AND p.tzdata <> $4 AND p.job_id > $2
    AND ${ofShards("p.shard", "$1")} ORDER BY p.job_id LIMIT $3`;

export const LOAD_RECURRENCES = `
  SELECT ${COLUMNS} FROM (SELECT unnest($1::uuid[]) AS id) w JOIN plans p ON p.job_id = w.id ${JOBS}`;

export const READ_OPEN = `
  SELECT e.id FROM (SELECT unnest($1::uuid[]) AS id) w JOIN executions e ON e.id = w.id WHERE e.queue <> ${QUEUE_CODES.NONE}`;

/**
 * SQL condition: an execution stands for a planned instant. The planner concludes that the index of later executions has
 * it, whose predicate excludes no trigger but that of the API.
 */
export const IS_PLANNED = `e.trigger IN (${TRIGGER_CODES.SCHEDULE}, ${TRIGGER_CODES.BACKFILL})`;

export const READ_FIRED = `
  SELECT e.scheduled_at FROM executions e
  WHERE e.job_id = $1 AND e.scheduled_at >= $2 AND e.scheduled_at < $3 AND ${IS_PLANNED} ORDER BY e.scheduled_at`;

const START: JobId = "00000000-0000-0000-0000-000000000000";
/** Largest number of rows to read by id in one statement. */
const CHUNK = 2_000;

export function recurrences(db: Connections): StoreRecurrences {
  const read = async (name: string, text: string, values: readonly unknown[]): Promise<Recurrence[]> => {
    const rows = await db.run("read", { name, text, values });
    return withOpen(db, rows.map(recurrenceFrom));
  };
  return {
    readDue: (shards, until, limit) => read("read_due", READ_DUE, [shardMask(shards), until, limit]),
    dueFlows: (...asked) => readFlowNames(db, { name: "due_flows", text: DUE_FLOWS, index: "plans_flow" }, ...asked),
    readDueFlows: (...asked) => readDueFlows(db, ...asked),
    readAwaiting: (shards, after, limit) =>
      read("read_awaiting", READ_AWAITING, [shardMask(shards), after ?? START, limit]),
    readOtherZones: (shards, tzdata, after, limit) =>
      read("read_other_zones", READ_OTHER_ZONES, [shardMask(shards), after ?? START, limit, tzdata]),
    load: async (jobIds) => {
      const found: Recurrence[] = [];
      for (let i = 0; i < jobIds.length; i += CHUNK) {
        const chunk = uuids(jobIds.slice(i, i + CHUNK), (id) => id);
        found.push(...(await read("load_recurrences", LOAD_RECURRENCES, [chunk])));
      }
      return found;
    },
    firedInstants: async (jobId, since, until) => {
      const rows = await db.run("read", { name: "read_fired", text: READ_FIRED, values: [jobId, since, until] });
      return rows.map(([at]) => at as EpochMs);
    },
  };
}

async function readDueFlows(
  db: Connections,
  shards: readonly ShardId[],
  until: EpochMs,
  pages: readonly FlowPage[],
  limit: number,
): Promise<Recurrence[][]> {
  const values = pagesValues(shardMask(shards), until, pages, limit);
  const rows = await db.run("read", { name: "read_due_flows", text: READ_DUE_FLOWS, values });
  const found = byPage(rows, pages.length, recurrenceFrom);
  const open = new Map((await withOpen(db, found.flat())).map((recurrence) => [recurrence.jobId, recurrence]));
  return found.map((page) => page.map((recurrence) => open.get(recurrence.jobId) ?? recurrence));
}

type HeadRow = [
  jobId: JobId,
  shard: ShardId,
  tenant: string,
  createdAt: EpochMs,
  version: number,
  payloadBytes: number,
  revision: number,
  isPreviousOpen: boolean,
];
const HEAD_LENGTH = 8;

function recurrenceFrom(row: Row): Recurrence {
  const [jobId, shard, tenant, createdAt, version, payloadBytes, revision, isPreviousOpen] = row as HeadRow;
  const plan = planFrom(row.slice(HEAD_LENGTH, HEAD_LENGTH + PLAN_LENGTH));
  const definition = definitionFrom(row.slice(HEAD_LENGTH + PLAN_LENGTH));
  const open = isPreviousOpen ? [plan.previous as ExecutionId] : [];
  return { jobId, shard, tenant, createdAt, version, definition, payloadBytes, revision, plan, open };
}

/** Adds the executions of catch-ups that are not final. */
async function withOpen(db: Connections, found: Recurrence[]): Promise<Recurrence[]> {
  const ids = found.flatMap(({ plan }) => openOf(plan));
  const open = new Set<ExecutionId>();
  for (let i = 0; i < ids.length; i += CHUNK) {
    const chunk = uuids(ids.slice(i, i + CHUNK), (id) => id);
    for (const [id] of await db.run("read", { name: "read_open", text: READ_OPEN, values: [chunk] })) {
      open.add(id as ExecutionId);
    }
  }
  if (open.size === 0) return found;
  return found.map((recurrence) => {
    const more = openOf(recurrence.plan).filter((id) => open.has(id));
    return more.length === 0 ? recurrence : { ...recurrence, open: [...new Set([...recurrence.open, ...more])] };
  });
}

function openOf({ catchUps }: Plan): readonly ExecutionId[] {
  return catchUps.flatMap((catchUp) => catchUp.open);
}
