import type { Candidate, RankCursor } from "../../../domain/execution.ts";
import type { Flow } from "../../../domain/flow.ts";
import type { EpochMs, ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { FlowPage } from "../../../ports/store-flows.ts";
import { CANDIDATE_COLUMNS, candidateFrom } from "../commit/candidates.ts";
import { uuids } from "../connection/arrays.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections, Row } from "../connection/connections.ts";
import { byPage, flowsStatement, pagesSource, pagesValues, readFlowNames } from "../connection/flow-pages.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import { payloadOf, payloadOfNode } from "../jobs/job-payloads.ts";

/** The statements contain the codes of queues as literals, because a parameter would not match a partial index. */
export const READ_WAITING = `
  SELECT ${CANDIDATE_COLUMNS} FROM executions e
  WHERE e.queue = ${QUEUE_CODES.WAITING} AND e.due_at <= $2 AND ${ofShards("e.shard", "$1")}
  ORDER BY e.due_at, e.id LIMIT $3`;

export const READ_READY = `
  SELECT ${CANDIDATE_COLUMNS} FROM executions e
  WHERE e.queue = ${QUEUE_CODES.READY} AND e.lane = $2 AND (e.rank, e.id) > ($3, $4) AND ${ofShards("e.shard", "$1")}
  ORDER BY e.rank, e.id LIMIT $5`;

/** Finds each lane by one index lookup, however many rows a lane has. */
export const READ_LANES = `
  WITH RECURSIVE lanes AS (
    (SELECT lane FROM executions WHERE queue = ${QUEUE_CODES.READY} AND lane > $1 ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (
      SELECT e.lane FROM executions e WHERE e.queue = ${QUEUE_CODES.READY} AND e.lane > l.lane ORDER BY e.lane LIMIT 1
    ) FROM lanes l WHERE l.lane IS NOT NULL
  )
  SELECT lane FROM lanes WHERE lane IS NOT NULL LIMIT $2`;

export const LOAD = `
  SELECT ${CANDIDATE_COLUMNS} FROM (SELECT unnest($1::uuid[]) AS id) w
  JOIN executions e ON e.id = w.id WHERE e.queue <> ${QUEUE_CODES.NONE}`;

/** The statement reads the job in a subquery, because as a third table of the join PostgreSQL might start with it. */
export const READ_PAYLOADS = `
  SELECT e.id, CASE WHEN e.node >= 0 THEN ${payloadOfNode("e")} ELSE
    (SELECT ${payloadOf("e", "j")} FROM jobs j WHERE j.id = e.job_id) END FROM (SELECT unnest($1::uuid[]) AS id) w
  JOIN executions e ON e.id = w.id WHERE e.payload_bytes > 0`;

const WAITING = {
  name: "executions",
  at: "due_at",
  id: "id",
  isIndexed: `r.queue = ${QUEUE_CODES.WAITING} AND r.shard >= 0`,
} as const;

export const WAITING_FLOWS = flowsStatement(WAITING);

export const READ_FLOWS = `
  SELECT w.n::int4, ${CANDIDATE_COLUMNS} FROM ${pagesSource(WAITING, ofShards("r.shard", "$1"))} e`;

const CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8";

/** Cursor before every row. */
const START: RankCursor = { rank: Number.NEGATIVE_INFINITY, id: "00000000-0000-0000-0000-000000000000" };
/** Largest number of rows to read by id in one statement. */
const CHUNK = 2_000;
/** Target size of an answer with payloads, in bytes, estimated from earlier answers. */
const PAYLOAD_BYTES = 16 * 1024 * 1024;
const FIRST_PAYLOADS = 64;

export async function readWaiting(db: Connections, shards: readonly ShardId[], dueUntil: EpochMs, limit: number) {
  const values = [shardMask(shards), dueUntil, limit];
  return (await db.run("read", { name: "read_waiting", text: READ_WAITING, values })).map(candidateFrom);
}

/** See Store.waitingFlows. */
export function waitingFlows(db: Connections, dueUntil: EpochMs, after: Flow | null, limit: number) {
  const statement = { name: "waiting_flows", text: WAITING_FLOWS, index: "executions_flow" };
  return readFlowNames(db, statement, dueUntil, after, limit);
}

export async function readFlows(
  db: Connections,
  shards: readonly ShardId[],
  dueUntil: EpochMs,
  pages: readonly FlowPage[],
  limit: number,
): Promise<Candidate[][]> {
  const values = pagesValues(shardMask(shards), dueUntil, pages, limit);
  return byPage(await db.run("read", { name: "read_flows", text: READ_FLOWS, values }), pages.length, candidateFrom);
}

export async function readReady(
  db: Connections,
  shards: readonly ShardId[],
  laneHash: number,
  after: RankCursor | null,
  limit: number,
): Promise<Candidate[]> {
  const { rank, id } = after ?? START;
  const values = [shardMask(shards), laneHash, rank, id, limit];
  return (await db.run("read", { name: "read_ready", text: READ_READY, values })).map(candidateFrom);
}

export async function readLanes(db: Connections, after: number | null, limit: number): Promise<number[]> {
  const rows = await db.run("read", { name: "read_lanes", text: READ_LANES, values: [after ?? -1, limit] });
  return rows.map(([lane]) => lane as number);
}

export async function load(db: Connections, ids: readonly ExecutionId[]): Promise<Candidate[]> {
  return (await byIds(db, "load", LOAD, ids)).map(candidateFrom);
}

export async function payloads(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array>> {
  const found = new Map<ExecutionId, Uint8Array>();
  let bytes = 0;
  let size = FIRST_PAYLOADS;
  for (let i = 0; i < ids.length; ) {
    for (const [id, payload] of await byIds(db, "payloads", READ_PAYLOADS, ids.slice(i, i + size))) {
      if (payload === null) continue;
      found.set(id as ExecutionId, payload as Uint8Array);
      bytes += (payload as Uint8Array).length;
    }
    i += size;
    // Payloads are mostly small. If they are large, thousands of them in one answer would not fit into memory.
    size = Math.min(CHUNK, Math.max(1, Math.floor((PAYLOAD_BYTES * i) / (bytes + 1))));
  }
  return found;
}

async function byIds(db: Connections, name: string, text: string, ids: readonly ExecutionId[]): Promise<Row[]> {
  const found: Row[][] = [];
  for (let i = 0; i < ids.length; i += CHUNK) {
    const chunk = ids.slice(i, i + CHUNK);
    found.push(await db.run("read", { name, text, values: [uuids(chunk, (id) => id)] }));
  }
  return found.flat();
}

export async function clock(db: Connections): Promise<number> {
  const [row] = await db.run("read", { name: "clock", text: CLOCK });
  return row?.[0] as number;
}
