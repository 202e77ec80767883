import {
  NODE_NAME_CHARS_MAX,
  WORKFLOW_BRANCHES_MAX,
  WORKFLOW_EDGES_MAX,
  WORKFLOW_MAPS_MAX,
  WORKFLOW_NODES_MAX,
} from "@mainspring/contract/limits";
import { type Adjacency, doubledEdges, packedEdge, reversed, startsOf, topologicalOrder } from "./adjacency.ts";
import { allSteps } from "./all-steps.ts";
import { ConditionCodes, isNodeName } from "./conditions.ts";
import { cycleOf } from "./cycle.ts";
import type { OnFailure, WorkflowNode } from "./definition.ts";
import { ALLOW_FAILURE, DETACHED, JOIN_ANY, MAP, WorkflowGraph } from "./graph.ts";
import { type GraphProblem, GraphProblems, quoted } from "./graph-problems.ts";
import type { MapRules } from "./map-items.ts";

const NAMES = `1 to ${NODE_NAME_CHARS_MAX} characters of A-Z a-z 0-9 _ . -`;
/** Number of names or edges that one step looks up. */
const STEP_ITEMS = 4_000;

/** The part of a node that the graph consists of. */
export type GraphNode = Pick<WorkflowNode, "name" | "dependsOn" | "join" | "allowFailure" | "map" | "detached">;

/** The graph, in which node n is `nodes[n]`, or at most 8 problems. A problem may hide others. */
export type CompiledGraph = { graph: WorkflowGraph } | { problems: GraphProblem[] };

/** Checks the nodes of a definition and compiles their graph in one go. */
export function compileGraph(nodes: readonly GraphNode[], onFailure: OnFailure): CompiledGraph {
  return allSteps(compilingGraph(nodes, onFailure));
}

/**
 * Does the same as `compileGraph` in steps of a few milliseconds each, so that the caller can spread the largest
 * definitions over turns of the event loop.
 */
export function* compilingGraph(
  nodes: readonly GraphNode[],
  onFailure: OnFailure,
): Generator<undefined, CompiledGraph> {
  const problems = new GraphProblems();
  checkLimits(nodes, problems);
  // Nothing walks over a definition that is larger than the limits.
  if (problems.list.length > 0) return { problems: problems.list };
  const numbers = yield* numbering(nodes, problems);
  const conditions = new ConditionCodes();
  const parents = yield* linking(nodes, numbers, conditions, problems);
  const children = reversed(parents);
  yield;
  for (const { parent, child } of doubledEdges(children, problems.room)) {
    problems.add("DOUBLED_EDGE", nameOf(nodes, child), `depends on ${quoted(nameOf(nodes, parent))} twice alike`);
  }
  const order = topologicalOrder(children);
  yield;
  if (order.length < nodes.length) problems.addCycle(cycleOf(children, order).map((node) => nameOf(nodes, node)));
  if (problems.list.length > 0) return { problems: problems.list };
  const { branches } = conditions;
  const parts = { onFailure, branches, flags: flagsOf(nodes), maps: mapsOf(nodes), children };
  return { graph: new WorkflowGraph(parts, order) };
}

function checkLimits(nodes: readonly GraphNode[], problems: GraphProblems): void {
  if (nodes.length === 0)
    problems.list.push({ kind: "NO_NODES", node: null, text: "a workflow has at least one node" });
  const beyond = nodes[WORKFLOW_NODES_MAX];
  if (beyond !== undefined) {
    problems.add("TOO_MANY_NODES", beyond.name, `is beyond the limit of ${WORKFLOW_NODES_MAX} nodes`);
    return;
  }
  const maps = nodes.filter(({ map }) => map !== undefined);
  const beyondMaps = maps[WORKFLOW_MAPS_MAX];
  if (beyondMaps !== undefined) {
    problems.add("TOO_MANY_MAPS", beyondMaps.name, `is beyond the limit of ${WORKFLOW_MAPS_MAX} maps`);
    return;
  }
  let edges = 0;
  for (const { name, dependsOn } of nodes) {
    edges += dependsOn.length;
    if (edges <= WORKFLOW_EDGES_MAX) continue;
    problems.add("TOO_MANY_EDGES", name, `is beyond the limit of ${WORKFLOW_EDGES_MAX} dependencies`);
    return;
  }
}

