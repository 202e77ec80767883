import type { SeededRandom } from "@mainspring/testkit/time";
import type { SpawnedNode } from "../checkers/workflows/part-account.ts";
import type { WorkSpawn } from "./sim-worker.ts";
import { type SomeGraph, someNode, someWork } from "./some-graph.ts";

/** Levels of nodes that add nodes. */
const LEVELS = 3;

/**
 * Lets handlers of some nodes of a workflow and of its sub-workflows add nodes, some of which add nodes themselves. Maps, nodes
 * with concurrency keys and nodes that run sub-workflows add none.
 */
export function withSomeSpawns(random: SeededRandom, graph: SomeGraph, text: string): SomeGraph {
  const spawns = new Map<string, readonly SpawnedNode[]>();
  const { nodes, nested = new Map<number, SomeGraph>() } = graph;
  const mayAdd = (number: number) =>
    nodes[number]?.map === undefined && nodes[number]?.concurrencyKey === undefined && !nested.has(number);
  const works = graph.works.map((work, number) =>
    mayAdd(number) && random.chance(0.5)
      ? { ...work, spawns: someSpawns(random, `node-${number}`, text, LEVELS, spawns) }
      : work,
  );
  const within = Array.from(nested, ([node, sub]) => [node, withSomeSpawns(random, sub, text)] as const);
  return { ...graph, works, spawns, ...(within.length > 0 && { nested: new Map(within) }) };
}

/** @param into gets the nodes by the name of their spawner */
function someSpawns(
  random: SeededRandom,
  spawner: string,
  text: string,
  levels: number,
  into: Map<string, readonly SpawnedNode[]>,
): WorkSpawn[] {
  const all = Array.from({ length: random.between(1, 4) }, (_, number) => {
    const work = someWork(random, text);
    const node = someNode(random, number, work);
    const detached = random.chance(0.2);
    const name = `${spawner}/${node.name}`;
    const isSpawner = levels > 1 && random.chance(0.3);
    const own = isSpawner ? { ...work, spawns: someSpawns(random, name, text, levels - 1, into) } : work;
    const dependsOn = node.dependsOn.map((edge) => ({ ...edge, node: `${spawner}/${edge.node}` }));
    const known: SpawnedNode = { ...node, name, spawner, dependsOn, ...(detached && { detached }) };
    return { known, spawn: { node, work: own, detached } };
  });
  into.set(
    spawner,
    all.map(({ known }) => known),
  );
  return all.map(({ spawn }) => spawn);
}
