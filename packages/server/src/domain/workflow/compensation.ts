import { invariant } from "../invariant.ts";
import { edgesOf, nodeOfEdge } from "./adjacency.ts";
import type { WorkflowGraph } from "./graph.ts";
import { PositionSet } from "./position-set.ts";
import type { RunProgress } from "./readiness.ts";

/**
 * State of a node's compensation. BLOCKED: the compensation of a descendant is not final. READY: it may start, and has no
 * execution. LIVE: its execution exists and is not final. FAILED: its execution is final and has not SUCCEEDED. SKIPPED: it
 * never starts, because the compensation of a descendant FAILED.
 */
export type CompensationState = "BLOCKED" | "READY" | "LIVE" | "SUCCEEDED" | "FAILED" | "SKIPPED";

/** Codes of states. NONE: the node is not compensated, and only passes the order on. */
const NONE = 0;
const BLOCKED = 1;
const READY = 2;
const LIVE = 3;
const SUCCEEDED = 4;
const FAILED = 5;
const SKIPPED = 6;
const NAMES: readonly (CompensationState | null)[] = [
  null,
  "BLOCKED",
  "READY",
  "LIVE",
  "SUCCEEDED",
  "FAILED",
  "SKIPPED",
];

/**
 * Compensation of a run whose nodes have ended: the compensated nodes in reverse topological order. A node's compensation
 * is READY when the compensations of all its descendants SUCCEEDED. All other nodes pass the order on, whatever their
 * state and their conditions.
 *
 * The states are a function of the graph, the compensated nodes, and the executions of compensations. `of` computes the
 * states from the rows, and gets the same states as the calls of `takeReady` and `ended` in any order that leads to these
 * rows. Memory: 6 bytes and a bit for each node.
 */
export class Compensation {
  readonly graph: WorkflowGraph;
  readonly #codes: Uint8Array;
  /** Number of edges to children that are not cleared, by node. */
  readonly #open: Uint32Array;
  /** Nodes with a descendant whose compensation FAILED. */
  readonly #stopped: Uint8Array;
  /** READY nodes by their places in the reverse of the topological order. */
  readonly #ready: PositionSet;
  #live = 0;

  private constructor(graph: WorkflowGraph, compensated: Iterable<number>) {
    const { nodeCount } = graph;
    this.graph = graph;
    this.#codes = new Uint8Array(nodeCount);
    this.#open = Uint32Array.from({ length: nodeCount }, (_, node) => edgesOf(graph.children, node).length);
    this.#stopped = new Uint8Array(nodeCount);
    this.#ready = new PositionSet(nodeCount);
    for (const node of compensated) this.#codes[node] = BLOCKED;
  }

  /**
   * Compensation of a run by its rows. A run that begins its compensation has no executions of it.
   * @param compensated nodes that the run compensates
   * @param ended compensations whose executions are final, with whether they SUCCEEDED
   * @param live nodes whose compensations have executions that are not final
   */
  static of(
    graph: WorkflowGraph,
    compensated: Iterable<number>,
    ended: Iterable<readonly [node: number, succeeded: boolean]>,
    live: Iterable<number>,
  ): Compensation {
    const compensation = new Compensation(graph, compensated);
    const codes = compensation.#codes;
    for (const [node, succeeded] of ended) codes[node] = succeeded ? SUCCEEDED : FAILED;
    for (const node of live) {
      codes[node] = LIVE;
      compensation.#live++;
    }
    compensation.#settle();
    return compensation;
  }

  /** Number of nodes whose compensations have executions that are not final. */
  get live(): number {
    return this.#live;
  }

  /** Number of nodes whose compensations may start. */
  get ready(): number {
    return this.#ready.size;
  }

