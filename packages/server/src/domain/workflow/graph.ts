import { type Adjacency, conditionOfEdge, edgesOf, endCounts, nodeOfEdge, reversed } from "./adjacency.ts";
import { WHEN_BRANCH, WHEN_FAILED, WHEN_FINISHED } from "./conditions.ts";
import type { OnFailure } from "./definition.ts";
import type { MapRules } from "./map-items.ts";

/** Bits of a node's flags. The definition decides all but SURVIVES. */
export const JOIN_ANY = 1;
export const ALLOW_FAILURE = 2;
/**
 * The node still starts after the run has failed: the node has an edge FAILED or FINISHED, is a descendant of such a
 * node, or was added by the handler of such a node.
 */
const SURVIVES = 4;
/** The node runs once for each item of an array. */
export const MAP = 8;
/** Nodes that depend on the node's spawner do not wait for the node. Only nodes of parts have the flag. */
export const DETACHED = 16;
/** There is no node of this number, because the part that took the number was not written. */
export const VOID = 32;

/** Numbers of the nodes that a node's handler has added to the run. */
export interface Spawn {
  /** Node whose handler has added the nodes. */
  readonly spawner: number;
  /** Number of the first node. */
  readonly first: number;
  /** Number of nodes, which have consecutive numbers. */
  readonly count: number;
}

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
  /** Parts that handlers have added to a run. Left out: none. */
  readonly spawns?: readonly Spawn[];
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
  /** Parts that handlers have added to the run, by spawner. */
  readonly spawnsOf: ReadonlyMap<number, Spawn>;
  /** Spawner of each node, -1 for nodes of the definition; null: there are no parts. */
  readonly #spawners: Int32Array | null;
  /** Number of edges from parents, by node. */
  readonly parentCounts: Uint32Array;
  /** All nodes in topological order. */
  readonly order: Uint32Array;
  /** Index in `order`, by node. */
  readonly positions: Uint32Array;
  /** Codes of BRANCH conditions by branch. */
  readonly #branchCodes: ReadonlyMap<string, number>;
  #parents: Adjacency | null = null;

  /** @param order all nodes in topological order, the nodes of a part behind their spawner and before its other descendants */
  constructor(parts: GraphParts, order: Uint32Array) {
    this.onFailure = parts.onFailure;
    this.branches = parts.branches;
    this.children = parts.children;
    this.maps = parts.maps;
    this.order = order;
    this.spawnsOf = new Map(parts.spawns?.map((spawn) => [spawn.spawner, spawn]));
    this.#spawners = this.spawnsOf.size === 0 ? null : spawnersOf(parts);
    this.flags = withSurvivors(parts, order);
    this.parentCounts = endCounts(parts.children);
    this.positions = new Uint32Array(this.nodeCount);
    for (const [position, node] of order.entries()) this.positions[node] = position;
    this.#branchCodes = new Map(parts.branches.map((name, index) => [name, WHEN_BRANCH + index]));
  }

  /** Number of numbers that nodes have, among them those of void nodes. */
  get nodeCount(): number {
    return this.flags.length;
  }

  /** Node whose handler has added the node; -1: the definition has the node. */
  spawnerOf(node: number): number {
    return this.#spawners?.[node] ?? -1;
  }

  /** Spawner whose dependents wait for the node; -1: there is none. */
  holderOf(node: number): number {
    return ((this.flags[node] as number) & DETACHED) === 0 ? this.spawnerOf(node) : -1;
  }

  /** Whether there is no node of this number. */
  isVoid(node: number): boolean {
    return ((this.flags[node] as number) & VOID) !== 0;
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

/** Nodes that a spawn names. */
export function* nodesOfSpawn({ first, count }: Spawn): Generator<number> {
  for (let node = first; node < first + count; node++) yield node;
}

function spawnersOf({ flags, spawns = [] }: GraphParts): Int32Array {
  const spawners = new Int32Array(flags.length).fill(-1);
  for (const { spawner, first, count } of spawns) spawners.fill(spawner, first, first + count);
  return spawners;
}

function withSurvivors({ flags, children, spawns = [] }: GraphParts, order: Uint32Array): Uint8Array {
  const all = flags.map((of) => of & ~SURVIVES);
  const bySpawner = new Map(spawns.map((spawn) => [spawn.spawner, spawn]));
  for (const node of order) {
    const isSurvivor = ((all[node] as number) & SURVIVES) !== 0;
    const spawn = isSurvivor ? bySpawner.get(node) : undefined;
    if (spawn !== undefined) for (const spawned of nodesOfSpawn(spawn)) (all[spawned] as number) |= SURVIVES;
    for (const edge of edgesOf(children, node)) {
      const when = conditionOfEdge(edge);
      if (isSurvivor || when === WHEN_FAILED || when === WHEN_FINISHED) (all[nodeOfEdge(edge)] as number) |= SURVIVES;
    }
  }
  return all;
}
