import { invariant } from "../invariant.ts";
import type { WorkflowGraph } from "./graph.ts";
import {
  BLOCKED,
  CANCELLED,
  DEAD,
  LIVE,
  type NodeOutcome,
  type NodeState,
  PASSED_OVER,
  Picture,
  type PictureChange,
  READY,
} from "./picture.ts";
import { deadEdges, openParents, type SkipCause } from "./skip-cause.ts";

export type { NodeOutcome, NodeState } from "./picture.ts";

/**
 * Mode of a run. A run goes through its modes in this order, and may leave some out. RUNNING: all nodes start when their
 * edges allow it. FAILING: only survivors start (nodes with an edge FAILED or FINISHED, and their descendants).
 * CANCELLING: no node starts.
 */
export type RunMode = "RUNNING" | "FAILING" | "CANCELLING";

const MODES: readonly RunMode[] = ["RUNNING", "FAILING", "CANCELLING"];

/** Consequences of an event. */
export interface ProgressChange extends PictureChange {
  /** LIVE nodes whose executions the new mode cancels. */
  readonly cancel: number[];
}

/**
 * End of a run. NODE_DEAD: a node without `allowFailure` is DEAD; `node` is the first one in topological order.
 * NODE_CANCELLED: none is DEAD, and a node without `allowFailure` is CANCELLED; `node` is the first one.
 */
export type RunEnd =
  | { state: "SUCCEEDED" | "CANCELLED"; reason: null; node: null }
  | { state: "DEAD"; reason: "NODE_DEAD" | "NODE_CANCELLED"; node: number };

/**
 * Progress of one run of a workflow. Nodes are numbers.
 *
 * An edge is open until its parent is final or SKIPPED. Then the edge is met or dead:
 *
 * | parent    | SUCCEEDED | FAILED | FINISHED | BRANCH:x                  |
 * | --------- | --------- | ------ | -------- | ------------------------- |
 * | SUCCEEDED | met       | dead   | met      | met if the branch is x    |
 * | DEAD      | dead      | met    | met      | dead                      |
 * | SKIPPED   | dead      | dead   | met      | dead                      |
 * | CANCELLED | dead      | dead   | met      | dead                      |
 *
 * A node with join ALL is READY when all edges are met, and SKIPPED when one is dead. A node with join ANY is READY when
 * one edge is met, and SKIPPED when all are dead. A node without edges is READY at once.
 *
 * The states of all nodes are a function of the graph, the executions (LIVE ones, and final ones with their outcomes)
 * and the mode. `of` computes the states from the rows, and gets the same states as the calls of `takeReady`, `ended`
 * and `setMode` in any order that leads to these rows. The mode FAILING follows from the rows too: under FAIL_FAST, a DEAD
 * node without `allowFailure` makes a RUNNING run FAILING, whatever mode its row says.
 *
 * While the mode stays RUNNING, neither the order of ends nor the window decides which nodes get an execution, so each
 * node comes to the same state for the same outcomes. A change of the mode makes a difference between nodes that have an
 * execution, which are cancelled, and nodes that have none, which are SKIPPED; both meet FINISHED and no other condition.
 * So the states at the end depend on the moment of the change only by the set of executions that exist at that moment,
 * and by the outcomes of those that end before their cancellation.
 *
 * A CANCELLED node does not make the run FAILING: somebody who cancels one node lets the others go on.
 */
export class RunProgress {
  readonly graph: WorkflowGraph;
  readonly #picture: Picture;
  #mode: RunMode;
  /** Picture of the same executions in a RUNNING run, for `whySkipped`; null: not computed since the last change. */
  #undisturbed: Picture | null = null;

  private constructor(graph: WorkflowGraph, mode: RunMode) {
    this.graph = graph;
    this.#picture = new Picture(graph);
    this.#mode = mode;
  }

