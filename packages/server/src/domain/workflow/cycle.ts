import { type Adjacency, edgesOf, nodeOfEdge, reversed } from "./adjacency.ts";

/**
 * Finds a cycle of a graph that has one. The cycle is a shortest one among those through one of its nodes, so that a
 * person can read it.
 * @param order nodes in topological order, without those on cycles and their descendants
 * @returns nodes along the cycle, parents first; the first node again at the end
 */
export function cycleOf(children: Adjacency, order: Uint32Array): number[] {
  const isOpen = new Uint8Array(children.starts.length - 1).fill(1);
  for (const node of order) isOpen[node] = 0;
  return shortestWayBack(children, nodeOnCycle(children, isOpen), isOpen);
}

/** Walks from parent to parent until the walk meets itself. A node without a place in the order has such a parent. */
function nodeOnCycle(children: Adjacency, isOpen: Uint8Array): number {
  const parents = reversed(children);
  const seen = new Uint8Array(isOpen.length);
  let node = isOpen.indexOf(1);
  while (seen[node] === 0) {
    seen[node] = 1;
    const edge = edgesOf(parents, node).find((one) => isOpen[nodeOfEdge(one)] === 1) as number;
    node = nodeOfEdge(edge);
  }
  return node;
}

/** Searches breadth first, so each node is reached on a shortest way. */
function shortestWayBack(children: Adjacency, start: number, isOpen: Uint8Array): number[] {
  const cameFrom = new Int32Array(isOpen.length).fill(-1);
  const reached = [start];
  for (const node of reached) {
    for (const edge of edgesOf(children, node)) {
      const child = nodeOfEdge(edge);
      if (child === start) return wayTo(node, start, cameFrom);
      if (isOpen[child] === 0 || cameFrom[child] !== -1) continue;
      cameFrom[child] = node;
      reached.push(child);
    }
  }
  return [];
}

function wayTo(last: number, start: number, cameFrom: Int32Array): number[] {
  const way = [start];
  for (let node = last; node !== start; node = cameFrom[node] as number) way.push(node);
  way.push(start);
  return way.reverse();
}
