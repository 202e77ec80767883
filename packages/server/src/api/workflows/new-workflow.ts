import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { EpochMs, JobId } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import type { Ordering } from "../../domain/rank.ts";
import { allSteps } from "../../domain/workflow/all-steps.ts";
import { Compensation, nodesToCompensate } from "../../domain/workflow/compensation.ts";
import { compensationOf, workOf } from "../../domain/workflow/compensation-number.ts";
import type { NodeWork, StoredNode, StoredWork, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { type KeptNodes, keptCompensations } from "../../domain/workflow/kept-nodes.ts";
import { progressOf, type RunRows } from "../../domain/workflow/map-counts.ts";
import { nodeExecution, type RunOfNode } from "../../domain/workflow/node-execution.ts";
import { subWorkflowId } from "../../domain/workflow/node-id.ts";
import { RunProgress } from "../../domain/workflow/readiness.ts";
import { encodingNodes } from "../../domain/workflow/stored-nodes.ts";
import { INPUT } from "../../ports/references/template.ts";
import { numberOf } from "../../ports/references/template-scan.ts";
import type { NewJob, NewRecurringJob } from "../../ports/store.ts";
import type { NestedGraph, NewNode, NewRecurringWorkflow, NewWorkflow } from "../../ports/store-runs.ts";

/** Nodes that the submit creates. The owner creates the other nodes without parents. */
const ROOTS_MAX = 1_000;

export interface WorkflowParts extends GraphParts {
  /** The job of the workflow; its payload is the input of runs. `policy.timeoutMs` is the time for a whole run. */
  job: NewJob | NewRecurringJob;
  orderingOf(pool: string): Ordering;
}

/** A workflow or sub-workflow without the job. */
export interface GraphParts {
  graph: WorkflowGraph;
  nodes: readonly WorkflowNode[];
  /** Sub-workflows by number of the node; left out: there are none. */
  nested?: ReadonlyMap<number, GraphParts>;
  /** Whether a run that was cancelled is compensated, too. */
  compensatesOnCancel: boolean;
  /** Payloads by number of the node or compensation: JSON texts, or templates; those without one are left out. */
  payloads: ReadonlyMap<number, Uint8Array>;
  /** JSON text or template of the run's result; null: the run has no result. */
  output: Uint8Array | null;
}

/** A workflow as the store takes it. A run that nothing holds back starts at once, with the nodes without parents. */
export function newWorkflow(parts: WorkflowParts): NewWorkflow | NewRecurringWorkflow {
  return allSteps(makingWorkflow(parts));
}

/** Number of roots that one step makes. */
const STEP_ROOTS = 200;

/** Does the same as `newWorkflow` in steps of some milliseconds each. */
export function* makingWorkflow(parts: WorkflowParts): Generator<undefined, NewWorkflow | NewRecurringWorkflow> {
  const { job, graph, nodes, orderingOf } = parts;
  const stored = storedNodes(job.jobId, parts);
  const nested = yield* makingNested(job.jobId, parts);
  const shared = { ...(yield* makingGraph(stored, parts)), ...(nested.length > 0 && { nested }) };
  if (job.executionId === null) return recurringWorkflow({ ...job, ...shared });
  const first = firstNodes(graph);
  const starts = startsAtOnce(
    job.definition,
    first.map((node) => stored[node]),
  );
  const isOpen = job.queue !== "WAITING" && starts && !hasRootMap(nodes);
  if (!isOpen) return { ...job, ...shared, deadline: null, roots: [] };
  const { createdAt, definition } = job;
  const { traceparent } = definition.policy;
  const run = { ...job, id: job.executionId, jobVersion: 1, scheduledAt: definition.scheduledAt, traceparent };
  const roots = yield* makingRoots(run, first, stored, orderingOf, createdAt);
  const deadline = createdAt + definition.policy.timeoutMs;
  return { ...job, ...shared, queue: "OPEN", deadline, roots };
}

function* makingGraph(
  stored: readonly StoredNode[],
  { graph, payloads, output }: GraphParts,
): Generator<undefined, Shared> {
  const definitions = yield* encodingNodes(stored);
  const shared = {
    nodes: stored.length,
    graph: encodeGraph(graph),
    definitions,
    payloads: [...payloads].map(([node, payload]) => ({ node, payload })),
    output,
  };
  yield;
  return shared;
}

type Shared = Omit<NestedGraph, "id">;

/** Sub-workflows of a workflow, those at all levels. @param of job of the workflow, or id of the sub-workflow */
function* makingNested(of: JobId, { nested }: GraphParts): Generator<undefined, NestedGraph[]> {
  const all: NestedGraph[] = [];
  for (const [node, parts] of nested ?? []) {
    const id = subWorkflowId(of, node);
    all.push({ id, ...(yield* makingGraph(storedNodes(id, parts), parts)) });
    for (const inner of yield* makingNested(id, parts)) all.push(inner);
  }
  return all;
}

/** @param of job of the workflow, or id of the sub-workflow */
function storedNodes(of: JobId, parts: GraphParts): StoredNode[] {
  const numbers = new Map(parts.nodes.map(({ name }, number) => [name, number]));
  return parts.nodes.map((node, number) => {
    const stored = storedNode(node, number, parts, numbers);
    return node.handler === SUB_WORKFLOW_HANDLER ? { ...stored, workflow: subWorkflowId(of, number) } : stored;
  });
}

/**
 * Whether a run that is due opens when it is written. A run with a concurrency key, or one that may be too late, is its owner's to
 * open. So is one whose first nodes, or compensations, have concurrency keys: their executions do not lead the owner to the run and its deadline.
 * And only an owner creates the run of a sub-workflow.
 * @param first the nodes without open parents, or the first compensations
 */
export function startsAtOnce(
  { concurrencyKey, policy }: Pick<JobDefinition, "concurrencyKey" | "policy">,
  first: readonly (Pick<NodeWork, "concurrencyKey" | "handler"> | undefined)[],
): boolean {
  const isOfOwner = first.some((node) => node?.concurrencyKey !== undefined || node?.handler === SUB_WORKFLOW_HANDLER);
  return concurrencyKey === null && policy.startBefore === null && !isOfOwner;
}

/** Whether a run begins with a map. Its owner opens the run, because only the owner counts items. */
export function hasRootMap(nodes: readonly Pick<WorkflowNode, "dependsOn" | "map">[]): boolean {
  return nodes.some(({ dependsOn, map }) => map !== undefined && dependsOn.length === 0);
}

function recurringWorkflow(workflow: NewRecurringWorkflow): NewRecurringWorkflow {
  const { definition } = workflow;
  const { recurrence } = definition;
  if (recurrence === null) return workflow;
  return { ...workflow, definition: { ...definition, recurrence: { ...recurrence, startsWorkflow: true } } };
}

function storedNode(
  { name, compensate, map, ...node }: WorkflowNode,
  number: number,
  { payloads, compensatesOnCancel: onCancel }: GraphParts,
  numbers: ReadonlyMap<string, number>,
): StoredNode {
  const bytesOf = (of: number) => payloads.get(of)?.length ?? 0;
  const items = map === undefined ? {} : { items: { from: numberOf(map.from, numbers) ?? INPUT, path: map.path } };
  const stored = { name, ...storedWork(node, bytesOf(number)), ...items };
  if (compensate === undefined) return stored;
  return { ...stored, compensate: { ...storedWork(compensate, bytesOf(compensationOf(number))), onCancel } };
}

function storedWork(work: NodeWork, payloadBytes: number): StoredWork {
  const { pool, handler, requires, priority, policy, concurrencyKey, concurrencyLimit } = work;
  const key = concurrencyKey !== undefined && { concurrencyKey };
  const limit = concurrencyLimit !== undefined && { concurrencyLimit };
  return { pool, handler, requires, priority, policy, ...key, ...limit, payloadBytes };
}

/** Nodes whose executions a new run begins with. */
function firstNodes(graph: WorkflowGraph): number[] {
  return RunProgress.of(graph, [], [], "RUNNING").takeReady(ROOTS_MAX);
}

/** Beginning of a run that keeps parts of earlier runs. */
export interface Beginning {
  /** Nodes, or compensations, whose executions the run begins with. */
  first: number[];
  /** Whether maps may start, for which the owner opens the run. */
  hasMaps: boolean;
  /** Whether nothing would run. */
  isOver: boolean;
}

/** @param kept parts that the run keeps from earlier runs */
export function beginningOf(graph: WorkflowGraph, kept: Pick<RunRows, "kept" | "mapCounts">): Beginning {
  const progress = progressOf(graph, { ...kept, executions: [], items: [] }, "RUNNING");
  const { isOver } = progress;
  const hasMaps = progress.uncounted.size + progress.takeItems(1).length > 0;
  return { first: progress.takeReady(ROOTS_MAX), hasMaps, isOver };
}

/** Beginning of a run that goes on with the compensation of an earlier one: numbers of compensations. */
export function beginningOfCompensation({ graph, nodes, progress }: Undone, kept: readonly KeptNodes[]): Beginning {
  const ended = Array.from(keptCompensations(kept), (node) => [node, true] as const);
  const compensation = Compensation.of(graph, nodesToCompensate(progress, nodes), ended, []);
  const first = compensation.takeReady(ROOTS_MAX).map(compensationOf);
  return { first, hasMaps: false, isOver: first.length === 0 };
}

interface Undone {
  graph: WorkflowGraph;
  nodes: readonly StoredNode[];
  progress: RunProgress;
}

/**
 * Makes the first executions of a run in steps of some milliseconds each.
 * @param first numbers of nodes or compensations
 */
export function* makingRoots(
  run: RunOfNode,
  first: readonly number[],
  nodes: readonly StoredNode[],
  orderingOf: (pool: string) => Ordering,
  createdAt: EpochMs,
): Generator<undefined, NewNode[]> {
  const roots: NewNode[] = [];
  for (const node of first) {
    const root = workOf(nodes, node);
    if (root === undefined) continue;
    const row = nodeExecution(run, node, root, orderingOf(root.pool), createdAt);
    roots.push({ row, laneHash: laneHash(row), createdAt });
    if (roots.length % STEP_ROOTS === 0) yield;
  }
  return roots;
}
