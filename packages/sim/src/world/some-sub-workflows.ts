import type { WorkflowNode } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import type { Reference } from "../checkers/workflows/graphs-come-out-right.ts";
import type { Work } from "./sim-worker.ts";
import { type SomeGraph, someGraph } from "./some-graph.ts";

/** Levels of sub-workflows below a random workflow. */
const LEVELS = 2;
/** Input of a workflow, and the way to the value in it that every level hands on. */
const INPUT = { list: [1, [2]] };
const OF_INPUT: Reference = { $from: "$input", path: ["list", 1, 0] };
const VALUE = 2;
/** The same in a sub-workflow, whose input is the payload of its node. */
const OF_PAYLOAD: Reference = { $from: "$input", path: ["got", 0] };

/**
 * Has some nodes of a workflow run sub-workflows, some of which have such nodes themselves. A value of the input reaches
 * every node of every sub-workflow.
 * @param text text of all handlers of the workflow
 */
export function withSubWorkflows(random: SeededRandom, graph: SomeGraph, text: string): SomeGraph {
  return nesting(random, graph, text, { levels: LEVELS, input: INPUT });
}

function nesting(
  random: SeededRandom,
  graph: SomeGraph,
  text: string,
  { levels, input }: { levels: number; input: unknown },
): SomeGraph {
  const nested = new Map<number, SomeGraph>();
  const isOutermost = levels === LEVELS;
  const reference = isOutermost ? OF_INPUT : OF_PAYLOAD;
  const works: Work[] = graph.works.map((work) => (isOutermost ? work : { ...work, got: [reference] }));
  const nodes = graph.nodes.map((node, number): WorkflowNode => {
    if (levels === 0 || !random.chance(0.35)) return node;
    // No handler runs the node, so none waits for a signal.
    const work: Work = { ...(graph.works[number] as Work), waits: [] };
    const within = { levels: levels - 1, input: { ...work, got: [VALUE] } };
    nested.set(number, nesting(random, someGraph(random, text), text, within));
    works[number] = { ...work, got: [reference] };
    const timeoutMs = random.chance(0.15) ? random.between(1, 40) * 1_000 : 7_200_000;
    return { ...node, handler: "$workflow", policy: { ...node.policy, timeoutMs } };
  });
  const ofNodes = works.map(({ got }) => (got === undefined ? [] : [reference]));
  return { ...graph, nodes, works, nested, references: { input, ofNodes, output: [reference] } };
}
