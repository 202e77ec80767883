import type { FailedNode, Workflow, WorkflowGraphBody, WorkflowNode, WorkflowSummary } from "@mainspring/contract";
import { EXECUTION_STATES, NODE_STATES, type NodeState } from "@mainspring/contract/enums";
import { type ExecutionState, isFinal } from "../../domain/execution.ts";
import { shownPool } from "../../domain/pool.ts";
import { conditionOfEdge, edgesOf, nodeOfEdge } from "../../domain/workflow/adjacency.ts";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import { conditionOf } from "../../domain/workflow/conditions.ts";
import { keptItems } from "../../domain/workflow/kept-nodes.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { submittedText } from "../../ports/references/template.ts";
import type { NodeSummary, RunSummary } from "../../ports/store-runs.ts";
import { workerShownTo } from "../../security/tenant.ts";
import { rawOrNull } from "../http/body/raw-json.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import { type RunPicture, shownMode, stateOfCompensation, stateOfNode } from "./run-picture.ts";

/** Forms in which clients get workflows. */

const FAILED_MAX = 20;
const NAMES_MAX = 20;

/** @param parentNode name of the node whose sub-workflow the run is; null: the run is that of a job, or the name is not known */
export function workflowSummary(run: RunSummary, parentNode: string | null): WorkflowSummary {
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
    parent: run.parent && { workflowId: run.parent.run, node: parentNode ?? "", item: run.parent.item },
  };
}

/** Mode of a run, and whether it is paused: both of one that has started and is not final. */
export function modeOf(run: RunSummary): Pick<WorkflowSummary, "mode" | "paused"> {
  const isUnderWay = !isFinal(run.state) && run.startedAt !== null;
  return isUnderWay ? { mode: shownMode(run), paused: run.paused } : { mode: null, paused: false };
}

export function workflowBody(picture: RunPicture): Workflow {
  const { run, graph } = picture;
  return {
    ...workflowSummary(run, picture.parentNode),
    nodes: graph.order.length,
    onFailure: graph.onFailure,
    compensate: compensationPolicyOf(picture),
    input: rawOrNull(run.payload === null ? null : submittedText(run.payload)),
    result: rawOrNull(run.result),
    error: run.error,
    counts: countsOf(picture),
    failed: failedNodes(picture),
    failedCompensations: failedCompensations(picture),
    retriedBy: [...run.retriedBy],
  };
}

function countsOf(picture: RunPicture): Workflow["counts"] {
  const counts = Object.fromEntries(NODE_STATES.map((state) => [state, 0])) as Record<NodeState, number>;
  for (const node of picture.graph.order) counts[stateOfNode(picture, node)]++;
  return counts;
}

/** Policy of the workflow, as far as its nodes declare compensations. */
function compensationPolicyOf({ nodes }: RunPicture): Workflow["compensate"] {
  const undone = nodes.find(({ compensate }) => compensate !== undefined)?.compensate;
  if (undone === undefined) return "NEVER";
  return undone.onCancel ? "ON_FAILURE_OR_CANCEL" : "ON_FAILURE";
}

/** DEAD nodes and maps. */
function failedNodes(picture: RunPicture): Workflow["failed"] {
  const { graph, progress } = picture;
  const maps = [...graph.maps.keys()].filter((node) => progress.stateOf(node) === "DEAD");
  const dead = [...maps, ...deadOf(picture.executions)].sort((a, b) => a - b).slice(0, FAILED_MAX);
  return dead.map((node) => failedNode(picture, picture.executions, node));
}

/** DEAD compensations. */
function failedCompensations(picture: RunPicture): Workflow["failedCompensations"] {
  const { compensations } = picture;
  return deadOf(compensations)
    .slice(0, FAILED_MAX)
    .map((node) => failedNode(picture, compensations, node));
}

function deadOf(executions: RunPicture["executions"]): number[] {
  return [...executions].flatMap(([node, { state }]) => (state === "DEAD" ? [node] : []));
}

/** @param executions of nodes or of compensations, by node */
function failedNode(picture: RunPicture, executions: RunPicture["executions"], node: number): FailedNode {
  const row = executions.get(node);
  return {
    ...{ name: picture.nodes[node]?.name ?? "", executionId: row?.executionId ?? null, attempt: row?.attempt ?? 0 },
    ...{ reason: row?.reason ?? null, error: row?.error ?? null },
    finishedAt: formatInstantOrNull(row?.finishedAt ?? null),
    ...mapFailure(picture, node),
  };
}

