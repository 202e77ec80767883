import { NODE_NAME_CHARS_MAX } from "@mainspring/contract/limits";
import {
  type Adjacency,
  CONDITIONS_REPRESENTABLE,
  conditionOfEdge,
  doubledEdges,
  edgesOf,
  NODES_REPRESENTABLE,
  nodeOfEdge,
  packedEdge,
  startsOf,
  topologicalOrder,
} from "./adjacency.ts";
import { isNodeName, WHEN_BRANCH } from "./conditions.ts";
import type { OnFailure } from "./definition.ts";
import { ALLOW_FAILURE, DETACHED, type GraphParts, JOIN_ANY, MAP, WorkflowGraph } from "./graph.ts";
import type { MapRules } from "./map-items.ts";
import { ByteReader, ByteWriter, Malformed } from "./varints.ts";

const VERSION = 1;
/** Flags that the bytes have. */
const DEFINED = JOIN_ANY | ALLOW_FAILURE | MAP | DETACHED;
/** Codes are indexes. */
const ON_FAILURE: readonly OnFailure[] = ["FAIL_FAST", "CONTINUE"];

/**
 * Bytes of a graph, for the store. Format 1, in which numbers are varints: version, `onFailure`, number of nodes, number
 * of branches, the branches (length and ASCII each), one byte of flags a node, the
 * rules of each map (items that may run, tolerated failures), the number of edges, and for each node the
 * number of its edges to children. An edge is the difference of its child to the child before, and its condition.
 */
export function encodeGraph(graph: WorkflowGraph): Uint8Array {
  const writer = new ByteWriter();
  for (const number of [VERSION, ON_FAILURE.indexOf(graph.onFailure), graph.nodeCount, graph.branches.length]) {
    writer.number(number);
  }
  for (const branch of graph.branches) writer.text(branch);
  for (const flags of graph.flags) writer.number(flags & DEFINED);
  for (const { maxRunning, tolerate } of graph.maps.values()) {
    writer.number(maxRunning);
    writer.number(tolerate);
  }
  writer.number(graph.children.edges.length);
  for (let node = 0; node < graph.nodeCount; node++) {
    const edges = edgesOf(graph.children, node);
    let last = 0;
    writer.number(edges.length);
    for (const edge of edges) {
      writer.number(nodeOfEdge(edge) - last);
      writer.number(conditionOfEdge(edge));
      last = nodeOfEdge(edge);
    }
  }
  return writer.bytes();
}

/** @returns the graph that `encodeGraph` wrote, or a reason why no graph of this program has such bytes */
export function decodeGraph(bytes: Uint8Array): { graph: WorkflowGraph } | { malformed: string } {
  try {
    return { graph: graphFrom(new ByteReader(bytes)) };
  } catch (error) {
    if (error instanceof Malformed) return { malformed: error.message };
    throw error;
  }
}

function graphFrom(reader: ByteReader): WorkflowGraph {
  const version = reader.number();
  if (version !== VERSION) throw new Malformed(`version ${version} is not known`);
  const onFailure = ON_FAILURE[reader.number()];
  if (onFailure === undefined) throw new Malformed("the consequence of a failure is not known");
  const nodeCount = reader.count(NODES_REPRESENTABLE);
  if (nodeCount === 0) throw new Malformed("there are no nodes");
  const branches = branchesFrom(reader);
  const flags = Uint8Array.from({ length: nodeCount }, () => flagsFrom(reader));
  const maps = mapsFrom(reader, flags);
  const parts = { onFailure, branches, flags, maps, children: childrenFrom(reader, nodeCount, branches.length) };
  reader.end();
  return new WorkflowGraph(parts, checkedOrder(parts));
}

function flagsFrom(reader: ByteReader): number {
  const flags = reader.number(DEFINED);
  if ((flags & ~DEFINED) !== 0) throw new Malformed("a flag is not known");
  return flags;
}

function mapsFrom(reader: ByteReader, flags: Uint8Array): Map<number, MapRules> {
  const maps = new Map<number, MapRules>();
  for (const [node, of] of flags.entries()) {
    if ((of & MAP) !== 0) maps.set(node, { maxRunning: reader.number(), tolerate: reader.number() });
  }
  return maps;
}

function branchesFrom(reader: ByteReader): string[] {
  const branches = Array.from({ length: reader.count(CONDITIONS_REPRESENTABLE - WHEN_BRANCH) }, () =>
    reader.text(NODE_NAME_CHARS_MAX),
  );
  if (!branches.every(isNodeName)) throw new Malformed("a branch has no valid name");
  if (new Set(branches).size < branches.length) throw new Malformed("a branch occurs twice");
  return branches;
}

function childrenFrom(reader: ByteReader, nodeCount: number, branchCount: number): Adjacency {
  const counts = new Uint32Array(nodeCount);
  const edges = new Uint32Array(reader.count());
  let found = 0;
  for (let node = 0; node < nodeCount; node++) {
    let child = 0;
    const count = (counts[node] = reader.number(edges.length - found));
    for (let i = 0; i < count; i++) {
      child += reader.number(nodeCount - 1 - child);
      edges[found++] = packedEdge(child, reader.number(WHEN_BRANCH + branchCount - 1));
    }
  }
  if (found < edges.length) throw new Malformed("there are fewer edges than the bytes say");
  return { starts: startsOf(counts), edges };
}

function checkedOrder({ children, flags }: GraphParts): Uint32Array {
  if (doubledEdges(children, 1).length > 0) throw new Malformed("an edge occurs twice");
  const order = topologicalOrder(children);
  if (order.length < flags.length) throw new Malformed("the graph has a cycle");
  return order;
}
