import type { WorkflowNode } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import { type SomeGraph, someGraph } from "./some-graph.ts";

/** Levels of sub-workflows below a random workflow. */
const LEVELS = 2;

/**
 * Has some nodes of a workflow run sub-workflows, some of which have such nodes themselves.
 * @param text text of all handlers of the workflow
 */
export function withSubWorkflows(random: SeededRandom, graph: SomeGraph, text: string, levels = LEVELS): SomeGraph {
  const nested = new Map<number, SomeGraph>();
  const works = [...graph.works];
  const nodes = graph.nodes.map((node, number): WorkflowNode => {
    if (levels === 0 || !random.chance(0.35)) return node;
    const inner = someGraph(random, text);
    nested.set(number, withSubWorkflows(random, inner, text, levels - 1));
    const work = graph.works[number];
    // No handler runs the node, so none waits for a signal.
    if (work !== undefined) works[number] = { ...work, waits: [] };
    const timeoutMs = random.chance(0.15) ? random.between(1, 40) * 1_000 : 7_200_000;
    return { ...node, handler: "$workflow", policy: { ...node.policy, timeoutMs } };
  });
  return { ...graph, nodes, works, nested };
}
