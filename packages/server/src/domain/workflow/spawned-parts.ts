import { type Adjacency, conditionOfEdge, edgesOf, nodeOfEdge, packedEdge, startsOf } from "./adjacency.ts";
import { WHEN_BRANCH } from "./conditions.ts";
import { type GraphParts, type Spawn, VOID, WorkflowGraph } from "./graph.ts";

/** Nodes that the handler of a node has added to its run, as a graph of their own. */
export interface RunPart {
  /** Node whose handler has added the nodes. */
  spawner: number;
  /** Number of the first node in the run. Node n of the graph has the number `first + n`. */
  first: number;
  graph: WorkflowGraph;
}

/** Largest number of spawners on the way from a node of the definition to a node that a handler has added. */
export const SPAWN_DEPTH_MAX = 5;

/** Number of spawners between a node and the definition: 0 for nodes of the definition. */
export function spawnDepth(graph: WorkflowGraph, node: number): number {
  let depth = 0;
  for (let spawner = graph.spawnerOf(node); spawner >= 0; spawner = graph.spawnerOf(spawner)) depth++;
  return depth;
}

/**
 * Adds parts to the graph of a run. The numbers of nodes stay, and numbers that no part has are void. No edge leads from
 * one part to another: the nodes of a part without edges start with the end of their spawner, and the edges of a spawner
 * close when the nodes of its part that are not detached have ended.
 */
export function withParts(graph: WorkflowGraph, parts: readonly RunPart[]): WorkflowGraph {
  if (parts.length === 0) return graph;
  const branches = [...graph.branches];
  const size = Math.max(graph.nodeCount, ...parts.map((part) => part.first + part.graph.nodeCount));
  const flags = new Uint8Array(size).fill(VOID);
  flags.set(graph.flags);
  for (const part of parts) flags.set(part.graph.flags, part.first);
  const children = joinedEdges(graph, parts, size, branches);
  const added = parts.map(({ spawner, first, graph: { nodeCount: count } }): Spawn => ({ spawner, first, count }));
  const spawns = [...graph.spawnsOf.values(), ...added];
  const { onFailure, maps } = graph;
  const joined: GraphParts = { onFailure, branches, flags, maps, children, spawns };
  return new WorkflowGraph(joined, joinedOrder(graph, parts));
}

/** @param branches names of branches, to which those of the parts are added */
function joinedEdges(graph: WorkflowGraph, parts: readonly RunPart[], size: number, branches: string[]): Adjacency {
  const { edges: own } = graph.children;
  const edges = new Uint32Array(own.length + parts.reduce((sum, part) => sum + part.graph.children.edges.length, 0));
  const counts = new Uint32Array(size);
  const byFirst = [...parts].sort((a, b) => a.first - b.first);
  for (let node = 0; node < graph.nodeCount; node++) counts[node] = edgesOf(graph.children, node).length;
  edges.set(own);
  let found = own.length;
  for (const { first, graph: part } of byFirst) {
    const codes = part.branches.map((branch) => WHEN_BRANCH + placeOf(branch, branches));
    for (let node = 0; node < part.nodeCount; node++) {
      const row = edgesOf(part.children, node);
      counts[first + node] = row.length;
      for (const edge of row) {
        const when = conditionOfEdge(edge);
        edges[found++] = packedEdge(first + nodeOfEdge(edge), codes[when - WHEN_BRANCH] ?? when);
      }
    }
  }
  return { starts: startsOf(counts), edges };
}

function placeOf(branch: string, branches: string[]): number {
  const place = branches.indexOf(branch);
  return place >= 0 ? place : branches.push(branch) - 1;
}

/** Nodes of a part stand behind their spawner, so that they stand before all that waits for the spawner. */
function joinedOrder({ order }: WorkflowGraph, parts: readonly RunPart[]): Uint32Array {
  const bySpawner = new Map(parts.map((part) => [part.spawner, part]));
  const joined: number[] = [];
  const add = (node: number) => {
    joined.push(node);
    const part = bySpawner.get(node);
    for (const spawned of part?.graph.order ?? []) add((part?.first ?? 0) + spawned);
  };
  for (const node of order) add(node);
  return Uint32Array.from(joined);
}
