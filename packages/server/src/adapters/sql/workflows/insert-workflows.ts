import { RUN_NODE } from "../../../domain/execution.ts";
import type { JobId } from "../../../domain/ids.ts";
import { type ChunkLimit, chunked } from "../../../ports/chunks.ts";
import {
  isWorkflow,
  type NestedGraph,
  type NewNode,
  type NewRecurringWorkflow,
  type NewWorkflow,
  type NodePayload,
} from "../../../ports/store-runs.ts";
import { byteas, float8s, int2s, int4s, int8s, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, RUN_MODE_CODES, STATE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Statement } from "../connection/connections.ts";
import { JOB_COLUMNS, jobColumns } from "../jobs/job-columns.ts";
import { INSERT_JOBS } from "../submit/insert.ts";
import { newNodes, newNodeValues, nodeInsert } from "./new-nodes.ts";

/** Inserts of workflows with their runs. Statements of one workflow belong into one transaction. */

/** Writes the job, the graph, the run and the execution of the run. */
const WORKFLOWS = `
WITH n AS MATERIALIZED (
  SELECT ${JOB_COLUMNS}, unnest($17::uuid[]) AS id, unnest($18::int8[]) AS lane, unnest($19::float8[]) AS rank,
    unnest($20::int8[]) AS deadline, unnest($21::int4[]) AS nodes, unnest($22::bytea[]) AS graph,
    unnest($23::bytea[]) AS definitions, unnest($24::int2[]) AS queue
), j AS (${INSERT_JOBS}), g AS (
  INSERT INTO workflow_graphs (job_id, version, nodes, graph, definitions)
  SELECT job_id, 1, nodes, graph, definitions FROM n
), r AS (
  INSERT INTO workflow_runs (run, shard, revision, mode) SELECT id, shard, 1, ${RUN_MODE_CODES.RUNNING} FROM n
)
INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, started_at,
  concurrency_limit, payload_bytes, shard, state, queue, priority, trigger, has_unique_key, tenant, pool, handler,
  requires, policy, concurrency_key, node)
SELECT id, job_id, lane, rank, coalesce(deadline, scheduled_at), scheduled_at, created_at, created_at,
  CASE WHEN deadline IS NOT NULL THEN created_at END, concurrency_limit, coalesce(octet_length(payload), 0), shard,
  CASE WHEN deadline IS NULL THEN ${STATE_CODES.PENDING} ELSE ${STATE_CODES.RUNNING} END, queue, priority,
  ${TRIGGER_CODES.API}, unique_key IS NOT NULL, tenant, pool, handler, requires, policy, concurrency_key, ${RUN_NODE}
FROM n`;

/** Writes the graphs of workflows that recur, and of sub-workflows. The statement for recurring jobs writes job and plan. */
const GRAPHS = `
  INSERT INTO workflow_graphs (job_id, version, nodes, graph, definitions, of_job)
  SELECT unnest($1::uuid[]), 1, unnest($2::int4[]), unnest($3::bytea[]), unnest($4::bytea[]), unnest($5::uuid[])`;

const PAYLOADS = `
  INSERT INTO workflow_payloads (job_id, version, node, payload)
  SELECT unnest($1::uuid[]), 1, unnest($2::int4[]), unnest($3::bytea[])`;

const ROOTS = `WITH n AS MATERIALIZED (${newNodes(1)}) ${nodeInsert("n.created_at")} FROM n`;

interface OfWorkflow extends NodePayload {
  /** Key of the workflow. */
  workflow: JobId;
}

type GraphRow = Pick<NestedGraph, "id" | "nodes" | "graph" | "definitions"> & {
  /** Job of the workflow that has this one as a sub-workflow; null: the graph is that of a job. */
  ofJob: JobId | null;
};

/**
 * Functions that each create a statement when it is its turn.
 * @param limit largest content of one statement
 */
