import type { FinalState } from "../execution.ts";
import { invariant } from "../invariant.ts";
import type { WorkflowGraph } from "./graph.ts";
import { MapItems, type MapRows } from "./map-items.ts";
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
  /** Whether `itemsToCancel` has items that it did not have before. */
  stopsItems: boolean;
}

/** An item of a map: the number of the node, and the index of the item. */
export type NodeItem = readonly [node: number, item: number];

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
 * A map whose edges allow its start is READY until its items are counted. It is LIVE then, and its state at the end
 * follows from its items; a map without items SUCCEEDED.
 *
 * The states of all nodes are a function of the graph, the executions (LIVE ones, and final ones with their outcomes),
 * the numbers of items of the counted maps, and the mode. `of` computes the states from the rows, and gets the same states as the calls of `takeReady`, `ended`
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
  /** LIVE maps. */
  readonly #maps = new Map<number, MapItems>();
  /** LIVE maps of which another item may start. */
  readonly #startable = new Set<number>();
  #liveItems = 0;
  /** Picture of the same executions in a RUNNING run, for `whySkipped`; null: not computed since the last change. */
  #undisturbed: Picture | null = null;

  private constructor(graph: WorkflowGraph, mode: RunMode, picture = new Picture(graph)) {
    this.graph = graph;
    this.#picture = picture;
    this.#mode = mode;
  }

  /**
   * Progress of a run by its rows. A new run has no executions.
   * @param outcomes outcomes of the nodes whose executions are final
   * @param live nodes whose executions are not final
   * @param maps counted maps with items; those that have an outcome do not count
   */
  static of(
    graph: WorkflowGraph,
    outcomes: Iterable<readonly [number, NodeOutcome]>,
    live: Iterable<number>,
    mode: RunMode,
    maps: Iterable<MapRows> = [],
  ): RunProgress {
    const progress = new RunProgress(graph, mode);
    for (const [node, outcome] of outcomes) progress.#end(node, outcome);
    for (const node of live) progress.#picture.begin(node);
    for (const rows of maps) progress.#open(rows);
    // Maps that are DEAD by their items decide about the mode, which decides about the other maps.
    for (const [node, items] of progress.#maps) progress.#close(node, items.outcome(false));
    for (const node of progress.#nodesToPassOver()) progress.#picture.passOver(node);
    for (const [node, items] of progress.#maps) progress.#close(node, items.outcome(progress.stops(node)));
    return progress.#settled();
  }

  /** The same progress in the run's graph with further parts, whose spawners are about to end. */
  extended(graph: WorkflowGraph): RunProgress {
    const progress = new RunProgress(graph, this.#mode, Picture.ofExecutions(this.#picture, graph));
    for (const [node, items] of this.#maps) progress.#maps.set(node, items);
    progress.#liveItems = this.#liveItems;
    for (const node of progress.#nodesToPassOver()) progress.#picture.passOver(node);
    return progress.#settled();
  }

  get mode(): RunMode {
    return this.#mode;
  }

  /** Number of executions that are not final, of nodes and items. */
  get live(): number {
    return this.#picture.live - this.#maps.size + this.#liveItems;
  }

  /** READY maps, whose items are not counted. */
  get uncounted(): ReadonlySet<number> {
    return this.#picture.uncounted;
  }

  /** Whether no node is LIVE or READY. */
  get isOver(): boolean {
    return this.#picture.live + this.ready + this.uncounted.size === 0;
  }

  /** Number of nodes that may start, without maps. */
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
   * Makes items of LIVE maps live, of each map the first ones, as many as the map allows.
   * @param max room in the run's window, in items; 0 or less: none
   */
  takeItems(max: number): NodeItem[] {
    const taken: NodeItem[] = [];
    for (const node of this.#startable) {
      if (taken.length >= max) break;
      const items = this.#itemsOf(node);
      while (taken.length < max && items.mayBegin) taken.push([node, items.begin()]);
      this.#refresh(node);
    }
    this.#liveItems += taken.length;
    return taken;
  }

  isItemLive(node: number, item: number): boolean {
    return this.#maps.get(node)?.live.has(item) === true;
  }

  /** Live items of all maps. */
  *liveItems(): Generator<NodeItem> {
    for (const [node, { live }] of this.#maps) for (const item of live) yield [node, item];
  }

  /** Live items that the mode, or the failure of their map, cancels. */
  *itemsToCancel(): Generator<NodeItem> {
    for (const [node, { live }] of this.#maps) if (this.stopsItemsOf(node)) for (const item of live) yield [node, item];
  }

  /** Whether the mode keeps the node from starting, and cancels its execution. */
  stops(node: number): boolean {
    if (this.#mode === "FAILING") return !this.graph.survives(node);
    return this.#mode === "CANCELLING";
  }

  /** Whether no further item of a LIVE map starts, and live ones are cancelled. */
  stopsItemsOf(node: number): boolean {
    return this.stops(node) || this.#maps.get(node)?.isBroken === true;
  }

  /** Figures of a map; null: the map is not LIVE. */
  itemsOf(node: number): (Pick<MapItems, "size" | "unborn"> & { live: number }) | null {
    const items = this.#maps.get(node);
    return items === undefined ? null : { size: items.size, unborn: items.unborn, live: items.live.size };
  }

  /**
   * Applies the number of items of an uncounted map. A map without items SUCCEEDED at once.
   * @param size number of items; null: the array cannot be had, and the map is DEAD
   */
  counted(node: number, size: number | null): ProgressChange {
    invariant(this.uncounted.has(node), "a map is counted once");
    if (size === null) return this.#finish(node, { state: "DEAD", branch: null });
    if (size === 0) return this.#finish(node, { state: "SUCCEEDED", branch: null });
    this.#open({ node, size, live: [], ended: [] });
    this.#refresh(node);
    return { ready: [], skipped: [], cancel: [], stopsItems: false };
  }

  /** Applies the end of a live item's execution, as `ended` does for a node. The map may end with it. */
  itemEnded(node: number, item: number, state: FinalState): ProgressChange {
    const items = this.#itemsOf(node);
    const wasBroken = items.isBroken;
    invariant(items.end(item, state), "an item ends while it is live");
    this.#liveItems--;
    const outcome = items.outcome(this.stops(node));
    if (outcome !== null) {
      this.#forget(node);
      return this.#finish(node, { state: outcome, branch: null });
    }
    this.#refresh(node);
    return { ready: [], skipped: [], cancel: [], stopsItems: items.isBroken && !wasBroken };
  }

  /**
   * Applies the end of a LIVE node's execution. The mode is FAILING afterwards if the end makes the run fail fast. The
   * change names nodes that became READY or SKIPPED, and those to cancel.
   */
  ended(node: number, outcome: NodeOutcome): ProgressChange {
    invariant(this.#picture.code(node) === LIVE && !this.#maps.has(node), "a node ends while it is live");
    return this.#finish(node, outcome);
  }

  /** Changes the mode. A run never goes back to an earlier mode. */
  setMode(mode: RunMode): ProgressChange {
    invariant(MODES.indexOf(mode) >= MODES.indexOf(this.#mode), "the mode of a run goes forward");
    const change: ProgressChange = { ready: [], skipped: [], cancel: [], stopsItems: false };
    this.#mode = mode;
    this.#applyMode(change);
    return change;
  }

  /** LIVE nodes whose executions the mode cancels, in topological order: after a takeover, the owner cancels them again. */
  toCancel(): number[] {
    const isLive = (node: number) => this.#picture.code(node) === LIVE && !this.#maps.has(node);
    return [...this.graph.order.filter((node) => this.stops(node) && isLive(node))];
  }

  /** End of the run; null: nodes are LIVE or READY. */
  end(): RunEnd | null {
    if (!this.isOver) return null;
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
    if (this.#mode === "RUNNING" || !this.stops(node)) return deadEdges(this.#picture, node);
    this.#undisturbed ??= Picture.ofExecutions(this.#picture).settle();
    if (this.#undisturbed.code(node) === PASSED_OVER) return deadEdges(this.#undisturbed, node);
    return { kind: this.#mode === "FAILING" ? "WORKFLOW_FAILED" : "WORKFLOW_CANCELLED" };
  }

  #settled(): RunProgress {
    this.#picture.settle();
    for (const node of this.#maps.keys()) this.#refresh(node);
    return this;
  }

  #itemsOf(node: number): MapItems {
    const items = this.#maps.get(node);
    invariant(items !== undefined, "the map is live");
    return items;
  }

  #open(rows: MapRows): void {
    const { node } = rows;
    const rules = this.graph.maps.get(node);
    invariant(rules !== undefined, "only maps have items");
    if (this.#picture.code(node) >= LIVE) return;
    const items = new MapItems(rows, rules, this.graph.onFailure === "FAIL_FAST");
    this.#picture.begin(node);
    this.#maps.set(node, items);
    this.#liveItems += items.live.size;
  }

  /** Ends a map without a consequence for other nodes. @param outcome null: it goes on */
  #close(node: number, outcome: FinalState | null): void {
    if (outcome === null) return;
    this.#forget(node);
    this.#end(node, { state: outcome, branch: null });
  }

  #forget(node: number): void {
    this.#maps.delete(node);
    this.#startable.delete(node);
  }

  #refresh(node: number): void {
    if (this.#itemsOf(node).mayBegin && !this.stops(node)) this.#startable.add(node);
    else this.#startable.delete(node);
  }

  #finish(node: number, outcome: NodeOutcome): ProgressChange {
    const change: ProgressChange = { ready: [], skipped: [], cancel: [], stopsItems: false };
    const { mode } = this;
    this.#end(node, outcome);
    this.#picture.spread(node, change);
    if (this.mode !== mode) this.#applyMode(change);
    return change;
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
    for (const [node, items] of this.#maps) if (this.stops(node)) this.#stopItems(node, items, change);
  }

  /** A map without live items ends with the mode that stops it. */
  #stopItems(node: number, items: MapItems, change: ProgressChange): void {
    const outcome = items.outcome(true);
    this.#close(node, outcome);
    if (outcome !== null) return this.#picture.spread(node, change);
    this.#refresh(node);
    change.stopsItems = true;
  }

  #nodesToPassOver(): number[] {
    const isWaiting = (node: number) => this.#picture.code(node) === BLOCKED || this.#picture.code(node) === READY;
    return [...this.graph.order.filter((node) => this.stops(node) && isWaiting(node))];
  }

  #firstFatal(code: number): number | null {
    return (
      this.graph.order.find((node) => this.#picture.code(node) === code && !this.graph.allowsFailure(node)) ?? null
    );
  }
}
