import { isFinal, RUN_NODE } from "../../../domain/execution.ts";
import type { ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import type { KeptNodes } from "../../../domain/workflow/kept-nodes.ts";
import type { ItemStates, MapCount } from "../../../domain/workflow/map-counts.ts";
import type { DueCursor } from "../../../ports/store-flows.ts";
import type {
  Ends,
  KeyedRun,
  LoadedRun,
  NodeExecution,
  OriginOfRun,
  RetryOutcome,
  StoredWorkflow,
  StoreRuns,
} from "../../../ports/store-runs.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { CANDIDATE_COLUMNS, candidateFrom } from "../commit/candidates.ts";
import { int4s, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, runModeOf, STATE_CODES, stateOf } from "../connection/codes.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import { persistently } from "../connection/persistently.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import type { EventInbox } from "../events/inbox.ts";
import { isLater } from "../executions/of-job.ts";
import { isComplete } from "../schema/late-indexes.ts";
import { STATEMENT } from "../submit/submit.ts";
import { isVanishedKey } from "../submit/submit-keyed.ts";
import { isChildRun, isRun } from "./kinds-of-rows.ts";
import { readParts } from "./parts.ts";
import { KEPT, keptFrom, mapCountsFrom, outcomeFrom, retryRun } from "./retry-run.ts";

/**
 * Subqueries, because with a third table in the join PostgreSQL might start with that table.
 */
export const READ_RUNS = `
  SELECT ${CANDIDATE_COLUMNS}, (SELECT w.workflow FROM workflow_runs w WHERE w.run = e.id), (SELECT w.mode FROM workflow_runs w WHERE w.run = e.id),
    (SELECT w.paused FROM workflow_runs w WHERE w.run = e.id), (SELECT w.revision FROM workflow_runs w WHERE w.run = e.id),
    (SELECT w.outcome FROM workflow_runs w WHERE w.run = e.id), (SELECT ${KEPT} FROM workflow_runs w WHERE w.run = e.id),
    (SELECT w.map_counts FROM workflow_runs w WHERE w.run = e.id),
    (SELECT true FROM workflow_parts p WHERE p.run = e.id LIMIT 1),
    (SELECT string_agg(DISTINCT s.execution_id::text, ',') FROM signals s WHERE s.run = e.id AND s.taken_by IS NULL)
  FROM (SELECT unnest($1::uuid[]) AS id) a JOIN executions e ON e.id = a.id
  WHERE ${isRun("e")} AND e.queue <> ${QUEUE_CODES.NONE}`;

export const READ_GRAPHS = `
  SELECT g.job_id, g.version, g.graph, g.definitions, (
    SELECT w.payload FROM workflow_payloads w WHERE w.job_id = g.job_id AND w.version = g.version AND w.node = ${RUN_NODE}
  )
  FROM (SELECT unnest($1::uuid[]) AS job_id, unnest($2::int4[]) AS version) a
  JOIN workflow_graphs g ON g.job_id = a.job_id AND g.version = a.version`;

export const READ_NODES = `
  SELECT e.job_id, e.id, e.node, e.item, e.state, e.branch, e.queue = ${QUEUE_CODES.PARKED} FROM (SELECT unnest($1::uuid[]) AS run) a
  JOIN executions e ON e.job_id = a.run AND ${isLater("e")} AND (e.item IS NULL OR e.queue <> ${QUEUE_CODES.NONE})`;

/** Items as one text for each state of a map, because a map may have 100,000 of them. */
export const READ_ITEMS = `
  SELECT e.job_id, e.node, e.state, string_agg(e.item::text, ',' ORDER BY e.item)
  FROM (SELECT unnest($1::uuid[]) AS run) a
  JOIN executions e ON e.job_id = a.run AND ${isLater("e")} AND e.item IS NOT NULL
  GROUP BY e.job_id, e.node, e.state ORDER BY e.node, e.state`;

export const READ_RESULTS = `
  SELECT e.id, e.result FROM (SELECT unnest($1::uuid[]) AS id) a JOIN executions e ON e.id = a.id
  WHERE e.state = ${STATE_CODES.SUCCEEDED}`;

export const READ_KEPT = `
  SELECT w.run, ${KEPT} FROM workflow_runs w WHERE w.run = ANY($1::uuid[]) AND w.bases <> '{}'`;

export const READ_ORIGINS = `
  SELECT e.id, e.job_id, e.node, e.item FROM (SELECT unnest($1::uuid[]) AS id) a JOIN executions e ON e.id = a.id
  WHERE ${isChildRun("e")}`;

export const READ_MAP_COUNTS = `
  SELECT w.run, w.map_counts FROM workflow_runs w WHERE w.run = ANY($1::uuid[]) AND w.map_counts IS NOT NULL`;

/** The sizes of results are in their rows, so PostgreSQL fetches no large result beyond the limit. */
export const READ_ENDS = `
  SELECT s.place, s.id, s.state, s.result FROM (
    SELECT a.place, e.id, e.state, e.result, coalesce(octet_length(e.result), 0) AS own,
      sum(coalesce(octet_length(e.result), 0)) OVER (ORDER BY a.place) AS bytes
    FROM (SELECT unnest($1::uuid[]) AS id, generate_subscripts($1::uuid[], 1) AS place) a JOIN executions e ON e.id = a.id
  ) s
  WHERE s.bytes - s.own < $2 ORDER BY s.place`;

export const OPEN_RUNS = `
  SELECT e.due_at, e.id FROM executions e
  WHERE e.queue = ${QUEUE_CODES.OPEN} AND (e.due_at, e.id) > ($2, $3) AND ${ofShards("e.shard", "$1")}
  ORDER BY e.due_at, e.id LIMIT $4`;

/** The same while upkeep has not built the index: by all runs that the store has, which are few then. */
const OPEN_RUNS_UNINDEXED = `
  SELECT e.due_at, e.id FROM workflow_runs w, LATERAL (SELECT x.* FROM executions x WHERE x.id = w.run OFFSET 0) e
  WHERE e.queue = ${QUEUE_CODES.OPEN} AND (e.due_at, e.id) > ($2, $3) AND ${ofShards("w.shard", "$1")}
  ORDER BY e.due_at, e.id LIMIT $4`;

const KEYED_COLUMNS = "e.id, e.shard, e.tenant, e.concurrency_key, e.concurrency_limit";
const IS_KEYED = `e.queue = ${QUEUE_CODES.OPEN} AND e.concurrency_key IS NOT NULL`;

export const KEYED_RUNS = `SELECT ${KEYED_COLUMNS} FROM executions e WHERE ${IS_KEYED} AND ${ofShards("e.shard", "$1")}`;

const KEYED_RUNS_UNINDEXED = `
  SELECT ${KEYED_COLUMNS}
  FROM workflow_runs w, LATERAL (SELECT x.* FROM executions x WHERE x.id = w.run OFFSET 0) e
  WHERE ${IS_KEYED} AND ${ofShards("w.shard", "$1")}`;

/** Cursor before every run. */
const START: DueCursor = { dueAt: -1, id: "00000000-0000-0000-0000-000000000000" };
/** Numbers of runs whose rows, or whose graphs, one statement reads. A graph has up to some MiB. */
const RUNS = 64;
const GRAPHS = 8;

export function runs(db: Connections, trail: AuditTrail, now: () => number, inbox: EventInbox): StoreRuns {
  return {
    load: (ids, isKnown) => load(db, ids, isKnown),
    results: (ids) => results(db, ids),
    items: (ids) => readItems(db, ids),
    origins: (ids) => origins(db, ids),
    kept: (ids) => kept(db, ids),
    mapCounts: (ids) => mapCounts(db, ids),
    ends: (ids, bytes) => ends(db, ids, bytes),
    openRuns: (shards, after, limit) => openRuns(db, shards, after, limit),
    retry: (asked, note) => {
      const retry = (session: Session) => retryRun(session, asked, STATEMENT, now(), inbox);
      return persistently(() => trail.transaction("submit", note, retry, isNewRun), isVanishedKey);
    },
  };
}

function isNewRun(outcome: RetryOutcome): boolean {
  return outcome.kind === "ACCEPTED" && !outcome.replayed;
}

/**
 * See StoreRuns.load. Only the owner of a run, which asks, changes the run, so the reads need no common snapshot. Ends of
 * nodes with concurrency keys are the exception: an item that ends between the reads is among those of both.
 */
async function load(db: Connections, ids: readonly ExecutionId[], isKnown: IsKnown): Promise<LoadedRun[]> {
  const rows = await chunkwise(ids, RUNS, (some) =>
    db.run("read", { name: "read_runs", text: READ_RUNS, values: [uuids(some, (id) => id)] }),
  );
  const open = rows.map(runFrom);
  const isNew = ({ row, workflow }: OpenRun) => isKnown?.(workflow, row.jobVersion) !== true;
  const graphs = await readGraphs(db, open.filter(isNew));
  // The parts come before the rows of their nodes, so that a node whose row is read has a part.
  const parts = await readParts(
    db,
    "read",
    open.filter(({ hasParts }) => hasParts).map(({ row }) => row.id),
  );
  const executions = await readNodes(
    db,
    open.map(({ row }) => row.id),
  );
  // Only runs with counted maps have items.
  const mapped = open.filter(({ mapCounts }) => mapCounts.length > 0).map(({ row }) => row.id);
  const items = mapped.length === 0 ? new Map<ExecutionId, ItemStates[]>() : await readItems(db, mapped);
  return open.flatMap((run): LoadedRun[] => {
    const stored = graphs.get(keyOf(run.workflow, run.row.jobVersion)) ?? null;
    if (stored === null && isNew(run)) return [];
    const { hasParts: _, ...known } = run;
    const rest = { parts: parts.get(run.row.id) ?? [], ...rowsOf(run.row.id, executions, items) };
    return [{ ...known, stored, ...rest }];
  });
}

function rowsOf(
  run: ExecutionId,
  executions: ReadonlyMap<ExecutionId, NodeExecution[]>,
  items: ReadonlyMap<ExecutionId, ItemStates[]>,
): Pick<LoadedRun, "executions" | "items"> {
  const ended = (items.get(run) ?? []).filter(({ state }) => isFinal(state));
  return { executions: executions.get(run) ?? [], items: ended };
}

async function readItems(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, ItemStates[]>> {
  const rows = await chunkwise(ids, RUNS, (some) =>
    db.run("read", { name: "read_items", text: READ_ITEMS, values: [uuids(some, (id) => id)] }),
  );
  const found = new Map<ExecutionId, ItemStates[]>();
  for (const row of rows) {
    const [run, node, state, items] = row as [ExecutionId, number, number, string];
    const states = found.get(run) ?? [];
    states.push({ node, state: stateOf(state), items: Uint32Array.from(items.split(","), Number) });
    found.set(run, states);
  }
  return found;
}

type IsKnown = Parameters<StoreRuns["load"]>[1];
type OpenRun = Pick<
  LoadedRun,
  "row" | "workflow" | "mode" | "paused" | "outcome" | "revision" | "kept" | "mapCounts" | "signalled"
> & {
  hasParts: boolean;
};
type RunColumns = [
  workflow: JobId | null,
  mode: number,
  paused: boolean,
  revision: number,
  outcome: string | null,
  kept: string | null,
  mapCounts: string | null,
  hasParts: boolean | null,
  signalled: string | null,
];

function runFrom(columns: Row): OpenRun {
  const [workflow, mode, paused, revision, outcome, kept, mapCounts, hasParts, signalled] = columns.slice(
    -9,
  ) as RunColumns;
  const row = candidateFrom(columns);
  return {
    ...{ row, workflow: workflow ?? row.jobId, mode: runModeOf(mode), paused, outcome: outcomeFrom(outcome), revision },
    ...{ kept: keptFrom(kept), mapCounts: mapCountsFrom(mapCounts), signalled: signalled?.split(",") ?? [] },
    hasParts: hasParts === true,
  };
}

async function results(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array | null>> {
  const rows = await db.run("read", { name: "read_results", text: READ_RESULTS, values: [uuids(ids, (id) => id)] });
  return new Map(rows as [ExecutionId, Uint8Array | null][]);
}

type OriginRow = [id: ExecutionId, run: ExecutionId, node: number, item: number | null];

async function origins(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, OriginOfRun>> {
  const rows = await db.run("read", { name: "read_origins", text: READ_ORIGINS, values: [uuids(ids, (id) => id)] });
  return new Map((rows as OriginRow[]).map(([id, run, node, item]) => [id, { run, node, item }]));
}

async function kept(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, KeptNodes[]>> {
  const rows = await db.run("read", { name: "read_kept", text: READ_KEPT, values: [uuids(ids, (id) => id)] });
  return new Map(rows.map(([run, text]) => [run as ExecutionId, keptFrom(text as string)]));
}

async function mapCounts(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, MapCount[]>> {
  const values = [uuids(ids, (id) => id)];
  const rows = await db.run("read", { name: "read_map_counts", text: READ_MAP_COUNTS, values });
  return new Map(rows.map(([run, text]) => [run as ExecutionId, mapCountsFrom(text as string)]));
}

type EndRow = [place: number, id: ExecutionId, state: number, result: Uint8Array | null];

async function ends(db: Connections, ids: readonly ExecutionId[], bytes: number): Promise<Ends> {
  const values = [uuids(ids, (id) => id), bytes];
  const rows = (await db.run("read", { name: "read_ends", text: READ_ENDS, values })) as EndRow[];
  const read = rows.reduce((sum, [, , , result]) => sum + (result?.length ?? 0), 0);
  const byId = new Map(rows.map(([, id, code, result]) => [id, { state: stateOf(code), result }]));
  return { byId, looked: read < bytes ? ids.length : (rows.at(-1)?.[0] ?? ids.length) };
}

type GraphRow = [JobId, number, Uint8Array, Uint8Array, Uint8Array | null];

/** Workflows of the runs, each read once. */
async function readGraphs(db: Connections, open: readonly OpenRun[]): Promise<Map<string, StoredWorkflow>> {
  const wanted = new Map(
    open.map(({ workflow, row: { jobVersion } }) => [keyOf(workflow, jobVersion), { workflow, jobVersion }]),
  );
  const rows = await chunkwise([...wanted.values()], GRAPHS, (some) => {
    const values = [uuids(some, ({ workflow }) => workflow), int4s(some, ({ jobVersion }) => jobVersion)];
    return db.run("read", { name: "read_graphs", text: READ_GRAPHS, values });
  });
  return new Map(
    rows.map((row) => {
      const [workflow, version, graph, definitions, output] = row as GraphRow;
      return [keyOf(workflow, version), { graph, definitions, output }];
    }),
  );
}

type NodeRow = [
  run: ExecutionId,
  id: ExecutionId,
  node: number,
  item: number | null,
  state: number,
  branch: string | null,
  isParked: boolean,
];

async function readNodes(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, NodeExecution[]>> {
  const rows = await chunkwise(ids, RUNS, (some) =>
    db.run("read", { name: "read_nodes", text: READ_NODES, values: [uuids(some, (id) => id)] }),
  );
  const found = new Map<ExecutionId, NodeExecution[]>();
  for (const row of rows) {
    const [run, id, node, item, state, branch, isParked] = row as NodeRow;
    const known = found.get(run);
    const execution = { id, node, item, state: stateOf(state), branch, isParked };
    if (known === undefined) found.set(run, [execution]);
    else known.push(execution);
  }
  for (const executions of found.values())
    executions.sort((a, b) => a.node - b.node || (a.item ?? -1) - (b.item ?? -1));
  return found;
}

export function openRuns(db: Connections, shards: readonly ShardId[], after: DueCursor | null, limit: number) {
  const { dueAt, id } = after ?? START;
  const values = [shardMask(shards), dueAt, id, limit];
  return db.session("read", async (session): Promise<DueCursor[]> => {
    const statement = (await isComplete(session, "executions_open_runs"))
      ? { name: "open_runs", text: OPEN_RUNS, values }
      : { text: OPEN_RUNS_UNINDEXED, values };
    return (await session.run(statement)).map((row) => ({ dueAt: row[0] as number, id: row[1] as string }));
  });
}

type KeyedRow = [id: ExecutionId, shard: ShardId, tenant: string, key: string, limit: number];

/** Every open run of the shards that has a concurrency key. */
export function keyedRuns(db: Connections, shards: readonly ShardId[]): Promise<KeyedRun[]> {
  const values = [shardMask(shards)];
  return db.session("read", async (session) => {
    const isIndexed = await isComplete(session, "executions_open_runs");
    const rows = await session.run(
      isIndexed ? { name: "keyed_runs", text: KEYED_RUNS, values } : { text: KEYED_RUNS_UNINDEXED, values },
    );
    return rows.map((row) => {
      const [id, shard, tenant, concurrencyKey, concurrencyLimit] = row as KeyedRow;
      return { id, shard, tenant, concurrencyKey, concurrencyLimit };
    });
  });
}

async function chunkwise<T>(
  items: readonly T[],
  size: number,
  read: (some: readonly T[]) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let i = 0; i < items.length; i += size) for (const row of await read(items.slice(i, i + size))) found.push(row);
  return found;
}

function keyOf(workflow: JobId, version: number): string {
  return `${workflow}/${version}`;
}
