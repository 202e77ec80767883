import type { ExecutionId } from "../ids.ts";
import { edgesOf, nodeOfEdge } from "./adjacency.ts";
import { isCompensation, nodeOfCompensation } from "./compensation-number.ts";
import { nodeExecutionId } from "./node-id.ts";
import type { NodeOutcome, RunProgress } from "./readiness.ts";

/** Nodes that a run keeps from one earlier run of the same graph, which has their executions and so their results. */
export interface KeptNodes {
  run: ExecutionId;
  /** Nodes and compensations by number, each with the branch that its execution has chosen; null: none. */
  nodes: readonly (readonly [node: number, branch: string | null])[];
  /** SUCCEEDED items of maps, each set as a text of `rangesOf`. Left out: none. */
  items?: readonly (readonly [node: number, ranges: string])[];
}

/** Parts of a final run that a retry keeps. */
export interface KeptParts {
  /** SUCCEEDED nodes in topological order. */
  nodes: number[];
  /** Maps that run again, but for their SUCCEEDED items. */
  maps: number[];
  /** Kept nodes whose handlers have added nodes, which the retry has as well. Some of these may run again. */
  spawners: number[];
}

/**
 * Parts of a final run that a retry keeps: SUCCEEDED nodes that do not depend on any node that runs again, directly or
 * indirectly. DEAD and CANCELLED nodes run again, and so do those that the mode of the run has SKIPPED. A node that its
 * edges have SKIPPED is decided anew, with the same result if its parents are the same. A map that is DEAD or CANCELLED
 * keeps its SUCCEEDED items if nothing before it runs again. A node whose handler has added nodes counts as all of them
 * for the nodes after it. The nodes that the handler of a node has added are gone if that node runs again.
 * @param again nodes that run again as a whole as well
 */
export function partsToKeep(progress: RunProgress, again: ReadonlySet<number>): KeptParts {
  const { graph } = progress;
  const { parents } = graph;
  /** Nodes that run again, or that wait for nodes of theirs that do. */
  const anew = new Set<number>();
  const kept: KeptParts = { nodes: [], maps: [], spawners: [] };
  const gone = new Set<number>();
  for (const node of graph.order) {
    const spawner = graph.spawnerOf(node);
    const follows = edgesOf(parents, node).some((edge) => anew.has(nodeOfEdge(edge)));
    if (spawner >= 0 && gone.has(spawner)) gone.add(node);
    else if (follows || again.has(node) || !isSettled(progress, node)) {
      gone.add(node);
      for (let of = node; of >= 0; of = graph.holderOf(of)) anew.add(of);
      if (!follows && !again.has(node) && graph.isMap(node)) kept.maps.push(node);
    } else if (progress.stateOf(node) !== "SKIPPED") {
      kept.nodes.push(node);
      if (graph.spawnsOf.has(node)) kept.spawners.push(node);
    }
  }
  return kept;
}

/** Whether the state of a node is the same in every run in which the states of its parents are. */
function isSettled(progress: RunProgress, node: number): boolean {
  const state = progress.stateOf(node);
  return state === "SUCCEEDED" || (state === "SKIPPED" && progress.whySkipped(node)?.kind === "DEAD_EDGES");
}

/** A node that has SUCCEEDED in an earlier run. */
export interface KeptNode {
  run: ExecutionId;
  /** Branch that the node has chosen; null: none. */
  branch: string | null;
}

/** Kept nodes by their numbers. */
export function keptByNode(kept: readonly KeptNodes[]): Map<number, KeptNode> {
  return new Map(kept.flatMap(({ run, nodes }) => nodes.map(([node, branch]) => [node, { run, branch }] as const)));
}

/** Outcomes of kept nodes, as if their executions were those of the run. Compensations are left out. */
export function* keptOutcomes(kept: readonly KeptNodes[]): Generator<[number, NodeOutcome]> {
  for (const { nodes } of kept) {
    for (const [node, branch] of nodes) if (!isCompensation(node)) yield [node, { state: "SUCCEEDED", branch }];
  }
}

/** Nodes whose compensations a run keeps, because they SUCCEEDED in earlier runs. */
export function* keptCompensations(kept: readonly KeptNodes[]): Generator<number> {
  for (const { nodes } of kept) for (const [node] of nodes) if (isCompensation(node)) yield nodeOfCompensation(node);
}

/** SUCCEEDED items of a map that earlier runs have. */
export function* keptItems(kept: readonly KeptNodes[], map: number): Generator<number> {
  for (const { items = [] } of kept) for (const [node, ranges] of items) if (node === map) yield* itemsOfRanges(ranges);
}

/** Earlier runs that have the executions of SUCCEEDED items of a map, by item. */
export function runsOfItems(kept: readonly KeptNodes[], map: number): Map<number, ExecutionId> {
  const runs = new Map<number, ExecutionId>();
  for (const one of kept) for (const item of keptItems([one], map)) runs.set(item, one.run);
  return runs;
}

/**
 * Executions of a range of a map's items.
 * @param elsewhere earlier runs that have the executions of some items
 */
export function itemIds(
  run: ExecutionId,
  map: number,
  elsewhere: ReadonlyMap<number, ExecutionId>,
  { first, until }: { first: number; until: number },
): ExecutionId[] {
  return Array.from({ length: until - first }, (_, place) => {
    const item = first + place;
    return nodeExecutionId(elsewhere.get(item) ?? run, map, item, 0);
  });
}

/** Results that a base must have: of nodes that are no maps, and of items of maps. */
export function resultsOf({ nodes, items = [] }: KeptNodes): { nodes: number[]; maps: number[]; items: number } {
  const maps = items.map(([node]) => node);
  const own = new Set(maps);
  let count = 0;
  for (const [, ranges] of items) for (const _ of itemsOfRanges(ranges)) count++;
  return { nodes: nodes.map(([node]) => node).filter((node) => !own.has(node)), maps, items: count };
}

/** Text of a set of items, as `0-99,101`. @param items in ascending order */
export function rangesOf(items: Iterable<number>): string {
  const ranges: string[] = [];
  let first = -1;
  let last = -2;
  const close = () => {
    if (first >= 0) ranges.push(first === last ? String(first) : `${first}-${last}`);
  };
  for (const item of items) {
    if (item !== last + 1) {
      close();
      first = item;
    }
    last = item;
  }
  close();
  return ranges.join(",");
}

/** Items of a text of `rangesOf`, in ascending order. */
export function* itemsOfRanges(ranges: string): Generator<number> {
  for (const range of ranges === "" ? [] : ranges.split(",")) {
    const [first = 0, last = first] = range.split("-").map(Number);
    for (let item = first; item <= last; item++) yield item;
  }
}