/** Numbers of the nodes by name. Nodes with the same name count as the first one of them. */
function* numbering(
  nodes: readonly GraphNode[],
  problems: GraphProblems,
): Generator<undefined, ReadonlyMap<string, number>> {
  const numbers = new Map<string, number>();
  for (const [number, { name }] of nodes.entries()) {
    if (problems.isFull) break;
    const isKnown = lookUp(numbers, name) !== undefined;
    if (!isNodeName(name)) problems.add("BAD_NAME", name, `needs a name of ${NAMES}`);
    else if (isKnown) problems.add("DOUBLED_NAME", name, "has the name of another node");
    // A dependency on a node with a bad name is no second problem.
    if (!isKnown && name.length <= NODE_NAME_CHARS_MAX) numbers.set(name, number);
    if (number % STEP_ITEMS === STEP_ITEMS - 1) yield;
  }
  return numbers;
}

/** Edges to the parents of each node, without those that have problems. */
function* linking(
  nodes: readonly GraphNode[],
  numbers: ReadonlyMap<string, number>,
  conditions: ConditionCodes,
  problems: GraphProblems,
): Generator<undefined, Adjacency> {
  const counts = new Uint32Array(nodes.length);
  const edges = new Uint32Array(nodes.reduce((sum, { dependsOn }) => sum + dependsOn.length, 0));
  let found = 0;
  for (const [child, { name, dependsOn }] of nodes.entries()) {
    const before = found;
    for (const { node, when } of dependsOn) {
      if (problems.isFull) break;
      const parent = lookUp(numbers, node);
      const condition = conditions.of(when);
      if (parent === undefined) problems.add("UNKNOWN_PARENT", name, `depends on ${quoted(node)}, which is no node`);
      else if (condition === null)
        problems.add("BAD_CONDITION", name, `waits for ${quoted(when)}, which is no condition`);
      else if (node === name) problems.add("SELF_EDGE", name, "depends on itself");
      else edges[found++] = packedEdge(parent, condition);
      if (found % STEP_ITEMS === STEP_ITEMS - 1) yield;
    }
    counts[child] = found - before;
    if (conditions.branches.length <= WORKFLOW_BRANCHES_MAX) continue;
    problems.add("TOO_MANY_BRANCHES", name, `is beyond the limit of ${WORKFLOW_BRANCHES_MAX} names of branches`);
    break;
  }
  return { starts: startsOf(counts), edges: edges.slice(0, found) };
}

/** Long strings of the same length have the same hash, so a map of them would compare megabytes. */
function lookUp(numbers: ReadonlyMap<string, number>, name: string): number | undefined {
  return name.length > NODE_NAME_CHARS_MAX ? undefined : numbers.get(name);
}

function flagsOf(nodes: readonly GraphNode[]): Uint8Array {
  return Uint8Array.from(
    nodes,
    ({ join, allowFailure, map, detached }) =>
      (join === "ANY" ? JOIN_ANY : 0) |
      (allowFailure ? ALLOW_FAILURE : 0) |
      (map === undefined ? 0 : MAP) |
      (detached === true ? DETACHED : 0),
  );
}

function mapsOf(nodes: readonly GraphNode[]): Map<number, MapRules> {
  return new Map(
    nodes.flatMap(({ map }, node) =>
      map === undefined ? [] : [[node, { maxRunning: map.maxRunning, tolerate: map.tolerate }] as const],
    ),
  );
}

function nameOf(nodes: readonly GraphNode[], node: number): string {
  return (nodes[node] as GraphNode).name;
}
