import { type Adjacency, conditionOfEdge, edgesOf, endCounts, nodeOfEdge, reversed } from "./adjacency.ts";
import { WHEN_BRANCH, WHEN_FAILED, WHEN_FINISHED } from "./conditions.ts";
import type { OnFailure } from "./definition.ts";
import type { MapRules } from "./map-items.ts";

/** Bits of a node's flags. The definition decides all but SURVIVES. */
export const JOIN_ANY = 1;
export const ALLOW_FAILURE = 2;
/**
 * The node still starts after the run has failed: the node has an edge FAILED or FINISHED, or is a descendant of such a
 * node.
 */
const SURVIVES = 4;
/** The node runs once for each item of an array. */
export const MAP = 8;

/** Content of a graph that cannot be computed from other content. */
export interface GraphParts {
  readonly onFailure: OnFailure;
  /** Names of the branches that conditions name; the index of a name is part of the code of its condition. */
  readonly branches: readonly string[];
  /** JOIN_ANY, ALLOW_FAILURE and MAP of each node. */
  readonly flags: Uint8Array;
  /** Rules of the nodes with MAP. */
  readonly maps: ReadonlyMap<number, MapRules>;
  /** Edges to the children of each node, sorted by child. */
  readonly children: Adjacency;
}

/**
 * Compiled graph of a workflow without names of nodes: a node is its index in the definition. All runs of a definition
 * share one graph, and nothing may change it. Memory: 17 bytes a node and 4 bytes an edge; explanations need 4 bytes a
 * node and 4 bytes an edge more, from the first one on.
 */
export class WorkflowGraph implements GraphParts {
  readonly onFailure: OnFailure;
  readonly branches: readonly string[];
  readonly flags: Uint8Array;
  readonly maps: ReadonlyMap<number, MapRules>;
  readonly children: Adjacency;
  /** Number of edges from parents, by node. */
  readonly parentCounts: Uint32Array;
  /** All nodes in topological order. */
  readonly order: Uint32Array;
  /** Index in `order`, by node. */
  readonly positions: Uint32Array;
  /** Codes of BRANCH conditions by branch. */
  readonly #branchCodes: ReadonlyMap<string, number>;
  #parents: Adjacency | null = null;

  /** @param order all nodes in topological order */
  constructor(parts: GraphParts, order: Uint32Array) {
    this.onFailure = parts.onFailure;
    this.branches = parts.branches;
    this.children = parts.children;
    this.maps = parts.maps;
    this.order = order;
    this.flags = withSurvivors(parts, order);
    this.parentCounts = endCounts(parts.children);
    this.positions = new Uint32Array(order.length);
    for (const [position, node] of order.entries()) this.positions[node] = position;
    this.#branchCodes = new Map(parts.branches.map((name, index) => [name, WHEN_BRANCH + index]));
  }

  get nodeCount(): number {
    return this.flags.length;
  }

  /** Edges to the parents of each node, sorted by parent. Only explanations need them, so the first use computes them. */
  get parents(): Adjacency {
    return (this.#parents ??= reversed(this.children));
  }

  /** Code of the condition that a branch meets; null: no condition names the branch. */
  branchCode(branch: string): number | null {
    return this.#branchCodes.get(branch) ?? null;
  }

  isAny(node: number): boolean {
    return ((this.flags[node] as number) & JOIN_ANY) !== 0;
  }

  allowsFailure(node: number): boolean {
    return ((this.flags[node] as number) & ALLOW_FAILURE) !== 0;
  }

  isMap(node: number): boolean {
    return ((this.flags[node] as number) & MAP) !== 0;
  }

  /** Whether the node still starts after the run has failed, if its edges allow it. */
  survives(node: number): boolean {
    return ((this.flags[node] as number) & SURVIVES) !== 0;
  }
}

function withSurvivors({ flags, children }: GraphParts, order: Uint32Array): Uint8Array {
  const all = flags.slice();
  for (const node of order) {
    const isSurvivor = ((all[node] as number) & SURVIVES) !== 0;
    for (const edge of edgesOf(children, node)) {
      const when = conditionOfEdge(edge);
      if (isSurvivor || when === WHEN_FAILED || when === WHEN_FINISHED) (all[nodeOfEdge(edge)] as number) |= SURVIVES;
    }
  }
  return all;
}
