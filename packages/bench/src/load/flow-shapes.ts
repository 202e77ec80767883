import type { BenchFlow } from "../contenders/contender.ts";

type Nodes = BenchFlow["nodes"];

/** One node that waits for all others. */
export function fanIn(nodes: number): Nodes {
  const first = Array.from({ length: nodes - 1 }, () => []);
  return [...first, first.map((_, position) => position)];
}

/** Nodes that all wait for the first one. */
export function fanOut(nodes: number): Nodes {
  return Array.from({ length: nodes }, (_, position) => (position === 0 ? [] : [0]));
}

/** Nodes that each wait for the one before. */
export function chain(nodes: number): Nodes {
  return Array.from({ length: nodes }, (_, position) => (position === 0 ? [] : [position - 1]));
}

export interface Layers {
  layers: number;
  /** Number of nodes of each layer. */
  width: number;
  /** Number of dependencies of all nodes together. */
  edges: number;
}

/** Layers of nodes that each wait for nodes of the layer before, nearly all for the same number. */
export function layered({ layers, width, edges }: Layers): Nodes {
  const waiting = (layers - 1) * width;
  if (edges > waiting * width) throw new Error(`${layers} layers of ${width} nodes have no room for ${edges} edges`);
  const until = (index: number) => Math.floor((index * edges) / waiting);
  return Array.from({ length: layers * width }, (_, position) => {
    const index = position - width;
    if (index < 0) return [];
    const before = Math.floor(index / width) * width;
    const count = until(index + 1) - until(index);
    return Array.from({ length: count }, (_edge, edge) => before + ((index + edge) % width)).sort((a, b) => a - b);
  });
}

/** Workflows of one shape, whose jobs are numbered from 0. */
export function flowsOf(count: number, nodes: Nodes): BenchFlow[] {
  return Array.from({ length: count }, (_, index) => ({ firstN: index * nodes.length, nodes }));
}

/** Number of dependencies whose later node did not start after the earlier one. @param startedAtMs start of each job, in milliseconds since 1970 */
export function outOfOrder({ firstN, nodes }: BenchFlow, startedAtMs: Float64Array): number {
  const startOf = (position: number) => startedAtMs[firstN + position] ?? Number.NaN;
  const wrong = nodes.map((waitsFor, index) => waitsFor.filter((position) => !(startOf(position) <= startOf(index))));
  return wrong.reduce((sum, positions) => sum + positions.length, 0);
}

/** Times from each start to the next one, in milliseconds. */
export function hopsOf(startedAtMs: Float64Array): Float64Array {
  return startedAtMs.subarray(1).map((atMs, index) => atMs - (startedAtMs[index] ?? Number.NaN));
}
