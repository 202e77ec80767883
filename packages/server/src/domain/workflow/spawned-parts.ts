import {
  SPAWN_DEPTH_MAX,
  WORKFLOW_BRANCHES_MAX,
  WORKFLOW_PARTS_MAX,
  WORKFLOW_SPAWNED_MAX,
} from "@mainspring/contract/limits";
import { invariant } from "../invariant.ts";
import { DEFAULT_POLICY } from "../job.ts";
import { type Adjacency, conditionOfEdge, edgesOf, nodeOfEdge, packedEdge, startsOf } from "./adjacency.ts";
import { WHEN_BRANCH } from "./conditions.ts";
import type { StoredNode } from "./definition.ts";
import { type GraphParts, type Spawn, VOID, WorkflowGraph } from "./graph.ts";
import { decodeGraph } from "./graph-bytes.ts";
import { decodeNodes } from "./stored-nodes.ts";

/** Nodes that the handler of a node has added to its run, as a graph of their own. */
export interface RunPart {
  /** Node whose handler has added the nodes. */
  spawner: number;
  /** Number of the first node in the run. Node n of the graph has the number `first + n`. */
  first: number;
  graph: WorkflowGraph;
}

/** A part with the definitions of its nodes. Their names are unique in the part only. */
export interface DefinedPart extends RunPart {
  definitions: readonly StoredNode[];
}

/** A part as the store has it. */
interface EncodedPart extends Pick<RunPart, "spawner" | "first"> {
  graph: Uint8Array;
  definitions: Uint8Array;
}

/** Stands between the names of a spawner and of a node that its handler has added. */
const NAME_SEPARATOR = "/";
/** Definition of a number that no node has. */
const NO_NODE: StoredNode = {
  ...{ name: "", pool: "", handler: "", requires: [], priority: 0, policy: DEFAULT_POLICY, payloadBytes: 0 },
};

export function decodePart({ spawner, first, graph: bytes, definitions }: EncodedPart): DefinedPart {
  const decoded = decodeGraph(bytes);
  invariant("graph" in decoded, `the graph of the part of node ${spawner} cannot be read`);
  return { spawner, first, graph: decoded.graph, definitions: decodeNodes(definitions) };
}

/** Definitions of a run's nodes by number, with those of parts: each node has the name of its spawner and its own. */
export function withDefinitions(own: readonly StoredNode[], parts: readonly DefinedPart[]): readonly StoredNode[] {
  if (parts.length === 0) return own;
  const all = [...own];
  for (const { spawner, first, definitions } of parts) {
    while (all.length < first) all.push(NO_NODE);
    const prefix = `${all[spawner]?.name ?? spawner}${NAME_SEPARATOR}`;
    for (const [n, node] of definitions.entries()) all[first + n] = { ...node, name: `${prefix}${node.name}` };
  }
  return all;
}

/**
 * First byte of the payload of a part that has references. The numbers of its nodes count from the first node of the part
 * until `placed` has written the number of that node, and that of the spawner, behind this byte.
 */
export const PART_TEMPLATE = 1;
/** Bytes of the mark and the two numbers. */
export const PART_HEAD_BYTES = 9;

/** Payload of a node of a part that has a place in a run. */
export function placed(payload: Uint8Array, { spawner, first }: Pick<RunPart, "spawner" | "first">): Uint8Array {
  if (payload[0] !== PART_TEMPLATE) return payload;
  const bytes = payload.slice();
  const head = new DataView(bytes.buffer);
  head.setUint32(1, first);
  head.setUint32(5, spawner);
  return bytes;
}

/** A run before a part is added. */
interface Before {
  graph: WorkflowGraph;
  /** Number of handlers that have added nodes, or are about to. */
  partCount: number;
  /** Number of nodes of the workflow's definition. */
  defined: number;
}

/** Reason why a run does not take a part; null: it does. */
export function spawnRefusal(
  { graph, partCount, defined }: Before,
  { spawner, first, graph: added }: RunPart,
): string | null {
  if (spawnDepth(graph, spawner) >= SPAWN_DEPTH_MAX) {
    return `the node is ${SPAWN_DEPTH_MAX} levels of added nodes below the definition: deeper levels are not possible`;
  }
  if (partCount >= WORKFLOW_PARTS_MAX) {
    return `the handlers of ${WORKFLOW_PARTS_MAX} nodes have added nodes to the run: more are not possible`;
  }
  const count = first - defined + added.nodeCount;
  if (count > WORKFLOW_SPAWNED_MAX) {
    return `the run would have ${count} added nodes: at most ${WORKFLOW_SPAWNED_MAX} are possible`;
  }
  const branches = added.branches.length === 0 ? 0 : new Set([...graph.branches, ...added.branches]).size;
  if (branches <= WORKFLOW_BRANCHES_MAX) return null;
  return `the run would have ${branches} names of branches: at most ${WORKFLOW_BRANCHES_MAX} are possible`;
}

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
