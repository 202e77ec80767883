import type { FinalState } from "../execution.ts";
import { invariant } from "../invariant.ts";
import { conditionOfEdge, nodeOfEdge } from "./adjacency.ts";
import { WHEN_FAILED, WHEN_FINISHED, WHEN_SUCCEEDED } from "./conditions.ts";
import { nodesOfSpawn, type WorkflowGraph } from "./graph.ts";
import { PositionSet } from "./position-set.ts";

/** End of a node's execution. */
export interface NodeOutcome {
  state: FinalState;
  /** Branch that the handler named; null: none. It counts for SUCCEEDED only. */
  branch: string | null;
}

/**
 * State of a node. BLOCKED: at least one edge is open, and the closed ones do not decide. READY: the node may start, and
 * has no execution, or its items are not counted. LIVE: the node's execution exists and is not final, or the items of the
 * map are counted and the map has not ended. SKIPPED: the execution is SKIPPED, or the node will never have one.
 */
export type NodeState = "BLOCKED" | "READY" | "LIVE" | FinalState;

/** Codes of states. PASSED_OVER is SKIPPED without an execution. Codes from SUCCEEDED on close the edges to children. */
export const BLOCKED = 0;
export const READY = 1;
export const LIVE = 2;
export const SUCCEEDED = 3;
export const DEAD = 4;
export const CANCELLED = 5;
const SKIPPED = 6;
export const PASSED_OVER = 7;

const CODES = { SUCCEEDED, DEAD, CANCELLED, SKIPPED };
const NAMES: readonly NodeState[] = [
  "BLOCKED",
  "READY",
  "LIVE",
  "SUCCEEDED",
  "DEAD",
  "CANCELLED",
  "SKIPPED",
  "SKIPPED",
];

/** Nodes that changed their state, in no particular order. */
export interface PictureChange {
  readonly ready: number[];
  readonly skipped: number[];
}

/**
 * States of a run's nodes, and the rules of edges and joins. Memory: 5 bytes and a bit for each node, 4 bytes more if
 * the graph has branches, and 5 bytes more if it has parts.
 */
export class Picture {
  readonly graph: WorkflowGraph;
  /** READY nodes that are no maps. */
  readonly ready: PositionSet;
  /** READY maps: their items are not counted yet. */
  readonly uncounted = new Set<number>();
  readonly #codes: Uint8Array;
  /** Number of nodes by code. */
  readonly #counts = new Uint32Array(NAMES.length);
  /** Number of open edges to each BLOCKED node. Numbers of other nodes mean nothing. */
  readonly #open: Uint32Array;
  /** Code of the condition that each node's branch meets; WHEN_SUCCEEDED: none. null: the graph has no branches. */
  readonly #branchCodes: Uint32Array | null;
  /** Nodes that handlers have added; null: there are none. */
  readonly #spawned: SpawnedNodes | null;

  /** A picture in which every node is BLOCKED, also those that wait for nothing, until `settle`. */
  constructor(graph: WorkflowGraph) {
    this.graph = graph;
    this.ready = new PositionSet(graph.nodeCount);
    this.#codes = new Uint8Array(graph.nodeCount);
    this.#counts[BLOCKED] = graph.order.length;
    this.#open = graph.parentCounts.slice();
    this.#spawned = graph.spawnsOf.size === 0 ? null : new SpawnedNodes(graph);
    this.#branchCodes = graph.branches.length === 0 ? null : new Uint32Array(graph.nodeCount);
  }

