import type { Workflow, WorkflowGraphBody, WorkflowNode, WorkflowSummary } from "@mainspring/contract";
import { EXECUTION_STATES, NODE_STATES, type NodeState } from "@mainspring/contract/enums";
import { type ExecutionState, isFinal } from "../../domain/execution.ts";
import { conditionOfEdge, edgesOf, nodeOfEdge } from "../../domain/workflow/adjacency.ts";
import { conditionOf } from "../../domain/workflow/conditions.ts";
import { keptItems } from "../../domain/workflow/kept-nodes.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { RunSummary } from "../../ports/store-runs.ts";
import { rawOrNull } from "../http/body/raw-json.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import { type RunPicture, stateOfNode } from "./run-picture.ts";

/** Forms in which clients get workflows. */

const FAILED_MAX = 20;
const NAMES_MAX = 20;

export function workflowSummary(run: RunSummary): WorkflowSummary {
  const { executionId, jobId, tenant, name, labels, priority, state, reason, nodes } = run;
  return {
    ...{ workflowId: executionId, jobId, tenant, name, labels: { ...labels }, priority, state, reason, nodes },
    ...modeOf(run),
    createdAt: formatInstant(run.createdAt),
    scheduledAt: formatInstant(run.scheduledAt),
    startedAt: formatInstantOrNull(run.startedAt),
    finishedAt: formatInstantOrNull(run.finishedAt),
    deadline: run.startedAt === null ? null : formatInstant(run.dueAt),
    retryOf: run.retryOf,
  };
}

/** Mode of a run, and whether it is paused: both of one that has started and is not final. */
export function modeOf({ state, mode, paused, startedAt }: RunSummary): Pick<WorkflowSummary, "mode" | "paused"> {
  return isFinal(state) || startedAt === null ? { mode: null, paused: false } : { mode, paused };
}

export function workflowBody(picture: RunPicture): Workflow {
  const { run, graph } = picture;
  return {
    ...workflowSummary(run),
    onFailure: graph.onFailure,
    input: rawOrNull(run.payload),
    result: rawOrNull(run.result),
    error: run.error,
    counts: countsOf(picture),
    failed: failedOf(picture),
    retriedBy: [...run.retriedBy],
  };
}

function countsOf(picture: RunPicture): Workflow["counts"] {
  const counts = Object.fromEntries(NODE_STATES.map((state) => [state, 0])) as Record<NodeState, number>;
  for (let node = 0; node < picture.graph.nodeCount; node++) counts[stateOfNode(picture, node)]++;
  return counts;
}

function failedOf({ nodes, executions }: RunPicture): Workflow["failed"] {
  const dead = [...executions.values()].filter(({ state }) => state === "DEAD").slice(0, FAILED_MAX);
  return dead.map(({ executionId, ofRun, attempt, reason, error, finishedAt }) => ({
    ...{ name: nodes[ofRun.node]?.name ?? "", executionId, attempt, reason, error },
    finishedAt: formatInstantOrNull(finishedAt),
  }));
}

export function workflowNode(picture: RunPicture, node: number): WorkflowNode {
  const { name = "", handler = "", pool = "" } = picture.nodes[node] ?? {};
  const row = picture.executions.get(node);
  return {
    ...{ name, state: stateOfNode(picture, node), executionId: row?.executionId ?? null, handler, pool },
    keptFrom: keptFrom(picture, node),
    ...{ reason: row?.reason ?? null, attempt: row?.attempt ?? 0, branch: branchOf(picture, node) },
    ...{ error: row?.error ?? null, assignedWorker: row?.workerId ?? null },
    createdAt: formatInstantOrNull(row?.createdAt ?? null),
    startedAt: formatInstantOrNull(row?.startedAt ?? null),
    finishedAt: formatInstantOrNull(row?.finishedAt ?? null),
    blockedBy: blockedBy(picture, node),
    because: because(picture, node),
    items: itemsOf(picture, node),
    ...mapFailure(picture, node),
  };
}

/** Items of a map by state; null: the node is no map. */
function itemsOf({ graph, run, items }: RunPicture, node: number): WorkflowNode["items"] {
  if (!graph.isMap(node)) return null;
  const counts = Object.fromEntries(EXECUTION_STATES.map((state) => [state, 0])) as Record<ExecutionState, number>;
  for (const states of items) if (states.node === node) counts[states.state] = states.items.length;
  const total = run.mapCounts.find((count) => count.node === node)?.items;
  const kept = [...keptItems(run.kept, node)].length;
  return { total: typeof total === "number" ? total : null, kept, ...counts };
}

/** Reason and error of a map whose items cannot be counted. */
function mapFailure({ run }: RunPicture, node: number): Partial<WorkflowNode> {
  const counted = run.mapCounts.find((count) => count.node === node)?.items;
  return typeof counted === "object" ? { reason: counted.reason, error: counted.error } : {};
}

/** Execution of an earlier run that counts for a node; null: the run does not keep the node. */
export function keptFrom({ kept, graph }: RunPicture, node: number): WorkflowNode["keptFrom"] {
  const workflowId = kept.get(node)?.run;
  if (workflowId === undefined) return null;
  return { workflowId, executionId: graph.isMap(node) ? null : nodeExecutionId(workflowId, node, null, 0) };
}

function branchOf({ executions, kept }: RunPicture, node: number): string | null {
  return executions.get(node)?.ofRun.branch ?? kept.get(node)?.branch ?? null;
}

/** Open parents of a BLOCKED node; null: the node is not BLOCKED. */
export function blockedBy(picture: RunPicture, node: number): WorkflowNode["blockedBy"] {
  const { progress, nodes } = picture;
  if (stateOfNode(picture, node) !== "BLOCKED") return null;
  const open = progress.openParents(node);
  return { open: open.length, first: firstNames({ nodes }, open) };
}

/** Names of the first 20 of some nodes. */
export function firstNames({ nodes }: Pick<RunPicture, "nodes">, numbers: readonly number[]): string[] {
  return numbers.slice(0, NAMES_MAX).map((node) => nodes[node]?.name ?? "");
}

/** Cause why a node is SKIPPED without an execution; null: it is not. */
export function because(picture: RunPicture, node: number): WorkflowNode["because"] {
  const cause = picture.progress.whySkipped(node);
  if (cause === null) return null;
  if (cause.kind !== "DEAD_EDGES") return { kind: cause.kind, dependencies: [] };
  const dependencies = cause.edges.slice(0, NAMES_MAX).map(({ parent, when }) => ({
    node: picture.nodes[parent]?.name ?? "",
    when,
    state: stateOfNode(picture, parent),
  }));
  return { kind: "DEPENDENCIES", dependencies };
}

/** A node of the graph, with its dependencies. */
export function graphNode(picture: RunPicture, node: number): WorkflowGraphBody["nodes"][number] {
  const { graph, nodes } = picture;
  const { name = "", handler = "", pool = "" } = nodes[node] ?? {};
  const dependsOn = Array.from(edgesOf(graph.parents, node), (edge) => ({
    node: nodes[nodeOfEdge(edge)]?.name ?? "",
    when: conditionOf(conditionOfEdge(edge), graph.branches),
  }));
  const join = graph.isAny(node) ? "ANY" : "ALL";
  const state = stateOfNode(picture, node);
  const from = keptFrom(picture, node);
  return { name, handler, pool, state, keptFrom: from, join, allowFailure: graph.allowsFailure(node), dependsOn };
}
