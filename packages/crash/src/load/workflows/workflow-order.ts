import type { WorkflowNodeRequest, WorkflowRequest } from "@mainspring/sdk";
import { monotonicMs } from "../../clock.ts";
import { type Graph, type GraphNode, nodeKey } from "../../history/workflow-events.ts";
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
  const { onFailure, nodes } = shape.draw(random);
  const uniqueKey = random.chance(UNIQUE) ? `unique-workflow-${random.between(1, UNIQUE_KEYS)}` : null;
  const slowestMs = random.chance(SLOW) ? 1_500 : 200;
  const request: WorkflowRequest = {
    name: key,
    onFailure,
    ...(uniqueKey !== null && { uniqueKey }),
    defaults: { maxLost: PLENTY_LOST, cancelGraceSec: 1 },
    nodes: nodes.map((node) => nodeRequest(key, node, random, slowestMs)),
  };
  return { at, key, shape: shape.name, graph: { onFailure, uniqueKey, nodes }, request };
}

function nodeRequest(run: string, node: GraphNode, random: SeededRandom, slowestMs: number): WorkflowNodeRequest {
  const { name, dependsOn, join, allowFailure, isDoomed, branch } = node;
  const isFlaky = !isDoomed && random.chance(FLAKY);
  const payload: Work = {
    key: nodeKey(run, name),
    workMs: random.between(0, slowestMs),
    ...((isDoomed || isFlaky) && { failTimes: isDoomed ? ATTEMPTS : 1 }),
    obeys: random.chance(0.5),
    node: { run, name, branch },
  };
  const retryPolicy = { ...FAST_RETRY, maxAttempts: isDoomed ? DOOMED_ATTEMPTS : ATTEMPTS };
  return { name, target: { handler: NODE_HANDLER }, payload, dependsOn, join, allowFailure, retryPolicy };
}