export function workflowNode(picture: RunPicture, node: number): WorkflowNode {
  const { name = "", handler = "", pool = "" } = picture.nodes[node] ?? {};
  const row = picture.executions.get(node);
  return {
    ...{
      name,
      state: stateOfNode(picture, node),
      executionId: row?.executionId ?? null,
      handler,
      pool: shownPool(pool),
    },
    keptFrom: keptFrom(picture, node),
    ...{ reason: row?.reason ?? null, attempt: row?.attempt ?? 0, branch: branchOf(picture, node) },
    ...{ error: row?.error ?? null, assignedWorker: workerOf(row) },
    createdAt: formatInstantOrNull(row?.createdAt ?? null),
    startedAt: formatInstantOrNull(row?.startedAt ?? null),
    finishedAt: formatInstantOrNull(row?.finishedAt ?? null),
    blockedBy: blockedBy(picture, node),
    because: because(picture, node),
    compensation: compensationView(picture, node),
    items: itemsOf(picture, node),
    childWorkflowId: picture.nodes[node]?.workflow === undefined ? null : (row?.executionId ?? null),
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

/** Reason and error of a map that is DEAD: its items cannot be counted, or too many of them are DEAD. */
function mapFailure({ run, graph, progress, items }: RunPicture, node: number): MapFailureView {
  if (!graph.isMap(node) || progress.stateOf(node) !== "DEAD") return {};
  const counted = run.mapCounts.find((count) => count.node === node)?.items;
  if (typeof counted === "object") return { reason: counted.reason, error: counted.error };
  const dead = items.find((states) => states.node === node && states.state === "DEAD")?.items.length ?? 0;
  const message = `${dead} of its items ${dead === 1 ? "is" : "are"} DEAD, and it tolerates ${graph.maps.get(node)?.tolerate ?? 0}`;
  return { error: { name: "ItemsDead", message } };
}

type MapFailureView = Partial<Pick<FailedNode, "reason" | "error">>;

function workerOf(row: NodeSummary | undefined): string | null {
  return row?.workerId == null ? null : workerShownTo(row.tenant, row.workerId, row.pool);
}

/** Compensation of a node; null: the run does not compensate the node, or not yet. */
export function compensationView(picture: RunPicture, node: number): WorkflowNode["compensation"] {
  const state = stateOfCompensation(picture, node);
  if (state === null) return null;
  const { handler = "", pool = "" } = picture.nodes[node]?.compensate ?? {};
  const row = picture.compensations.get(node);
  return {
    ...{
      state,
      executionId: compensationId(picture, node),
      handler,
      pool: shownPool(pool),
      reason: row?.reason ?? null,
    },
    ...{ attempt: row?.attempt ?? 0, error: row?.error ?? null, assignedWorker: workerOf(row) },
    startedAt: formatInstantOrNull(row?.startedAt ?? null),
    finishedAt: formatInstantOrNull(row?.finishedAt ?? null),
    after: openCompensations(picture, node),
  };
}

/** Execution of a node's compensation, in this run or in the earlier one from which this run keeps it; null: there is none. */
function compensationId({ compensations, kept }: RunPicture, node: number): string | null {
  const number = compensationOf(node);
  const earlier = kept.get(number)?.run;
  return compensations.get(node)?.executionId ?? (earlier ? nodeExecutionId(earlier, number, null, 0) : null);
}

/** Compensations for which that of a node waits, or would have had to wait; null: none. */
function openCompensations(picture: RunPicture, node: number): NonNullable<WorkflowNode["compensation"]>["after"] {
  const { compensation, nodes } = picture;
  const state = compensation?.stateOf(node);
  if (compensation === null || (state !== "BLOCKED" && state !== "SKIPPED")) return null;
  const open = compensation.openAfter(node);
  return { open: open.length, first: firstNames({ nodes }, open) };
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
  const compensation = stateOfCompensation(picture, node);
  const compensatedBy = nodes[node]?.compensate?.handler ?? null;
  const own = { name, handler, pool: shownPool(pool), state, compensatedBy, compensation, keptFrom: from };
  return { ...own, join, allowFailure: graph.allowsFailure(node), dependsOn, ...additionOf(picture, node) };
}

function additionOf(
  { graph, nodes }: RunPicture,
  node: number,
): Pick<WorkflowGraphBody["nodes"][number], "addedBy" | "detached"> {
  const spawner = graph.spawnerOf(node);
  return { addedBy: nodes[spawner]?.name ?? null, detached: spawner !== graph.holderOf(node) };
}
