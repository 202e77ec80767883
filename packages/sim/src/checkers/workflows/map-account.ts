import type { ExecutionRow, RunRow, StoreEvent, WorkflowNode } from "@mainspring/server/testing";
import { Violation } from "../checker.ts";
import { isOver } from "../recurring/ledger.ts";
import { isStopped, type Mode, type NodeRow } from "./graph-oracle.ts";
import { NOWHERE, partOf, resultOf } from "./references-are-true.ts";

type MapCounts = RunRow["mapCounts"];
type Failure = Exclude<MapCounts[number]["items"], number>;

/** The parts of a run's account that maps need. */
interface OfRun {
  graph: { nodes: readonly WorkflowNode[]; onFailure: "FAIL_FAST" | "CONTINUE"; references?: { input: unknown } };
  rows: ReadonlyMap<string, ExecutionRow>;
}

/** Items of the maps of a run, by the rows. It shares no code with the program. */
export class MapAccount {
  readonly #run: OfRun;
  readonly #counts = new Map<number, number | Failure>();
  /** Executions of items by map. An item that a retry keeps has the execution of the earlier run. */
  readonly #items = new Map<number, Map<number, ExecutionRow>>();
  /** Event in which the run's owner last learned of an item that is DEAD, by map. */
  readonly #deadIn = new Map<number, StoreEvent>();
  /** Items that have ended in the shard of their key, until the run's owner completes the command that says so. */
  readonly #untold = new Set<string>();

  constructor(run: OfRun) {
    this.#run = run;
  }

