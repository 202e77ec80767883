import { DEFAULT_TENANT, type EpochMs, firstExecutionId, type JobId } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import { type Ordering, rankOf } from "../../domain/rank.ts";
import type { StoredNode, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { type KeptNodes, keptOutcomes } from "../../domain/workflow/kept-nodes.ts";
import { nodeExecution, type RunOfNode } from "../../domain/workflow/node-execution.ts";
import { RunProgress } from "../../domain/workflow/readiness.ts";
import type { NewNode, NewWorkflow } from "../../ports/store-runs.ts";
import { encodingNodes } from "../../ports/stored-nodes.ts";
import { shardOfJob } from "../submit/new-job.ts";

/** Nodes that the submit creates. The owner creates the other nodes without parents. */
const ROOTS_MAX = 1_000;

export interface WorkflowParts {
  definition: JobDefinition;
  jobId: JobId;
  graph: WorkflowGraph;
  nodes: readonly WorkflowNode[];
  /** JSON text; null: none. */
  input: Uint8Array | null;
  /** Payloads by number of the node: JSON texts, or templates; nodes without one are left out. */
  payloads: ReadonlyMap<number, Uint8Array>;
  /** JSON text or template of the run's result; null: the run has no result. */
  output: Uint8Array | null;
  /** Time by which the run must be final. */
  deadline: EpochMs;
  createdAt: EpochMs;
  orderingOf(pool: string): Ordering;
}

/** A workflow as the store takes it: its run, which starts at once, and the nodes without parents. */
export function newWorkflow(parts: WorkflowParts): NewWorkflow {
  const steps = makingWorkflow(parts);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Number of roots that one step makes. */
const STEP_ROOTS = 200;

/** Does the same as `newWorkflow` in steps of some milliseconds each. */
export function* makingWorkflow(parts: WorkflowParts): Generator<undefined, NewWorkflow> {
  const { definition, jobId, graph, nodes, input, payloads, output, deadline, createdAt, orderingOf } = parts;
  const { pool, handler, requires, concurrencyKey } = definition;
  const tenant = DEFAULT_TENANT;
  const { scheduledAt } = definition;
  const run = { id: firstExecutionId(jobId), shard: shardOfJob(definition, jobId), tenant, jobVersion: 1, scheduledAt };
  const stored = nodes.map((node, number) => storedNode(node, payloads.get(number)?.length ?? 0));
  const definitions = yield* encodingNodes(stored);
  const encoded = encodeGraph(graph);
  yield;
  const roots = yield* makingRoots(run, firstNodes(graph), stored, orderingOf, createdAt);
  return {
    jobId,
    executionId: run.id,
    tenant,
    shard: run.shard,
    definition,
    rank: rankOf(orderingOf(pool), scheduledAt, definition.priority),
    laneHash: laneHash({ pool, tenant, handler, requires, concurrencyKey }),
    queue: "OPEN",
    payload: input,
    createdAt,
    deadline,
    nodes: nodes.length,
    graph: encoded,
    definitions,
    payloads: [...payloads].map(([node, payload]) => ({ node, payload })),
    output,
    roots,
  };
}

function storedNode(
  { name, pool, handler, requires, priority, policy }: WorkflowNode,
  payloadBytes: number,
): StoredNode {
  return { name, pool, handler, requires, priority, policy, payloadBytes };
}

/** Nodes whose executions a new run begins with. @param kept nodes that the run keeps from earlier runs */
export function firstNodes(graph: WorkflowGraph, kept: readonly KeptNodes[] = []): number[] {
  return RunProgress.of(graph, keptOutcomes(kept), [], "RUNNING").takeReady(ROOTS_MAX);
}

/** Makes the first executions of a run's nodes in steps of some milliseconds each. */
export function* makingRoots(
  run: RunOfNode,
  first: readonly number[],
  nodes: readonly StoredNode[],
  orderingOf: (pool: string) => Ordering,
  createdAt: EpochMs,
): Generator<undefined, NewNode[]> {
  const roots: NewNode[] = [];
  for (const node of first) {
    const root = nodes[node] as StoredNode;
    const row = nodeExecution(run, node, root, orderingOf(root.pool), createdAt);
    roots.push({ row, laneHash: laneHash(row), createdAt });
    if (roots.length % STEP_ROOTS === 0) yield;
  }
  return roots;
}
