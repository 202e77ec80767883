import type { ExecutionId } from "../ids.ts";
import { edgesOf, nodeOfEdge } from "./adjacency.ts";
import { isCompensation, nodeOfCompensation } from "./compensation-number.ts";
import type { NodeOutcome, RunProgress } from "./readiness.ts";

/** Nodes that a run keeps from one earlier run of the same graph, which has their executions and so their results. */
export interface KeptNodes {
  run: ExecutionId;
  /** Nodes and compensations by number, each with the branch that its execution has chosen; null: none. */
  nodes: readonly (readonly [node: number, branch: string | null])[];
}

/**
 * Nodes that a retry of a final run keeps: SUCCEEDED ones that do not depend on any node that runs again, directly or
 * indirectly. DEAD and CANCELLED nodes run again, and so do those that the mode of the run has SKIPPED. A node that its
 * edges have SKIPPED is decided anew, with the same result if its parents are the same.
 * @param again SUCCEEDED nodes that run again as well
 * @returns nodes in topological order
 */
export function nodesToKeep(progress: RunProgress, again: ReadonlySet<number>): number[] {
  const { order, parents } = progress.graph;
  const anew = new Set<number>();
  const kept: number[] = [];
  for (const node of order) {
    const isAnew = again.has(node) || !isSettled(progress, node);
    if (isAnew || edgesOf(parents, node).some((edge) => anew.has(nodeOfEdge(edge)))) anew.add(node);
    else if (progress.stateOf(node) !== "SKIPPED") kept.push(node);
  }
  return kept;
}

/** Whether the state of a node is the same in every run in which the states of its parents are. */
function isSettled(progress: RunProgress, node: number): boolean {
  const state = progress.stateOf(node);
  return state === "SUCCEEDED" || (state === "SKIPPED" && progress.whySkipped(node)?.kind === "DEAD_EDGES");
}

/** A node that has SUCCEEDED in an earlier run. */
export interface KeptNode {
  run: ExecutionId;
  /** Branch that the node has chosen; null: none. */
  branch: string | null;
}

/** Kept nodes by their numbers. */
export function keptByNode(kept: readonly KeptNodes[]): Map<number, KeptNode> {
  return new Map(kept.flatMap(({ run, nodes }) => nodes.map(([node, branch]) => [node, { run, branch }] as const)));
}

/** Outcomes of kept nodes, as if their executions were those of the run. Compensations are left out. */
export function* keptOutcomes(kept: readonly KeptNodes[]): Generator<[number, NodeOutcome]> {
  for (const { nodes } of kept) {
    for (const [node, branch] of nodes) if (!isCompensation(node)) yield [node, { state: "SUCCEEDED", branch }];
  }
}

/** Nodes whose compensations a run keeps, because they SUCCEEDED in earlier runs. */
export function* keptCompensations(kept: readonly KeptNodes[]): Generator<number> {
  for (const { nodes } of kept) for (const [node] of nodes) if (isCompensation(node)) yield nodeOfCompensation(node);
}