  /** State of a node's compensation; null: the node is not compensated. */
  stateOf(node: number): CompensationState | null {
    return NAMES[this.#codes[node] as number] as CompensationState | null;
  }

  /** The first node in reverse topological order whose compensation FAILED; null: there is none. */
  get failed(): number | null {
    return this.graph.order.findLast((node) => this.#codes[node] === FAILED) ?? null;
  }

  /**
   * Makes READY compensations LIVE, the first ones in reverse topological order.
   * @param max room in the run's window, in nodes; 0 or less: none
   */
  takeReady(max: number): number[] {
    const taken: number[] = [];
    while (taken.length < max && this.ready > 0) {
      const node = this.graph.order[this.graph.order.length - 1 - this.#ready.first()] as number;
      this.#set(node, LIVE);
      this.#live++;
      taken.push(node);
    }
    return taken;
  }

  /** Applies the end of the execution of a LIVE compensation. */
  ended(node: number, succeeded: boolean): void {
    invariant(this.#codes[node] === LIVE, "a compensation ends while it is live");
    this.#live--;
    this.#set(node, succeeded ? SUCCEEDED : FAILED);
    if (succeeded) this.#clear(node);
    else this.#stopBefore([node]);
  }

  /** The nearest descendants whose compensations a BLOCKED or SKIPPED one waits for, in order of their numbers. */
  openAfter(node: number): number[] {
    const found = new Set<number>();
    const seen = new Set([node]);
    // The loop adds to the set that it goes through. No recursion, because a chain may have 10,000 nodes.
    for (const at of seen) {
      for (const edge of edgesOf(this.graph.children, at)) {
        const child = nodeOfEdge(edge);
        const code = this.#codes[child] as number;
        if (code === NONE) seen.add(child);
        else if (code !== SUCCEEDED) found.add(child);
      }
    }
    return [...found].sort((a, b) => a - b);
  }

  /** Clears edges from the last nodes to the first, and then stops the nodes before failures. */
  #settle(): void {
    const failed: number[] = [];
    for (let place = this.graph.order.length - 1; place >= 0; place--) {
      const node = this.graph.order[place] as number;
      const code = this.#codes[node] as number;
      if (code === FAILED) failed.push(node);
      if (this.#open[node] !== 0) continue;
      if (code === BLOCKED) this.#set(node, READY);
      else if (code === NONE || code === SUCCEEDED) for (const parent of this.#parents(node)) this.#countDown(parent);
    }
    this.#stopBefore(failed);
  }

  /** Clears the edges to a node, and to every node that passes the order on as a consequence. */
  #clear(node: number): void {
    const cleared = [node];
    for (let at = cleared.pop(); at !== undefined; at = cleared.pop()) {
      for (const parent of this.#parents(at)) {
        if (!this.#countDown(parent)) continue;
        if (this.#codes[parent] === NONE) cleared.push(parent);
        else if (this.#codes[parent] === BLOCKED) this.#set(parent, READY);
      }
    }
  }

  /** @returns whether no edge to a child of the node is left */
  #countDown(node: number): boolean {
    return --(this.#open[node] as number) === 0;
  }

  /** Stops all ancestors of some nodes. */
  #stopBefore(nodes: readonly number[]): void {
    const next = [...nodes];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      for (const parent of this.#parents(at)) {
        if (this.#stopped[parent] === 1) continue;
        this.#stopped[parent] = 1;
        if (this.#codes[parent] === BLOCKED) this.#set(parent, SKIPPED);
        next.push(parent);
      }
    }
  }

  *#parents(node: number): Generator<number> {
    for (const edge of edgesOf(this.graph.parents, node)) yield nodeOfEdge(edge);
  }

  #set(node: number, code: number): void {
    const place = this.graph.order.length - 1 - (this.graph.positions[node] as number);
    if (this.#codes[node] === READY) this.#ready.delete(place);
    if (code === READY) this.#ready.add(place);
    this.#codes[node] = code;
  }
}

/**
 * Nodes that a run compensates whose nodes have ended: those that SUCCEEDED and declare a compensation. A node that the run
 * keeps from an earlier one counts as well.
 */
export function nodesToCompensate(progress: RunProgress, nodes: readonly { compensate?: unknown }[]): number[] {
  const succeeded = (node: number) => progress.stateOf(node) === "SUCCEEDED";
  return nodes.flatMap(({ compensate }, node) => (compensate !== undefined && succeeded(node) ? [node] : []));
}