  /**
   * A picture of the same executions, before `settle`.
   * @param graph the graph of the other picture, or one with further parts
   */
  static ofExecutions(other: Picture, graph = other.graph): Picture {
    const picture = new Picture(graph);
    for (const [node, code] of other.#codes.entries()) if (code >= LIVE && code < PASSED_OVER) picture.#set(node, code);
    if (other.#branchCodes !== null) picture.#branchCodes?.set(other.#branchCodes);
    return picture;
  }

  code(node: number): number {
    return this.#codes[node] as number;
  }

  state(node: number): NodeState {
    return NAMES[this.code(node)] as NodeState;
  }

  /** Number of nodes in a state. */
  count(state: NodeState): number {
    return this.#counts.reduce((sum, count, code) => (NAMES[code] === state ? sum + count : sum), 0);
  }

  /** Number of LIVE nodes. */
  get live(): number {
    return this.#counts[LIVE] as number;
  }

  /** Number of open edges to a BLOCKED node. */
  openEdges(node: number): number {
    return this.#open[node] as number;
  }

  /** Whether the edges to the children of a node are closed: it has ended, and so has all that its children wait for. */
  isClosed(node: number): boolean {
    return this.code(node) >= SUCCEEDED && !(this.#spawned?.isHeld(node) ?? false);
  }

  /** Whether an edge that is not open is met. */
  isMet(parent: number, when: number): boolean {
    return isMet(this.#closingCode(parent), this.#branchCodes?.[parent] ?? WHEN_SUCCEEDED, when);
  }

  begin(node: number): void {
    this.#set(node, LIVE);
  }

  /** Sets the end of a node's execution. `spread` shows it to the children. */
  end(node: number, { state, branch }: NodeOutcome): void {
    this.#set(node, CODES[state]);
    if (this.#branchCodes === null || branch === null) return;
    this.#branchCodes[node] = this.graph.branchCode(branch) ?? WHEN_SUCCEEDED;
  }

  /** Sets the states of all nodes without an execution. */
  settle(): this {
    const change: PictureChange = { ready: [], skipped: [] };
    for (const node of this.graph.order) {
      if (this.code(node) === BLOCKED && this.graph.parentCounts[node] === 0) this.#set(node, READY);
      if (this.code(node) >= SUCCEEDED) this.#close(node, change);
    }
    return this;
  }

  /** Passes over a node. `spread` shows it to the children. */
  passOver(node: number): void {
    this.#set(node, PASSED_OVER);
  }

  /**
   * Closes the edges to the children of a node, and of every node that is passed over as a consequence. No recursion,
   * because a chain may have 10,000 nodes.
   */
  spread(node: number, change: PictureChange): void {
    let next = change.skipped.length;
    this.#close(node, change);
    for (; next < change.skipped.length; next++) this.#close(change.skipped[next] as number, change);
  }

  /** Closes the edges of a node that has ended, and of the spawners that have waited for it. */
  #close(node: number, change: PictureChange): void {
    if (this.#spawned === null) return this.#closeEdges(node, change);
    let closing = node;
    while (this.isClosed(closing)) {
      this.#closeEdges(closing, change);
      const code = this.#closingCode(closing);
      const isBad = (code === DEAD || code === CANCELLED) && !this.graph.allowsFailure(closing);
      const holder = this.graph.holderOf(closing);
      if (holder < 0) return;
      this.#spawned.ended(holder, isBad);
      closing = holder;
    }
  }

  /** State of a node as the edges to its children see it. A spawner counts as DEAD if a node for which they wait is. */
  #closingCode(node: number): number {
    const code = this.code(node);
    return code === SUCCEEDED && this.#spawned?.hasFailed(node) === true ? DEAD : code;
  }

  #closeEdges(node: number, change: PictureChange): void {
    const { starts, edges } = this.graph.children;
    const code = this.#closingCode(node);
    const branchCode = this.#branchCodes?.[node] ?? WHEN_SUCCEEDED;
    for (let i = starts[node] as number; i < (starts[node + 1] as number); i++) {
      const edge = edges[i] as number;
      this.#count(nodeOfEdge(edge), isMet(code, branchCode, conditionOfEdge(edge)), change);
    }
  }

  /** A met edge decides for ANY, a dead one against ALL; otherwise the last edge decides. */
  #count(child: number, isMet: boolean, change: PictureChange): void {
    if (this.code(child) !== BLOCKED) return;
    const isLast = --(this.#open[child] as number) === 0;
    if (isMet !== this.graph.isAny(child) && !isLast) return;
    this.#set(child, isMet ? READY : PASSED_OVER);
    (isMet ? change.ready : change.skipped).push(child);
  }

  #set(node: number, code: number): void {
    const before = this.#codes[node];
    if (before === undefined || before >= SUCCEEDED) invariant(false, `node ${node} is in the graph and not final`);
    if (before === READY) this.#leaveReady(node);
    if (code === READY) this.#enterReady(node);
    (this.#counts[before] as number)--;
    (this.#counts[code] as number)++;
    this.#codes[node] = code;
  }

  #enterReady(node: number): void {
    if (this.graph.isMap(node)) this.uncounted.add(node);
    else this.ready.add(this.graph.positions[node] as number);
  }

  #leaveReady(node: number): void {
    if (this.graph.isMap(node)) this.uncounted.delete(node);
    else this.ready.delete(this.graph.positions[node] as number);
  }
}

/** Nodes of parts for which dependents of their spawners wait. */
class SpawnedNodes {
  /** Number of such nodes that have not ended, by spawner. */
  readonly #open: Uint32Array;
  /** 1: such a node of the spawner is DEAD or CANCELLED, and may not be. */
  readonly #failed: Uint8Array;

  constructor(graph: WorkflowGraph) {
    this.#open = new Uint32Array(graph.nodeCount);
    this.#failed = new Uint8Array(graph.nodeCount);
    for (const [spawner, spawn] of graph.spawnsOf) {
      for (const node of nodesOfSpawn(spawn)) if (graph.holderOf(node) === spawner) (this.#open[spawner] as number)++;
    }
  }

  isHeld(spawner: number): boolean {
    return (this.#open[spawner] as number) > 0;
  }

  hasFailed(spawner: number): boolean {
    return this.#failed[spawner] === 1;
  }

  ended(spawner: number, isBad: boolean): void {
    (this.#open[spawner] as number)--;
    if (isBad) this.#failed[spawner] = 1;
  }
}

function isMet(code: number, branchCode: number, when: number): boolean {
  if (code === SUCCEEDED) return when === WHEN_SUCCEEDED || when === WHEN_FINISHED || when === branchCode;
  if (code === DEAD) return when === WHEN_FAILED || when === WHEN_FINISHED;
  return when === WHEN_FINISHED;
}
