import { edgesOf, nodeOfEdge } from "./adjacency.ts";
import type { WorkflowGraph } from "./graph.ts";

/** A node, and another node that it refers to. */
export interface Referral {
  node: number;
  from: number;
}

/** Nodes whose descendants one walk over the graph finds: the bits of a number. */
const WALK_NODES = 32;
/** Nodes whose parents one step looks at. */
const STEP_NODES = 500;

/**
 * Finds nodes that refer to a node that is no ancestor of theirs, in steps of a few milliseconds each. Memory does not
 * depend on the number of ancestors: a walk over the graph marks the descendants of 32 nodes.
 * @param referrals nodes that each node refers to, by number
 */
export function* strangers(
  graph: WorkflowGraph,
  referrals: ReadonlyMap<number, Iterable<number>>,
): Generator<undefined, Referral[]> {
  const distant = yield* referralsToOthers(graph, referrals);
  const sources = [...distant.keys()];
  const found: Referral[] = [];
  for (let first = 0; first < sources.length; first += WALK_NODES) {
    const some = sources.slice(first, first + WALK_NODES);
    const marks = marksOfDescendants(graph, some);
    for (const [bit, from] of some.entries()) {
      for (const node of distant.get(from) ?? []) {
        if ((((marks[node] as number) >>> bit) & 1) === 0) found.push({ node, from });
      }
    }
    yield;
  }
  return found.sort((a, b) => a.node - b.node);
}

/** Referrals to nodes that are no parents, by the node that they refer to. Most referrals are to parents. */
function* referralsToOthers(
  graph: WorkflowGraph,
  referrals: ReadonlyMap<number, Iterable<number>>,
): Generator<undefined, Map<number, number[]>> {
  const distant = new Map<number, number[]>();
  let count = 0;
  for (const [node, sources] of referrals) {
    const parents = new Set<number>();
    for (const edge of edgesOf(graph.parents, node)) parents.add(nodeOfEdge(edge));
    for (const from of sources) {
      if (parents.has(from)) continue;
      const nodes = distant.get(from);
      if (nodes === undefined) distant.set(from, [node]);
      else nodes.push(node);
    }
    if (++count % STEP_NODES === 0) yield;
  }
  return distant;
}

/** A number for each node, whose bits say of which sources the node is a descendant. */
function marksOfDescendants({ children, order }: WorkflowGraph, sources: readonly number[]): Uint32Array {
  const marks = new Uint32Array(order.length);
  const own = new Uint32Array(order.length);
  for (const [bit, source] of sources.entries()) own[source] = 1 << bit;
  for (const node of order) {
    const mark = (marks[node] as number) | (own[node] as number);
    if (mark === 0) continue;
    for (const edge of edgesOf(children, node)) (marks[nodeOfEdge(edge)] as number) |= mark;
  }
  return marks;
}
