import type { EpochMs } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import type { Ordering } from "../../domain/rank.ts";
import { allSteps } from "../../domain/workflow/all-steps.ts";
import { Compensation, nodesToCompensate } from "../../domain/workflow/compensation.ts";
import { compensationOf, isCompensation, nodeOfCompensation } from "../../domain/workflow/compensation-number.ts";
import type { NodeWork, StoredNode, StoredWork, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { type KeptNodes, keptCompensations } from "../../domain/workflow/kept-nodes.ts";
import { progressOf, type RunRows } from "../../domain/workflow/map-counts.ts";
import { nodeExecution, type RunOfNode } from "../../domain/workflow/node-execution.ts";
import { RunProgress } from "../../domain/workflow/readiness.ts";
import { INPUT } from "../../ports/references/template.ts";
import { numberOf } from "../../ports/references/template-scan.ts";
import type { NewJob, NewRecurringJob } from "../../ports/store.ts";
import type { NewNode, NewRecurringWorkflow, NewWorkflow } from "../../ports/store-runs.ts";
import { encodingNodes } from "../../domain/workflow/stored-nodes.ts";

/** Nodes that the submit creates. The owner creates the other nodes without parents. */
const ROOTS_MAX = 1_000;

export interface WorkflowParts {
  /** The job of the workflow; its payload is the input of runs. `policy.timeoutMs` is the time for a whole run. */
  job: NewJob | NewRecurringJob;
  graph: WorkflowGraph;
  nodes: readonly WorkflowNode[];
  /** Whether a run that was cancelled is compensated, too. */
  compensatesOnCancel: boolean;
  /** Payloads by number of the node or compensation: JSON texts, or templates; those without one are left out. */
  payloads: ReadonlyMap<number, Uint8Array>;
  /** JSON text or template of the run's result; null: the run has no result. */
  output: Uint8Array | null;
  orderingOf(pool: string): Ordering;
}

/** A workflow as the store takes it. A run that nothing holds back starts at once, with the nodes without parents. */
export function newWorkflow(parts: WorkflowParts): NewWorkflow | NewRecurringWorkflow {
  return allSteps(makingWorkflow(parts));
}

/** Number of roots that one step makes. */
const STEP_ROOTS = 200;

/** Does the same as `newWorkflow` in steps of some milliseconds each. */
export function* makingWorkflow(parts: WorkflowParts): Generator<undefined, NewWorkflow | NewRecurringWorkflow> {
  const { job, graph, nodes, payloads, output, orderingOf } = parts;
  const numbers = new Map(nodes.map(({ name }, number) => [name, number]));
  const stored = nodes.map((node, number) => storedNode(node, number, parts, numbers));
  const definitions = yield* encodingNodes(stored);
  const shared = {
    nodes: nodes.length,
    graph: encodeGraph(graph),
    definitions,
    payloads: [...payloads].map(([node, payload]) => ({ node, payload })),
    output,
  };
  yield;
  if (job.executionId === null) return recurringWorkflow({ ...job, ...shared });
  const beginsWithMap = hasRootMap(nodes);
  if (job.queue === "WAITING" || beginsWithMap || !startsAtOnce(job.definition))
    return { ...job, ...shared, deadline: null, roots: [] };
  const { createdAt, definition } = job;
  const run = { ...job, id: job.executionId, jobVersion: 1, scheduledAt: definition.scheduledAt };
  const roots = yield* makingRoots(run, firstNodes(graph), stored, orderingOf, createdAt);
  const deadline = createdAt + definition.policy.timeoutMs;
  return { ...job, ...shared, queue: "OPEN", deadline, roots };
}

/** Whether a run that is due opens when it is written. A run with a concurrency key, or one that may be too late, is its owner's to open. */
export function startsAtOnce({ concurrencyKey, policy }: Pick<JobDefinition, "concurrencyKey" | "policy">): boolean {
  return concurrencyKey === null && policy.startBefore === null;
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
  { payloads, compensatesOnCancel: onCancel }: WorkflowParts,
  numbers: ReadonlyMap<string, number>,
): StoredNode {
  const bytesOf = (of: number) => payloads.get(of)?.length ?? 0;
  const items = map === undefined ? {} : { items: { from: numberOf(map.from, numbers) ?? INPUT, path: map.path } };
  const stored = { name, ...storedWork(node, bytesOf(number)), ...items };
  if (compensate === undefined) return stored;
  return { ...stored, compensate: { ...storedWork(compensate, bytesOf(compensationOf(number))), onCancel } };
}

function storedWork({ pool, handler, requires, priority, policy }: NodeWork, payloadBytes: number): StoredWork {
  return { pool, handler, requires, priority, policy, payloadBytes };
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
    const root = isCompensation(node) ? nodes[nodeOfCompensation(node)]?.compensate : nodes[node];
    if (root === undefined) continue;
    const row = nodeExecution(run, node, root, orderingOf(root.pool), createdAt);
    roots.push({ row, laneHash: laneHash(row), createdAt });
    if (roots.length % STEP_ROOTS === 0) yield;
  }
  return roots;
}
