import type { GraphEdge, GraphNode } from "../../history/workflow-events.ts";
import type { FinalRun } from "../evidence.ts";
import { type Flow, successOf } from "./flows.ts";

/** End of a node. */
export interface NodeEnd {
  state: "SUCCEEDED" | "DEAD" | "CANCELLED" | "SKIPPED";
  branch: string | null;
  /** Monotonic time before which the node had certainly not ended. */
  at: number;
}

type Ends = ReadonlyMap<string, NodeEnd>;

/**
 * Ends of the nodes of a run. The time of an end is that of the handler's last attempt, from the files of its worker. The
 * time of a skipped node follows from its parents. Nodes that are left out have not ended.
 */
export function endsOf(flow: Flow, run: FinalRun): Ends {
  const { nodes, onFailure } = flow.intended.graph;
  const ends = new Map<string, NodeEnd>();
  for (const node of nodes) {
    const end = handledEnd(flow, run, node);
    if (end !== null) ends.set(node.name, end);
  }
  const fatal = nodes.filter(({ name, allowFailure }) => !allowFailure && ends.get(name)?.state === "DEAD");
  const failedAt = earliest(fatal.map(({ name }) => ends.get(name)?.at ?? 0));
  const stays = survivors(nodes);
  for (const node of nodes) {
    const shown = run.nodes.find(({ name }) => name === node.name);
    if (shown?.state !== "SKIPPED" || ends.has(node.name)) continue;
    const stoppedAt = onFailure === "FAIL_FAST" && !stays.has(node.name) ? failedAt : Number.POSITIVE_INFINITY;
    ends.set(node.name, { state: "SKIPPED", branch: null, at: Math.min(skippedAt(node, ends), stoppedAt) });
  }
  return ends;
}

/** Monotonic time before which the node must not start; Infinity: it must never start. */
export function readyAt({ dependsOn, join }: GraphNode, ends: Ends): number {
  const met = dependsOn.flatMap((edge) => (isMet(edge, ends) ? [ends.get(edge.node)?.at ?? 0] : []));
  if (join === "ANY") return earliest(met);
  return met.length === dependsOn.length ? Math.max(0, ...met) : Number.POSITIVE_INFINITY;
}

/** Names of the nodes that still start after the run has failed. */
export function survivors(nodes: readonly GraphNode[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { name, dependsOn } of nodes) {
    const survives = dependsOn.some(({ node, when }) => when === "FAILED" || when === "FINISHED" || found.has(node));
    if (survives) found.add(name);
  }
  return found;
}

function handledEnd(flow: Flow, run: FinalRun, { name, branch }: GraphNode): NodeEnd | null {
  const runs = flow.handled.get(name) ?? [];
  const success = successOf(flow, name);
  if (success !== null) return { state: "SUCCEEDED", branch, at: success.endedAt };
  const shown = run.nodes.find((node) => node.name === name);
  // A node may be cancelled before any handler ran, so its time is not known.
  if (shown?.state === "CANCELLED") return { state: "CANCELLED", branch: null, at: 0 };
  const failure = runs.findLast(({ resultSha, record }) => resultSha === null && record?.state === "FAILED");
  if (shown?.state !== "DEAD" || failure === undefined) return null;
  return { state: "DEAD", branch: null, at: failure.endedAt };
}

function skippedAt({ dependsOn, join }: GraphNode, ends: Ends): number {
  const dead = dependsOn.filter((edge) => ends.has(edge.node) && !isMet(edge, ends));
  const times = dead.map(({ node }) => ends.get(node)?.at ?? 0);
  if (join === "ALL") return earliest(times);
  return dead.length === dependsOn.length ? Math.max(...times) : Number.POSITIVE_INFINITY;
}

function isMet({ node, when }: GraphEdge, ends: Ends): boolean {
  const end = ends.get(node);
  if (end === undefined) return false;
  if (when === "FINISHED") return true;
  if (when === "FAILED") return end.state === "DEAD";
  return end.state === "SUCCEEDED" && (when === "SUCCEEDED" || when === `BRANCH:${end.branch}`);
}

function earliest(times: readonly number[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...times);
}
