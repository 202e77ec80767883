import type { Incarnation } from "../ids.ts";

/** A node with the links that it reports. */
export interface Reaching {
  incarnation: Incarnation;
  /** Nodes to which it has a link; null: a node of an earlier feature level, which does not report links. */
  reaches: readonly Incarnation[] | null;
}

/**
 * Limit of the search in pairs of nodes visited, which is some milliseconds. Beyond it the search drops the node with
 * the most broken links without trying the alternative, so the answer is a valid group, but perhaps not the largest
 * one.
 */
const PAIRS_MAX = 400_000;

/** Whether both nodes reach each other. If one node does not report links, the other one's report counts. */
export function isLinked(one: Reaching, other: Reaching): boolean {
  return says(one, other) && says(other, one);
}

function says({ reaches }: Reaching, { incarnation }: Reaching): boolean {
  return reaches === null || reaches.includes(incarnation);
}

/**
 * Finds the nodes that may own shards: the largest group in which every node reaches every other one. Among groups of
 * the same size, the one with the lowest node ids wins, which are those of the nodes that started first. Every node
 * computes the same group from the same list, so the sides of a partition agree without messages.
 * @param nodes each incarnation once, in any order
 * @returns in the order of `nodes`; empty only without nodes
 */
export function largestGroup<Node extends Reaching>(nodes: readonly Node[]): Node[] {
  const sorted = [...nodes].sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
  const broken = sorted.map((node) => sorted.map((other) => node !== other && !isLinked(node, other)));
  const all = sorted.map((_, index) => index);
  const kept = new Set(new GroupSearch(broken).largest(all).map((index) => sorted[index]));
  return nodes.filter((node) => kept.has(node));
}

/** Search for the largest group. Nodes are numbers here, in the order of their ids. */
class GroupSearch {
  readonly #broken: readonly (readonly boolean[])[];
  #pairs = 0;

  constructor(broken: readonly (readonly boolean[])[]) {
    this.#broken = broken;
  }

  /**
   * Compares two cases: the node with the most broken links leaves the group, or it stays and the nodes without a link
   * to it leave.
   */
  largest(nodes: readonly number[]): readonly number[] {
    const { node, count } = this.#worst(nodes);
    if (count === 0) return nodes;
    const without = nodes.filter((other) => other !== node);
    if (count === 1) return this.largest(without);
    const dropped = this.largest(without);
    if (nodes.length - count < dropped.length || this.#pairs > PAIRS_MAX) return dropped;
    const kept = this.largest(nodes.filter((other) => !this.#isBroken(node, other)));
    return isBetter(kept, dropped) ? kept : dropped;
  }

  /** The node with the most broken links; among equals the one with the highest id. */
  #worst(nodes: readonly number[]): { node: number; count: number } {
    this.#pairs += nodes.length ** 2;
    let worst = { node: -1, count: 0 };
    for (const node of nodes) {
      const count = nodes.filter((other) => this.#isBroken(node, other)).length;
      if (count > 0 && count >= worst.count) worst = { node, count };
    }
    return worst;
  }

  #isBroken(node: number, other: number): boolean {
    return this.#broken[node]?.[other] === true;
  }
}

/** Whether one group is preferred to the other. Both are sorted. */
function isBetter(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return one.length > other.length;
  const at = one.findIndex((node, index) => node !== other[index]);
  return at >= 0 && (one[at] as number) < (other[at] as number);
}

/** Whether a node is cut off: it and the owners do not reach each other. */
export function isCutOff(node: Reaching, owners: readonly Reaching[], canOwn: boolean): boolean {
  if (owners.length === 0 || owners.some(({ incarnation }) => incarnation === node.incarnation)) return false;
  return canOwn || !owners.some((owner) => isLinked(node, owner));
}
