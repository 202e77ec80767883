import type { WorkflowNode } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import type { Reference, References } from "../checkers/workflows/graphs-come-out-right.ts";
import { ancestorsIn, type SomeGraph } from "./some-graph.ts";

type Map = NonNullable<WorkflowNode["map"]>;

/** Values in place of the references that only items of a map have. */
const OF_ITEMS: readonly Reference[] = [{ $item: true }, { $index: true }];

/**
 * Makes some nodes of a workflow with references maps. Their arrays are in the input or in results of earlier nodes; some
 * references lead to another value or nowhere. Later nodes and the output refer to the results of maps.
 */
export function withSomeMaps(random: SeededRandom, graph: SomeGraph): SomeGraph {
  const results = random.fork("results");
  const { references } = graph;
  if (references === undefined) return graph;
  const maps = new Set(graph.nodes.filter(() => random.chance(0.4)).map(({ name }) => name));
  const ancestors = ancestorsIn(graph);
  const nodes = graph.nodes.map((node, number): WorkflowNode => {
    if (!maps.has(node.name)) return node;
    const from = [...(ancestors[number] ?? [])].filter((name) => !maps.has(name));
    return { ...node, map: someMap(random, from) };
  });
  const items = Array.from({ length: random.pick([0, 1, 3, 12, 40]) }, (_, item) => [item, "item"]);
  const kept = (list: readonly Reference[]) => list.filter((one) => !("$from" in one) || !maps.has(one.$from));
  const resultsOf = (from: Iterable<string>): Reference[] =>
    [...from].filter((name) => maps.has(name) && results.chance(0.6)).map((name) => ({ $results: name }));
  const ofNodes = references.ofNodes.map((list, number) => {
    const all = [...kept(list), ...resultsOf(ancestors[number] ?? [])];
    return maps.has(nodes[number]?.name ?? "") ? [...all, ...OF_ITEMS] : all;
  });
  const works = graph.works.map((given, number) => {
    const got = ofNodes[number] ?? [];
    const work = { ...given };
    delete work.got;
    if (maps.has(nodes[number]?.name ?? "")) {
      work.runMs = Math.min(work.runMs, 1_000);
      work.echoes = true;
    }
    return got.length > 0 ? { ...work, got } : work;
  });
  const input = { ...(references.input as object), items };
  const whole: References = { input, ofNodes, output: [...kept(references.output), ...resultsOf(maps)] };
  return { ...graph, nodes, works, references: whole };
}

function someMap(random: SeededRandom, from: readonly string[]): Map {
  const rules = { maxRunning: random.pick([1, 2, 5, 4_000]), tolerate: random.pick([0, 0, 1, 3]) };
  if (from.length === 0 || random.chance(0.6)) return { from: "$input", path: ["items"], ...rules };
  const path = random.chance(0.1) ? random.pick([[1], [9]]) : random.pick([[], [3], [3, 1]]);
  return { from: random.pick(from), path, ...rules };
}
