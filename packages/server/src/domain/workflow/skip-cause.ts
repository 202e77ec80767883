import { conditionOfEdge, edgesOf, nodeOfEdge } from "./adjacency.ts";
import { conditionOf } from "./conditions.ts";
import type { Condition } from "./definition.ts";
import { nodesOfSpawn } from "./graph.ts";
import { type Picture, SUCCEEDED } from "./picture.ts";

/** Edge that can no longer be met. */
interface DeadEdge {
  parent: number;
  when: Condition;
}

/**
 * Cause why a node is SKIPPED. DEAD_EDGES: with join ALL, all dead edges of the node; with join ANY, every edge. A dead
 * edge may come from a parent that is SKIPPED itself, for a cause of its own. WORKFLOW_FAILED and WORKFLOW_CANCELLED: the
 * mode of the run kept the node from starting.
 */
export type SkipCause = { kind: "DEAD_EDGES"; edges: DeadEdge[] } | { kind: "WORKFLOW_FAILED" | "WORKFLOW_CANCELLED" };

/** Dead edges of a node, in order of the parents' numbers. */
export function deadEdges(picture: Picture, node: number): SkipCause {
  const { parents, branches } = picture.graph;
  const edges: DeadEdge[] = [];
  for (const edge of edgesOf(parents, node)) {
    const [parent, when] = [nodeOfEdge(edge), conditionOfEdge(edge)];
    const isDead = picture.isClosed(parent) && !picture.isMet(parent, when);
    if (isDead) edges.push({ parent, when: conditionOf(when, branches) });
  }
  return { kind: "DEAD_EDGES", edges };
}

/**
 * Nodes that must end before the open edges to a node close: parents, each once, in order of their numbers. In place of a
 * spawner that has ended stand the nodes that it has added.
 */
export function openParents(picture: Picture, node: number): number[] {
  const open: number[] = [];
  let last = -1;
  for (const edge of edgesOf(picture.graph.parents, node)) {
    const parent = nodeOfEdge(edge);
    if (parent !== last && !picture.isClosed(parent)) open.push(...openIn(picture, parent));
    last = parent;
  }
  return open;
}

/** A node that is not closed, or what it waits for if it has ended. */
function openIn(picture: Picture, node: number): number[] {
  if (picture.code(node) < SUCCEEDED) return [node];
  const spawn = picture.graph.spawnsOf.get(node);
  const held = spawn === undefined ? [] : [...nodesOfSpawn(spawn)];
  return held
    .filter((spawned) => picture.graph.holderOf(spawned) === node && !picture.isClosed(spawned))
    .flatMap((spawned) => openIn(picture, spawned));
}