  /**
   * Progress of a run by its rows. A new run has no executions.
   * @param outcomes outcomes of the nodes whose executions are final
   * @param live nodes whose executions are not final
   */
  static of(
    graph: WorkflowGraph,
    outcomes: Iterable<readonly [number, NodeOutcome]>,
    live: Iterable<number>,
    mode: RunMode,
  ): RunProgress {
    const progress = new RunProgress(graph, mode);
    for (const [node, outcome] of outcomes) progress.#end(node, outcome);
    for (const node of live) progress.#picture.begin(node);
    for (const node of progress.#nodesToPassOver()) progress.#picture.passOver(node);
    progress.#picture.settle();
    return progress;
  }

  get mode(): RunMode {
    return this.#mode;
  }

  /** Number of nodes whose executions are not final. */
  get live(): number {
    return this.#picture.live;
  }

  /** Number of nodes that may start. */
  get ready(): number {
    return this.#picture.ready.size;
  }

  /** Number of nodes in a state. */
  count(state: NodeState): number {
    return this.#picture.count(state);
  }

  stateOf(node: number): NodeState {
    return this.#picture.state(node);
  }

  /**
   * Makes READY nodes LIVE, the first ones in topological order.
   * @param max room in the run's window, in nodes; 0 or less: none
   */
  takeReady(max: number): number[] {
    const taken: number[] = [];
    while (taken.length < max && this.ready > 0) {
      const node = this.graph.order[this.#picture.ready.first()] as number;
      this.#picture.begin(node);
      taken.push(node);
    }
    return taken;
  }

  /**
   * Applies the end of a LIVE node's execution. The mode is FAILING afterwards if the end makes the run fail fast. The
   * change names nodes that became READY or SKIPPED, and those to cancel.
   */
  ended(node: number, outcome: NodeOutcome): ProgressChange {
    invariant(this.#picture.code(node) === LIVE, "a node ends while it is live");
    const change: ProgressChange = { ready: [], skipped: [], cancel: [] };
    const { mode } = this;
    this.#end(node, outcome);
    this.#picture.spread(node, change);
    if (this.mode !== mode) this.#applyMode(change);
    return change;
  }

  /** Changes the mode. A run never goes back to an earlier mode. */
  setMode(mode: RunMode): ProgressChange {
    invariant(MODES.indexOf(mode) >= MODES.indexOf(this.#mode), "the mode of a run goes forward");
    const change: ProgressChange = { ready: [], skipped: [], cancel: [] };
    this.#mode = mode;
    this.#applyMode(change);
    return change;
  }

  /** LIVE nodes whose executions the mode cancels, in topological order: after a takeover, the owner cancels them again. */
  toCancel(): number[] {
    return [...this.graph.order.filter((node) => this.#isStopped(node) && this.#picture.code(node) === LIVE)];
  }

  /** End of the run; null: nodes are LIVE or READY. */
  end(): RunEnd | null {
    if (this.live > 0 || this.ready > 0) return null;
    if (this.#mode === "CANCELLING") return { state: "CANCELLED", reason: null, node: null };
    const dead = this.#firstFatal(DEAD);
    if (dead !== null) return { state: "DEAD", reason: "NODE_DEAD", node: dead };
    const cancelled = this.#firstFatal(CANCELLED);
    if (cancelled !== null) return { state: "DEAD", reason: "NODE_CANCELLED", node: cancelled };
    return { state: "SUCCEEDED", reason: null, node: null };
  }

  /**
   * Parents for which a BLOCKED node waits, in order of their numbers, each once. The number of open edges is larger
   * where a node has several edges from one parent.
   */
  openParents(node: number): number[] {
    return this.#picture.code(node) === BLOCKED ? openParents(this.#picture, node) : [];
  }

  /** Number of open edges of a BLOCKED node; 0 for other nodes. */
  openEdges(node: number): number {
    return this.#picture.code(node) === BLOCKED ? this.#picture.openEdges(node) : 0;
  }

  /**
   * Cause why a node is SKIPPED without an execution. Edges come first: the cause of a node that its edges skip in a
   * RUNNING run too, with the same executions, are its edges. So the cause is a function of the rows as well.
   * @returns null: the node has another state, or its execution says why it is SKIPPED
   */
  whySkipped(node: number): SkipCause | null {
    if (this.#picture.code(node) !== PASSED_OVER) return null;
    if (this.#mode === "RUNNING" || !this.#isStopped(node)) return deadEdges(this.#picture, node);
    this.#undisturbed ??= Picture.ofExecutions(this.#picture);
    if (this.#undisturbed.code(node) === PASSED_OVER) return deadEdges(this.#undisturbed, node);
    return { kind: this.#mode === "FAILING" ? "WORKFLOW_FAILED" : "WORKFLOW_CANCELLED" };
  }

  #end(node: number, outcome: NodeOutcome): void {
    this.#picture.end(node, outcome);
    this.#undisturbed = null;
    const isFatal = outcome.state === "DEAD" && !this.graph.allowsFailure(node);
    if (isFatal && this.graph.onFailure === "FAIL_FAST" && this.#mode === "RUNNING") this.#mode = "FAILING";
  }

  #applyMode(change: ProgressChange): void {
    const passedOver = this.#nodesToPassOver();
    for (const node of passedOver) this.#picture.passOver(node);
    for (const node of passedOver) this.#picture.spread(node, change);
    for (const node of passedOver) change.skipped.push(node);
    for (const node of this.toCancel()) change.cancel.push(node);
  }

  #nodesToPassOver(): number[] {
    const isWaiting = (node: number) => this.#picture.code(node) === BLOCKED || this.#picture.code(node) === READY;
    return [...this.graph.order.filter((node) => this.#isStopped(node) && isWaiting(node))];
  }

  /** Whether the mode keeps the node from starting, and cancels its execution. */
  #isStopped(node: number): boolean {
    if (this.#mode === "FAILING") return !this.graph.survives(node);
    return this.#mode === "CANCELLING";
  }

  #firstFatal(code: number): number | null {
    return (
      this.graph.order.find((node) => this.#picture.code(node) === code && !this.graph.allowsFailure(node)) ?? null
    );
  }
}
