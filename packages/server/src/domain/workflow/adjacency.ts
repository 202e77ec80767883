/**
 * Edges of a graph by node, in compressed sparse rows: the edges of node n are `edges[starts[n]]` to
 * `edges[starts[n + 1] - 1]`. An edge contains the node at its other end in the lower bits and the code of its condition
 * in the upper bits.
 */
export interface Adjacency {
  /** One more than there are nodes. */
  readonly starts: Uint32Array;
  readonly edges: Uint32Array;
}

const NODE_BITS = 15;
/** Number of nodes that the layout of an edge allows; larger than WORKFLOW_NODES_MAX. */
export const NODES_REPRESENTABLE = 1 << NODE_BITS;
/** Number of conditions that the layout of an edge allows; larger than WORKFLOW_BRANCHES_MAX. */
export const CONDITIONS_REPRESENTABLE = 1 << (32 - NODE_BITS);

export function packedEdge(node: number, condition: number): number {
  return ((condition << NODE_BITS) | node) >>> 0;
}

export function nodeOfEdge(edge: number): number {
  return edge & (NODES_REPRESENTABLE - 1);
}

export function conditionOfEdge(edge: number): number {
  return edge >>> NODE_BITS;
}

/** Edges of one node. */
export function edgesOf({ starts, edges }: Adjacency, node: number): Uint32Array {
  return edges.subarray(starts[node], starts[node + 1]);
}

/** Number of edges at the other end, by node. */
export function endCounts({ starts, edges }: Adjacency): Uint32Array {
  const counts = new Uint32Array(starts.length - 1);
  for (const edge of edges) (counts[nodeOfEdge(edge)] as number)++;
  return counts;
}

/** The same edges, from their other ends. The edges of each node are sorted by the node at the other end. */
export function reversed(adjacency: Adjacency): Adjacency {
  const { starts, edges } = adjacency;
  const turnedStarts = startsOf(endCounts(adjacency));
  const next = turnedStarts.slice();
  const turned = new Uint32Array(edges.length);
  for (let node = 0; node + 1 < starts.length; node++) {
    for (let i = starts[node] as number; i < (starts[node + 1] as number); i++) {
      const edge = edges[i] as number;
      const at = (next[nodeOfEdge(edge)] as number)++;
      turned[at] = packedEdge(node, conditionOfEdge(edge));
    }
  }
  return { starts: turnedStarts, edges: turned };
}

/** Starts of the rows with these lengths. */
export function startsOf(counts: Uint32Array): Uint32Array {
  const starts = new Uint32Array(counts.length + 1);
  for (let node = 0; node < counts.length; node++) {
    starts[node + 1] = (starts[node] as number) + (counts[node] as number);
  }
  return starts;
}

/**
 * Nodes in topological order, which is the order by depth: roots first, and each other node behind its last parent.
 * Nodes on cycles, and their descendants, are left out.
 */
export function topologicalOrder(children: Adjacency): Uint32Array {
  const { starts, edges } = children;
  const open = endCounts(children);
  const order = new Uint32Array(open.length);
  let found = 0;
  for (let node = 0; node < open.length; node++) if (open[node] === 0) order[found++] = node;
  for (let at = 0; at < found; at++) {
    const node = order[at] as number;
    for (let i = starts[node] as number; i < (starts[node + 1] as number); i++) {
      const child = nodeOfEdge(edges[i] as number);
      if (--(open[child] as number) === 0) order[found++] = child;
    }
  }
  return order.subarray(0, found);
}

/**
 * Searches for edges that occur twice: the same nodes and the same condition.
 * @param children rows in which the edges to one child stand side by side, as `reversed` makes them
 * @returns both nodes of such edges, each pair once; at most `max` pairs
 */
export function doubledEdges(children: Adjacency, max: number): { parent: number; child: number }[] {
  const { starts, edges } = children;
  const found: { parent: number; child: number }[] = [];
  for (let parent = 0; parent + 1 < starts.length; parent++) {
    const rowEnd = starts[parent + 1] as number;
    for (let from = starts[parent] as number, to = from; from < rowEnd; from = to) {
      const child = nodeOfEdge(edges[from] as number);
      while (to < rowEnd && nodeOfEdge(edges[to] as number) === child) to++;
      if (to - from > 1 && new Set(edges.subarray(from, to)).size < to - from) found.push({ parent, child });
      if (found.length === max) return found;
    }
  }
  return found;
}