export function workflowStatements(
  workflows: readonly (NewWorkflow | NewRecurringWorkflow)[],
  limit: ChunkLimit,
): (() => Statement)[] {
  const once = workflows.filter(isWorkflow);
  const recurring = workflows.filter((workflow) => !isWorkflow(workflow));
  const payloads = workflows.flatMap((workflow) => payloadsOf(workflow));
  const roots = once.flatMap((workflow) => workflow.roots);
  const graphs: GraphRow[] = [
    ...recurring.map((workflow) => ({ ...workflow, id: workflow.jobId, ofJob: null })),
    ...workflows.flatMap(({ jobId, nested = [] }) => nested.map((graph) => ({ ...graph, ofJob: jobId }))),
  ];
  return [
    ...chunked(once, limit, weigh).map((pack) => () => workflowStatement(pack)),
    ...chunked(graphs, limit, weighGraph).map((pack) => () => graphStatement(pack)),
    ...chunked(payloads, limit, ({ payload: { length } }) => ({ count: 1, bytes: length })).map(
      (pack) => () => payloadStatement(pack),
    ),
    ...rootStatements(roots, limit),
  ];
}

/** The same for the first executions of a run's nodes. */
export function rootStatements(roots: readonly NewNode[], limit: ChunkLimit): (() => Statement)[] {
  return chunked(roots, limit, () => ({ count: 1, bytes: 0 })).map((pack) => () => ({
    name: "insert_roots",
    text: ROOTS,
    values: newNodeValues(pack),
  }));
}

/** Payloads of nodes, and the output, which has the number of the run's own row. */
function payloadsOf({ jobId, nested = [], ...own }: NewWorkflow | NewRecurringWorkflow): OfWorkflow[] {
  return [{ ...own, id: jobId }, ...nested].flatMap(({ id, payloads, output }) => {
    const all = output === null ? payloads : [...payloads, { node: RUN_NODE, payload: output }];
    return all.map((payload) => ({ ...payload, workflow: id }));
  });
}

/** Bytes that a workflow has beside its payload and labels. */
export function bytesOfWorkflow(workflow: NewWorkflow | NewRecurringWorkflow): number {
  const graphs = [workflow, ...(workflow.nested ?? [])].reduce((sum, graph) => sum + weighGraph(graph).bytes, 0);
  return payloadsOf(workflow).reduce((sum, { payload }) => sum + payload.length, graphs);
}

function weighGraph({ graph, definitions }: Pick<NestedGraph, "graph" | "definitions">): ChunkLimit {
  return { count: 1, bytes: graph.length + definitions.length };
}

function weigh(workflow: NewWorkflow): ChunkLimit {
  return { count: 1, bytes: weighGraph(workflow).bytes + (workflow.payload?.length ?? 0) };
}

function workflowStatement(workflows: readonly NewWorkflow[]): Statement {
  const rows = [...workflows].sort((a, b) => (a.executionId < b.executionId ? -1 : 1));
  return {
    name: "insert_workflows",
    text: WORKFLOWS,
    values: [
      ...jobColumns(rows),
      uuids(rows, (r) => r.executionId),
      int8s(rows, (r) => r.laneHash),
      float8s(rows, (r) => r.rank),
      int8s(rows, (r) => r.deadline),
      int4s(rows, (r) => r.nodes),
      byteas(rows, (r) => r.graph),
      byteas(rows, (r) => r.definitions),
      int2s(rows, (r) => QUEUE_CODES[r.queue]),
    ],
  };
}

function graphStatement(graphs: readonly GraphRow[]): Statement {
  return {
    name: "insert_graphs",
    text: GRAPHS,
    values: [
      uuids(graphs, (g) => g.id),
      int4s(graphs, (g) => g.nodes),
      byteas(graphs, (g) => g.graph),
      byteas(graphs, (g) => g.definitions),
      uuids(graphs, (g) => g.ofJob),
    ],
  };
}

function payloadStatement(payloads: readonly OfWorkflow[]): Statement {
  return {
    name: "insert_node_payloads",
    text: PAYLOADS,
    values: [uuids(payloads, (p) => p.workflow), int4s(payloads, (p) => p.node), byteas(payloads, (p) => p.payload)],
  };
}
