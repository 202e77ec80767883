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
import { type KeptNodes, keptCompensations, keptOutcomes } from "../../domain/workflow/kept-nodes.ts";
import { nodeExecution, type RunOfNode } from "../../domain/workflow/node-execution.ts";
import { RunProgress } from "../../domain/workflow/readiness.ts";
import type { NewJob, NewRecurringJob } from "../../ports/store.ts";
import type { NewNode, NewRecurringWorkflow, NewWorkflow } from "../../ports/store-runs.ts";
import { encodingNodes } from "../../ports/stored-nodes.ts";

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
  const stored = nodes.map((node, number) => storedNode(node, number, parts));
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
  if (job.queue === "WAITING" || !startsAtOnce(job.definition)) return { ...job, ...shared, deadline: null, roots: [] };
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

function recurringWorkflow(workflow: NewRecurringWorkflow): NewRecurringWorkflow {
  const { definition } = workflow;
  const { recurrence } = definition;
  if (recurrence === null) return workflow;
  return { ...workflow, definition: { ...definition, recurrence: { ...recurrence, startsWorkflow: true } } };
}

function storedNode(
  { name, compensate, ...node }: WorkflowNode,
  number: number,
  { payloads, compensatesOnCancel: onCancel }: WorkflowParts,
): StoredNode {
  const bytesOf = (of: number) => payloads.get(of)?.length ?? 0;
  const stored = { name, ...storedWork(node, bytesOf(number)) };
  if (compensate === undefined) return stored;
  return { ...stored, compensate: { ...storedWork(compensate, bytesOf(compensationOf(number))), onCancel } };
}

function storedWork({ pool, handler, requires, priority, policy }: NodeWork, payloadBytes: number): StoredWork {
  return { pool, handler, requires, priority, policy, payloadBytes };
}

/** Nodes whose executions a new run begins with. @param kept nodes that the run keeps from earlier runs */
export function firstNodes(graph: WorkflowGraph, kept: readonly KeptNodes[] = []): number[] {
  return RunProgress.of(graph, keptOutcomes(kept), [], "RUNNING").takeReady(ROOTS_MAX);
}

/** Compensations with which a run begins that goes on with the compensation of an earlier one: their numbers. */
export function firstCompensations({ graph, nodes, progress }: Undone, kept: readonly KeptNodes[]): number[] {
  const ended = Array.from(keptCompensations(kept), (node) => [node, true] as const);
  const compensation = Compensation.of(graph, nodesToCompensate(progress, nodes), ended, []);
  return compensation.takeReady(ROOTS_MAX).map(compensationOf);
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
