import { type ExecutionError, type ExecutionState, RUN_NODE } from "../../../domain/execution.ts";
import type { ExecutionId, JobId } from "../../../domain/ids.ts";
import type { Listing, Page } from "../../../ports/store-queries.ts";
import type { NodeFilter, NodeSummary, RunFilter, RunSummary, RunView } from "../../../ports/store-runs.ts";
import { runModeOf, STATE_CODES, stateOf } from "../connection/codes.ts";
import type { Connections, Row } from "../connection/connections.ts";
import { Conditions, listing } from "../connection/query.ts";
import { SUMMARY_COLUMNS, SUMMARY_LENGTH, summaryFrom } from "../executions/execution-rows.ts";
import { FIRST_ID, hasOwnIndex, LAST_ID, LOOKED_AT, ofTenant, walked } from "../executions/list-walk.ts";
import { isLater } from "../executions/of-job.ts";
import { payloadOfNode } from "../jobs/job-payloads.ts";
import { uuidFloor } from "../schema/partitions.ts";
import { isChildRun } from "./kinds-of-rows.ts";
import { readParts } from "./parts.ts";
import { KEPT, keptFrom, mapCountsFrom, outcomeFrom } from "./retry-run.ts";

/** Reads of runs of workflows for the api. */

/** The id of a run and its creation time denote the same moment, but by different clocks. */
const ID_SLACK_MS = 3_600_000;

/** Columns of a run's summary. Each row that belongs to the run's is found by its key. */
const RUN_COLUMNS = `${SUMMARY_COLUMNS}, w.mode, w.paused, w.outcome, w.revision, j.name, j.labels, (
  SELECT g.nodes FROM workflow_graphs g WHERE g.job_id = coalesce(w.workflow, e.job_id) AND g.version = e.job_version
), e.node, e.item`;
const EXECUTION = "LATERAL (SELECT x.* FROM executions x WHERE x.id = w.run OFFSET 0) e";
const JOB = "LATERAL (SELECT x.* FROM jobs x WHERE x.id = e.job_id OFFSET 0) j";
const RUN_TABLES = `${EXECUTION}, ${JOB}`;
/** The same with the runs of sub-workflows, which have no job of their own. */
const ALL_RUN_TABLES = `${EXECUTION} LEFT JOIN ${JOB} ON true`;
const RUN_LENGTH = SUMMARY_LENGTH + 9;

type RunRow = [
  mode: number,
  paused: boolean,
  outcome: string | null,
  revision: number,
  name: string | null,
  labels: string | null,
  nodes: number | null,
  node: number,
  item: number | null,
];

/** Largest number of retries that a run names. */
const RETRIES = 20;

const SHOWN = { itemOf: runFrom, idOf: (item: RunSummary) => item.executionId };

/** See StoreQueries.listRuns. A page examines a bounded number of the newest runs. */
export function listRuns(db: Connections, tenant: string, filter: RunFilter, page: Page): Promise<Listing<RunSummary>> {
  const { state, name, parent, since, until } = filter;
  if (parent !== undefined) return listChildren(db, tenant, { ...filter, parent }, page);
  const end = until === undefined ? LAST_ID : uuidFloor(until + ID_SLACK_MS);
  const from = since === undefined ? FIRST_ID : uuidFloor(since - ID_SLACK_MS);
  const before = page.after !== null && page.after < end ? page.after : end;
  return db.session("list", async (session) => {
    const [last] = hasOwnIndex(tenant)
      ? await session.run({ text: LAST_OF_TENANT, values: [from, before, tenant] })
      : await session.run({ text: LAST_LOOKED_AT, values: [from, before] });
    const looked = { from: (last?.[0] as string | undefined) ?? from, until: before, rest: last !== undefined };
    const where = new Conditions().add("w.run >= ?", looked.from).add("w.run < ?", looked.until);
    ofTenant(where, "e", tenant);
    if (state !== undefined) where.fixed(`e.state = ${STATE_CODES[state]}`);
    if (name !== undefined) where.add("j.name = ?", name);
    if (since !== undefined) where.add("e.created_at >= ?", since);
    if (until !== undefined) where.add("e.created_at < ?", until);
    const text = `SELECT ${RUN_COLUMNS} FROM workflow_runs w, ${RUN_TABLES} WHERE ${where.text}
      ORDER BY w.run DESC LIMIT ${page.limit + 1}`;
    return walked(await session.run({ text, values: where.values }), looked, page.limit, SHOWN);
  });
}

/** Runs of the sub-workflows of a run: by the index of its nodes. */
async function listChildren(
  db: Connections,
  tenant: string,
  { parent, state, since, until }: RunFilter & { parent: ExecutionId },
  { after, limit }: Page,
): Promise<Listing<RunSummary>> {
  const where = new Conditions().add("e.job_id = ?", parent).add("e.tenant = ?", tenant);
  where.fixed(isLater("e")).fixed(isChildRun("e")).fixed("w.run = e.id");
  if (state !== undefined) where.fixed(`e.state = ${STATE_CODES[state]}`);
  if (since !== undefined) where.add("e.created_at >= ?", since);
  if (until !== undefined) where.add("e.created_at < ?", until);
  if (after !== null) where.add("e.id < ?", after);
  const text = `SELECT ${RUN_COLUMNS} FROM executions e JOIN workflow_runs w ON true LEFT JOIN ${JOB} ON true
    WHERE ${where.text} ORDER BY e.id DESC LIMIT ${limit + 1}`;
  const rows = await db.run("list", { text, values: where.values });
  return listing(rows.map(runFrom), limit, (item) => item.executionId);
}