  get size(): number {
    return [...this.#items.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Rows of all items. */
  *all(): Generator<ExecutionRow> {
    for (const items of this.#items.values()) yield* items.values();
  }

  /**
   * Takes over counts that earlier events have judged. A source that has ended since has another value, because a map with
   * the join ANY does not wait for it.
   * @param base account of the run that this one retries
   * @throws {Violation} the retry has another count
   */
  takeOver(counts: MapCounts, base: MapAccount | undefined): void {
    for (const { node, items } of counts) {
      const seen = (base ?? this).#counts.get(node) ?? items;
      if (typeof items === "number" && typeof seen === "number" && items !== seen)
        throw new Violation(`the map ${node} has ${items} items in a retry, and ${seen} in the run before`);
      this.#counts.set(node, items);
    }
  }

  /**
   * Takes over the counts that a commit writes.
   * @param couldCountBefore whether a map was READY before the node ended that it takes its items from
   * @throws {Violation} a new count is wrong
   */
  counted(counts: MapCounts, couldCountBefore: (node: WorkflowNode) => boolean): void {
    for (const { node, items } of counts) {
      if (this.#counts.has(node)) continue;
      const expected = this.#expected(node);
      const seen = typeof items === "number" ? items : items.reason;
      const map = this.#run.graph.nodes[node];
      // The owner may count before it learns of an end in another shard. A node that has not ended stands for null.
      const isEarly = seen === "ITEMS_NOT_AN_ARRAY" && map !== undefined && couldCountBefore(map);
      if (seen !== expected && !isEarly)
        throw new Violation(`the map ${node} has ${seen} items instead of ${expected}`);
      this.#counts.set(node, items);
    }
  }

  /** Notes an item that was created or has changed. */
  put(row: ExecutionRow, event: StoreEvent | null): void {
    const { node, item, state } = row;
    if (node === null || item === null) return;
    const items = this.#items.get(node) ?? new Map<number, ExecutionRow>();
    this.#items.set(node, items.set(item, row));
    if (state === "DEAD" && event !== null && !this.#untold.has(row.id)) this.#deadIn.set(node, event);
  }

  /** Notes that the owner of the run does not know yet that an item has ended. */
  endedElsewhere(id: string): void {
    this.#untold.add(id);
  }

  /** Notes that the owner of the run has learned of the end of an item. */
  told(id: string, event: StoreEvent): void {
    if (!this.#untold.delete(id)) return;
    const row = [...this.all()].find((item) => item.id === id);
    if (row !== undefined) this.put(row, event);
  }

  /** Row of an item. */
  item(node: number, item: number): ExecutionRow | undefined {
    return this.#items.get(node)?.get(item);
  }

  /** Notes an item that a retry keeps. @throws {Violation} the earlier run has no result of it */
  keep(base: MapAccount | undefined, node: number, item: number): void {
    const row = base?.item(node, item);
    if (row?.state !== "SUCCEEDED")
      throw new Violation(`the item ${item} of the map ${node} is kept, and is ${row?.state ?? "not there"}`);
    const items = this.#items.get(node) ?? new Map<number, ExecutionRow>();
    this.#items.set(node, items.set(item, row));
  }

  /** @param modes modes of the run in this commit @throws {Violation} the item must not be created */
  judgeCreated(row: ExecutionRow, event: StoreEvent, modes: readonly Mode[]): void {
    const { id, node, item } = row;
    if (node === null || item === null) return;
    const count = this.#counts.get(node);
    if (typeof count !== "number" || item >= count)
      throw new Violation(`${id} is the item ${item} of the map ${node} with ${JSON.stringify(count)} items`);
    if (this.#items.get(node)?.has(item) === true) throw new Violation(`the item ${id} was created twice`);
    const states = modes.map((mode) => this.stateOf(node, mode, this.#untold));
    // The owner may create an item and learn of a failure in one commit, in any order. It cancels the item then.
    if (!states.includes("RUNNING") && this.#deadIn.get(node) !== event)
      throw new Violation(`the item ${id} was created, and its map is ${states}`);
    const { maxRunning = 0 } = this.#run.graph.nodes[node]?.map ?? {};
    const live = [...(this.#items.get(node)?.values() ?? [])].filter(({ state }) => !isOver(state)).length;
    if (live >= maxRunning) throw new Violation(`the item ${id} was created beside ${live} of ${maxRunning}`);
  }

  /** Rows of the run's nodes, with a row for each map that is counted. */
  rowsIn(mode: Mode): Map<string, NodeRow> {
    const rows = new Map<string, NodeRow>(this.#run.rows);
    for (const node of this.#counts.keys()) {
      const name = this.#run.graph.nodes[node]?.name ?? "";
      if (!rows.has(name)) rows.set(name, { state: this.stateOf(node, mode), branch: null });
    }
    return rows;
  }

  /**
   * State of a map by its items; RUNNING: it has not ended.
   * @param untold items that count as RUNNING; default: none
   */
  stateOf(node: number, mode: Mode, untold: ReadonlySet<string> = new Set()): string {
    const { nodes, onFailure } = this.#run.graph;
    const size = this.#counts.get(node);
    if (size === undefined) return "BLOCKED";
    if (typeof size !== "number") return "DEAD";
    const { name = "", map } = nodes[node] ?? {};
    const tolerate = map?.tolerate ?? 0;
    const states = [...(this.#items.get(node)?.values() ?? [])].map(({ id, state }) =>
      untold.has(id) ? "RUNNING" : state,
    );
    const number = (wanted: string) => states.filter((state) => state === wanted).length;
    const failed = number("DEAD");
    const isComplete = states.length === size;
    const mayGoOn = !isComplete && !isStopped(nodes, name, mode) && !(onFailure === "FAIL_FAST" && failed > tolerate);
    if (mayGoOn || states.some((state) => !isOver(state))) return "RUNNING";
    if (failed > tolerate) return "DEAD";
    return isComplete && failed + number("CANCELLED") <= tolerate ? "SUCCEEDED" : "CANCELLED";
  }

  /** Number of items, or the reason why there is none, by the plainest reading. */
  #expected(node: number): number | string {
    const { graph, rows } = this.#run;
    const { from = "", path = [] } = graph.nodes[node]?.map ?? {};
    const source = rows.get(from);
    const result = source?.state === "SUCCEEDED" ? resultOf(source) : null;
    const isInput = from === "$input";
    // A node without a result stands for null, whatever the path.
    const value = partOf(isInput ? graph.references?.input : result, isInput || result !== null ? { path } : {});
    if (value === NOWHERE) return "REFERENCE_NOT_FOUND";
    return Array.isArray(value) ? value.length : "ITEMS_NOT_AN_ARRAY";
  }
}
