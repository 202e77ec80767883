import type { Incarnation } from "../ids.ts";

/** A node and what it says of its links. */
export interface Reaching {
  incarnation: Incarnation;
  /** Nodes to which it has a link; null: a node of an earlier feature level, which does not say. */
  reaches: readonly Incarnation[] | null;
}

/**
 * A limit for the search, in pairs of nodes looked at: some milliseconds. Beyond it the search drops the node with the most
 * broken links without trying what follows if it stays; the answer is then a group, but perhaps not the largest one.
 */
const PAIRS_MAX = 400_000;

/** Whether both nodes reach each other. For a node that does not say the word of the other one counts. */
export function isLinked(one: Reaching, other: Reaching): boolean {
  return says(one, other) && says(other, one);
}

function says({ reaches }: Reaching, { incarnation }: Reaching): boolean {
  return reaches === null || reaches.includes(incarnation);
}

/**
 * The nodes that may own shards: the largest group in which every node reaches every other one. Among groups of the same size
 * the one with the lowest node ids, which are those of the nodes that started first. Every node computes the same group
 * from the same list, so the sides of a partition agree without a word between them.
 * @param nodes each incarnation once; in any order
 * @returns in the order of `nodes`; empty only where there are no nodes
 */
export function largestGroup<Node extends Reaching>(nodes: readonly Node[]): Node[] {
  const sorted = [...nodes].sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
  const broken = sorted.map((node) => sorted.map((other) => node !== other && !isLinked(node, other)));
  const all = sorted.map((_, index) => index);
  const kept = new Set(new GroupSearch(broken).largest(all).map((index) => sorted[index]));
  return nodes.filter((node) => kept.has(node));
}

/** Nodes are numbers here, in the order of their ids. */
class GroupSearch {
  readonly #broken: readonly (readonly boolean[])[];
  #pairs = 0;

  constructor(broken: readonly (readonly boolean[])[]) {
    this.#broken = broken;
  }

  /** Either the node with the most broken links goes, or it stays and those go that it is not linked with. */
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

  /** Among nodes with the same number of broken links, the one with the highest id. */
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

/** Both are sorted. */
function isBetter(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return one.length > other.length;
  const at = one.findIndex((node, index) => node !== other[index]);
  return at >= 0 && (one[at] as number) < (other[at] as number);
}

/** Whether a node can do nothing for the owners, because it and they do not reach each other. */
export function isCutOff(node: Reaching, owners: readonly Reaching[], canOwn: boolean): boolean {
  if (owners.length === 0 || owners.some(({ incarnation }) => incarnation === node.incarnation)) return false;
  return canOwn || !owners.some((owner) => isLinked(node, owner));
}
