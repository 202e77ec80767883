import { type ExecutionError, type ExecutionState, type FinalState, isFinal } from "../execution.ts";
import type { WorkflowGraph } from "./graph.ts";
import { type KeptNodes, keptItems, keptOutcomes } from "./kept-nodes.ts";
import type { MapRows } from "./map-items.ts";
import { type NodeOutcome, type RunMode, RunProgress } from "./readiness.ts";

/** Reason why the items of a map cannot be counted. */
export interface MapFailure {
  reason: "REFERENCE_NOT_FOUND" | "ITEMS_NOT_AN_ARRAY" | "TOO_MANY_ITEMS";
  error: ExecutionError;
}

/** Number of items of a map of a run; a failure: the map is DEAD. */
export interface MapCount {
  node: number;
  items: number | MapFailure;
}

/** Items of a map whose executions have the same state. */
export interface ItemStates {
  node: number;
  state: ExecutionState;
  /** Indexes in ascending order. */
  items: Uint32Array;
}

/** Everything from which the states of a run's nodes follow. */
export interface RunRows {
  kept: readonly KeptNodes[];
  mapCounts: readonly MapCount[];
  /** Executions of nodes, and of items that are not final. */
  executions: Iterable<{ node: number; item: number | null; state: ExecutionState; branch: string | null }>;
  /** Items. The live ones may be among `executions` instead. */
  items: readonly ItemStates[];
}

/** Progress of a run by its rows. */
export function progressOf(graph: WorkflowGraph, rows: RunRows, mode: RunMode): RunProgress {
  const outcomes: [number, NodeOutcome][] = [...keptOutcomes(rows.kept)];
  const live: number[] = [];
  const liveItems = new Map<number, number[]>();
  for (const execution of rows.executions) addExecution(execution, { outcomes, live, liveItems });
  const keptNodes = new Set(outcomes.map(([node]) => node));
  for (const { node, items } of rows.mapCounts) {
    if (keptNodes.has(node) || (typeof items === "number" && items > 0)) continue;
    outcomes.push([node, { state: items === 0 ? "SUCCEEDED" : "DEAD", branch: null }]);
  }
  return RunProgress.of(graph, outcomes, live, mode, mapRows(rows, liveItems, keptNodes));
}

interface Added {
  outcomes: [number, NodeOutcome][];
  live: number[];
  liveItems: Map<number, number[]>;
}

type Listed = RunRows["executions"] extends Iterable<infer T> ? T : never;

function addExecution({ node, item, state, branch }: Listed, { outcomes, live, liveItems }: Added): void {
  if (item !== null) {
    const items = liveItems.get(node);
    if (isFinal(state)) return;
    if (items === undefined) liveItems.set(node, [item]);
    else items.push(item);
  } else if (isFinal(state)) outcomes.push([node, { state, branch }]);
  else live.push(node);
}

function* mapRows(
  { kept, mapCounts, items }: RunRows,
  liveItems: ReadonlyMap<number, number[]>,
  keptNodes: ReadonlySet<number>,
): Generator<MapRows> {
  for (const { node, items: size } of mapCounts) {
    if (typeof size !== "number" || size === 0 || keptNodes.has(node)) continue;
    const live = [...(liveItems.get(node) ?? [])];
    const ended: [FinalState, Iterable<number>][] = [["SUCCEEDED", keptItems(kept, node)]];
    for (const own of items) {
      if (own.node !== node) continue;
      if (isFinal(own.state)) ended.push([own.state, own.items]);
      else for (const item of own.items) live.push(item);
    }
    yield { node, size, live, ended };
  }
}