const LAST_LOOKED_AT = `SELECT w.run FROM workflow_runs w WHERE w.run >= $1 AND w.run < $2
  ORDER BY w.run DESC OFFSET ${LOOKED_AT - 1} LIMIT 1`;

/** The same among the runs of a tenant, by the index of its executions. */
const LAST_OF_TENANT = `SELECT e.id FROM executions e WHERE e.id >= $1 AND e.id < $2 AND e.tenant = $3 AND e.tenant <> 'default'
  AND e.node = ${RUN_NODE} ORDER BY e.id DESC OFFSET ${LOOKED_AT - 1} LIMIT 1`;

const GET_RUN = `
  SELECT ${RUN_COLUMNS}, g.job_id, g.graph, g.definitions,
    CASE WHEN e.node >= 0 THEN ${payloadOfNode("e")} ELSE j.payload END, e.result, e.error, ${KEPT}, w.map_counts,
    to_json(ARRAY(SELECT r.run FROM workflow_runs r WHERE r.retry_of = w.run ORDER BY r.run DESC LIMIT ${RETRIES}))::text
  FROM workflow_runs w, ${ALL_RUN_TABLES},
    LATERAL (SELECT x.* FROM workflow_graphs x WHERE x.job_id = coalesce(w.workflow, e.job_id) AND x.version = e.job_version OFFSET 0) g
  WHERE w.run = $1 AND e.tenant = $2`;

const COUNT_NODES = `
  SELECT e.state, count(*)::int4 FROM executions e WHERE e.job_id = $1 AND ${isLater("e")} GROUP BY e.state`;

type DetailRow = [
  workflow: JobId,
  graph: Uint8Array,
  definitions: Uint8Array,
  payload: Uint8Array | null,
  result: Uint8Array | null,
  error: string | null,
  kept: string | null,
  mapCounts: string | null,
  retriedBy: string,
];

/** See StoreQueries.getRun. */
export async function getRun(db: Connections, tenant: string, id: ExecutionId): Promise<RunView | null> {
  const [row] = await db.run("query", { text: GET_RUN, values: [id, tenant] });
  if (row === undefined) return null;
  const counted = await db.run("query", { text: COUNT_NODES, values: [id] });
  const parts = await readParts(db, "query", [id]);
  const [workflow, graph, definitions, payload, result, error, kept, mapCounts, retriedBy] = row.slice(
    RUN_LENGTH,
  ) as DetailRow;
  return {
    ...runFrom(row),
    revision: (row.slice(SUMMARY_LENGTH) as RunRow)[3],
    ...{ workflow, graph, definitions, payload, result, error: errorFrom(error), kept: keptFrom(kept) },
    mapCounts: mapCountsFrom(mapCounts),
    parts: parts.get(id) ?? [],
    retriedBy: JSON.parse(retriedBy) as ExecutionId[],
    counts: Object.fromEntries(counted.map(([state, count]) => [stateOf(state as number), count])),
  };
}

/** Order of nodes in a list. */
const PLACE = `e.node, coalesce(e.item, ${RUN_NODE}), e.id`;

/** See StoreQueries.listNodes. Each page reads the rows of the whole run by the index of its nodes. */
export async function listNodes(
  db: Connections,
  tenant: string,
  run: ExecutionId,
  { state, node, withoutItems = false }: NodeFilter,
  { after, limit }: Page,
): Promise<Listing<NodeSummary>> {
  const where = new Conditions().add("e.job_id = ?", run).add("e.tenant = ?", tenant).fixed(isLater("e"));
  if (state !== undefined) where.fixed(`e.state = ${STATE_CODES[state as ExecutionState]}`);
  if (node !== undefined) where.add("e.node = ?", node);
  if (withoutItems) where.fixed("e.item IS NULL");
  if (after !== null) where.add(`(${PLACE}) > (SELECT ${PLACE} FROM executions e WHERE e.id = ?)`, after);
  const text = `SELECT ${SUMMARY_COLUMNS}, e.error, e.node, e.item, e.branch FROM executions e WHERE ${where.text}
    ORDER BY ${PLACE} LIMIT ${limit + 1}`;
  const rows = await db.run("list", { text, values: where.values });
  return listing(rows.map(nodeFrom), limit, (item) => item.executionId);
}

function nodeFrom(row: Row): NodeSummary {
  const [error, node, item, branch] = row.slice(SUMMARY_LENGTH) as [
    string | null,
    number,
    number | null,
    string | null,
  ];
  const summary = summaryFrom(row);
  return { ...summary, error: errorFrom(error), ofRun: { run: summary.jobId, node, item, branch } };
}

function runFrom(row: Row): RunSummary {
  const [mode, paused, outcome, , name, labels, nodes, node, item] = row.slice(SUMMARY_LENGTH) as RunRow;
  const summary = summaryFrom(row);
  const parent = node === RUN_NODE ? null : { run: summary.jobId, node, item };
  const named = labels === null ? {} : (JSON.parse(labels) as Record<string, string>);
  const run = { mode: runModeOf(mode), paused, outcome: outcomeFrom(outcome) };
  return { ...summary, name, labels: named, nodes: nodes ?? 0, ...run, parent };
}

function errorFrom(text: string | null): ExecutionError | null {
  return text === null ? null : (JSON.parse(text) as ExecutionError);
}
