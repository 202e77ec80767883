import type { WorkflowNode } from "@mainspring/server/testing";
import { heldBy, type SpawnedNode } from "./part-account.ts";

/** Row of a node, as the oracle needs it. */
export interface NodeRow {
  state: string;
  branch: string | null;
}

export type Mode = "RUNNING" | "FAILING" | "CANCELLING";
/** State of a node that has no row. */
export type Blank = "BLOCKED" | "READY" | "SKIPPED";

const OVER = new Set(["SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"]);

/**
 * States of all nodes that have no row, by the plainest reading of the rules: each node is judged again until no state
 * changes. The oracle shares no code with the program.
 */
export function blanks(
  nodes: readonly WorkflowNode[],
  rows: ReadonlyMap<string, NodeRow>,
  mode: Mode,
): Map<string, Blank> {
  const found = new Map<string, Blank>();
  const stays = survivors(nodes);
  for (const { name } of nodes) if (!rows.has(name)) found.set(name, "BLOCKED");
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const node of nodes) {
      if (found.get(node.name) !== "BLOCKED") continue;
      const isStopped = mode === "CANCELLING" || (mode === "FAILING" && !stays.has(node.name));
      const state = isStopped ? "SKIPPED" : judged(node, nodes, rows, found);
      if (state === "BLOCKED") continue;
      found.set(node.name, state);
      isChanged = true;
    }
  }
  return found;
}

/** State of a node as the nodes after it see it: they wait for the nodes that its handler has added, and fail with these. */
function endOf(
  name: string,
  nodes: readonly WorkflowNode[],
  rows: ReadonlyMap<string, NodeRow>,
  found: ReadonlyMap<string, Blank>,
): NodeRow {
  const row = rows.get(name) ?? { state: found.get(name) === "SKIPPED" ? "SKIPPED" : "BLOCKED", branch: null };
  if (!OVER.has(row.state)) return row;
  const ends = heldBy(nodes, name).map((held) => ({ held, end: endOf(held.name, nodes, rows, found) }));
  if (ends.some(({ end }) => !OVER.has(end.state))) return { state: "BLOCKED", branch: null };
  const hasFailed = ends.some(({ held, end }) => !held.allowFailure && ["DEAD", "CANCELLED"].includes(end.state));
  return hasFailed && row.state === "SUCCEEDED" ? { state: "DEAD", branch: null } : row;
}

function judged(
  node: WorkflowNode,
  nodes: readonly WorkflowNode[],
  rows: ReadonlyMap<string, NodeRow>,
  found: ReadonlyMap<string, Blank>,
): Blank {
  const edges = node.dependsOn.map(({ node: parent, when }) => {
    const row = endOf(parent, nodes, rows, found);
    if (!OVER.has(row.state)) return "open";
    return isMet(row, when) ? "met" : "dead";
  });
  const some = (as: (typeof edges)[number]) => edges.includes(as);
  const all = (as: (typeof edges)[number]) => edges.every((edge) => edge === as);
  if (edges.length === 0) return "READY";
  if (node.join === "ALL") return all("met") ? "READY" : some("dead") ? "SKIPPED" : "BLOCKED";
  return some("met") ? "READY" : all("dead") ? "SKIPPED" : "BLOCKED";
}

function isMet({ state, branch }: NodeRow, when: string): boolean {
  if (when === "SUCCEEDED") return state === "SUCCEEDED";
  if (when === "FAILED") return state === "DEAD";
  if (when === "FINISHED") return true;
  return state === "SUCCEEDED" && when === `BRANCH:${branch}`;
}

/** Whether the mode of a run keeps a node from starting. */
export function isStopped(nodes: readonly WorkflowNode[], name: string, mode: Mode): boolean {
  return mode === "CANCELLING" || (mode === "FAILING" && !survivors(nodes).has(name));
}

/** Nodes that may still start after a failure: those that wait for one, and all that depend on them. */
function survivors(nodes: readonly WorkflowNode[]): Set<string> {
  const found = new Set<string>();
  for (const node of nodes) {
    const { name, dependsOn } = node;
    const isOfSurvivor = "spawner" in node && found.has((node as SpawnedNode).spawner);
    if (isOfSurvivor || dependsOn.some(({ node, when }) => when === "FAILED" || when === "FINISHED" || found.has(node)))
      found.add(name);
  }
  return found;
}
