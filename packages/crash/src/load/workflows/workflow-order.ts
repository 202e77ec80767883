import type { WorkflowNodeRequest, WorkflowRequest } from "@mainspring/sdk";
import { monotonicMs } from "../../clock.ts";
import { type Graph, type GraphNode, inputOf, nodeKey } from "../../history/workflow-events.ts";
import type { SeededRandom } from "../../seeded-random.ts";
import { FAST_RETRY } from "../kinds.ts";
import type { Work } from "../work.ts";
import { SHAPES, type Shape } from "./shapes.ts";

/** Name of the handler of every node. */
export const NODE_HANDLER = "node";

/** Budget of lost workers that no node of a run reaches. */
const PLENTY_LOST = 50;
const DOOMED_ATTEMPTS = 2;
const ATTEMPTS = 4;
const FLAKY = 0.1;
const UNIQUE = 0.15;
const UNIQUE_KEYS = 2;
/** Share of nodes that refer to the results of their parents, and share of these that refer to something earlier. */
const REFERS = 0.6;
const REFERS_FURTHER = 0.3;
/** Share of nodes with a large result. */
const LARGE = 0.03;
const LARGE_CHARACTERS = 40_000;
/** Share of workflows whose output is the result of their last node. */
const OUTPUT = 0.5;
/** Share of workflows whose nodes take longer than a server needs to be killed and started again. */
const SLOW = 0.4;

/** A workflow that a client is about to submit. */
export interface WorkflowOrder {
  /** Monotonic time before the order was created. */
  at: number;
  key: string;
  /** Name of the shape. */
  shape: string;
  graph: Graph;
  request: WorkflowRequest;
}

/** @param shape shape of the workflow; default: a random one by frequency */
export function randomWorkflow(
  key: string,
  random: SeededRandom,
  shape: Shape = random.pickByWeight(SHAPES),
): WorkflowOrder {
  const at = monotonicMs();
  const { onFailure, nodes: drawn } = shape.draw(random);
  const nodes = drawn.map((node, index) => ({ ...node, refersTo: references(node, drawn.slice(0, index), random) }));
  const output = random.chance(OUTPUT) ? (nodes.at(-1)?.name ?? null) : null;
  const uniqueKey = random.chance(UNIQUE) ? `unique-workflow-${random.between(1, UNIQUE_KEYS)}` : null;
  const slowestMs = random.chance(SLOW) ? 1_500 : 200;
  const request: WorkflowRequest = {
    name: key,
    onFailure,
    ...(uniqueKey !== null && { uniqueKey }),
    input: inputOf(key),
    ...(output !== null && { output: { $from: output } }),
    defaults: { maxLost: PLENTY_LOST, cancelGraceSec: 1 },
    nodes: nodes.map((node) => nodeRequest(key, node, random, slowestMs)),
  };
  return { at, key, shape: shape.name, graph: { onFailure, uniqueKey, output, nodes }, request };
}

/** Draws the nodes to which a node refers. @param earlier nodes before it, parents first */
function references({ dependsOn }: GraphNode, earlier: readonly GraphNode[], random: SeededRandom): string[] {
  if (!random.chance(REFERS)) return [];
  const parents = dependsOn.map(({ node }) => node);
  const further = parents.flatMap((parent) => earlier.find(({ name }) => name === parent)?.dependsOn ?? []);
  const names = random.chance(REFERS_FURTHER) ? ["$input", ...further.map(({ node }) => node)] : [];
  return [...new Set([...parents, ...names])];
}

function nodeRequest(run: string, node: GraphNode, random: SeededRandom, slowestMs: number): WorkflowNodeRequest {
  const { name, dependsOn, join, allowFailure, isDoomed, branch, refersTo } = node;
  const isFlaky = !isDoomed && random.chance(FLAKY);
  const payload: Work = {
    key: nodeKey(run, name),
    workMs: random.between(0, slowestMs),
    ...((isDoomed || isFlaky) && { failTimes: isDoomed ? ATTEMPTS : 1 }),
    obeys: random.chance(0.5),
    node: { run, name, branch },
    ...(refersTo.length > 0 && { given: refersTo.map(referencesTo) }),
    ...(random.chance(LARGE) && { filler: "x".repeat(LARGE_CHARACTERS) }),
  };
  const retryPolicy = { ...FAST_RETRY, maxAttempts: isDoomed ? DOOMED_ATTEMPTS : ATTEMPTS };
  return { name, target: { handler: NODE_HANDLER }, payload, dependsOn, join, allowFailure, retryPolicy };
}

function referencesTo(from: string): NonNullable<Work["given"]>[number] {
  return { from, result: { $from: from }, executionId: { $from: from, path: ["executionId"] } };
}
