import type { WorkflowNode } from "@mainspring/server/testing";
import { compileGraph } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import type { Reference, References } from "../checkers/workflows/graphs-come-out-right.ts";
import type { SpawnedNode } from "../checkers/workflows/part-account.ts";
import { HANDLERS, type Work } from "./sim-worker.ts";

/** Branches that handlers of nodes name. */
const BRANCHES = ["left", "right"] as const;

export interface SomeGraph {
  nodes: WorkflowNode[];
  works: Work[];
  onFailure: "FAIL_FAST" | "CONTINUE";
  references?: References;
  compensatesOnCancel?: boolean;
  /** Works of compensations by number of the node; left out: no node declares one. */
  undoing?: ReadonlyMap<number, Work>;
  /** Nodes that handlers add, by the name of their own node; left out: none does. */
  spawns?: ReadonlyMap<string, readonly SpawnedNode[]>;
  /** Sub-workflows by number of the node; left out: there are none. */
  nested?: ReadonlyMap<number, SomeGraph>;
}

/** Creates a random workflow of 1 to 12 nodes, in which a node depends on earlier ones. */
export function someGraph(random: SeededRandom, text: string): SomeGraph {
  const size = random.between(1, 12);
  const works = Array.from({ length: size }, () => someWork(random, text));
  const nodes = works.map((work, number) => someNode(random, number, work));
  return { nodes, works, onFailure: random.pick(["FAIL_FAST", "CONTINUE"] as const) };
}

export function someNode(random: SeededRandom, number: number, { definition }: Work): WorkflowNode {
  const parents = new Set<number>();
  for (let left = random.between(0, Math.min(3, number)); left > 0; left--) parents.add(random.between(0, number - 1));
  const { maxAttempts } = definition;
  const retry = { maxAttempts, backoff: "FIXED" as const, initialDelayMs: random.between(0, 2_000), maxDelayMs: 2_000 };
  return {
    name: `node-${number}`,
    pool: "default",
    handler: definition.handler,
    requires: [],
    priority: 5,
    policy: {
      retry: { ...retry, jitter: false },
      timeoutMs: random.between(1, 30) * 1_000,
      cancelGraceMs: random.between(0, 3) * 1_000,
      maxLost: 20,
      onWorkerLost: "RETRY",
      startBefore: null,
    },
    dependsOn: [...parents].map((parent) => ({ node: `node-${parent}`, when: someCondition(random) })),
    join: random.pick(["ALL", "ANY"] as const),
    allowFailure: random.chance(0.2),
  };
}

function someCondition(random: SeededRandom): WorkflowNode["dependsOn"][number]["when"] {
  if (random.chance(0.6)) return "SUCCEEDED";
  return random.pick(["FAILED", "FINISHED", `BRANCH:${random.pick(BRANCHES)}`] as const);
}

export function someWork(random: SeededRandom, text: string): Work {
  const maxAttempts = random.between(1, 3);
  return {
    runMs: random.between(0, random.pick([20, 500, 5_000])),
    failTimes: random.chance(0.2) ? random.between(1, 4) : 0,
    blockMs: 0,
    stubborn: random.chance(0.05),
    hangs: false,
    steps: random.chance(0.1) ? 2 : 0,
    waits: [],
    isPoison: random.chance(0.02),
    ...(random.chance(0.5) && { branch: random.pick(BRANCHES) }),
    definition: { text, handler: HANDLERS[0], maxAttempts },
  };
}

/**
 * Adds references to a workflow: its nodes return lists, and refer to ancestors and the input. Some references lead nowhere.
 * @param text text that no other workflow has
 */
export function withReferences(random: SeededRandom, graph: SomeGraph, text: string): SomeGraph {
  const ancestors = ancestorsIn(graph);
  const refer = (from: readonly string[]): Reference[] =>
    Array.from({ length: random.between(0, 3) }, () => someReference(random, from));
  const ofNodes = graph.nodes.map((_, number) => refer([...(ancestors[number] ?? []), "$input"]));
  const output = refer(graph.nodes.map(({ name }) => name));
  const input = { text, list: [1, [2]] };
  const works = graph.works.map((work, number): Work => {
    const got = ofNodes[number] ?? [];
    return { ...work, gives: [text, `node-${number}`, [1, [number]]], ...(got.length > 0 && { got }) };
  });
  return { ...graph, works, references: { input, ofNodes, output } };
}

/** Lets some nodes declare compensations, which refer to the results of their nodes. Some compensations fail. */
export function withCompensations(random: SeededRandom, graph: SomeGraph, text: string): SomeGraph {
  const undoing = new Map<number, Work>();
  const nodes = graph.nodes.map((node, number): WorkflowNode => {
    if (!random.chance(0.6)) return node;
    const { branch: _, ...work } = someWork(random, text);
    undoing.set(number, { ...work, isPoison: false, ...(graph.references && { got: [{ $from: node.name }] }) });
    const { pool, handler, requires, priority, policy } = node;
    const { maxAttempts } = work.definition;
    const retry = { ...policy.retry, maxAttempts };
    return { ...node, compensate: { pool, handler, requires, priority, policy: { ...policy, retry } } };
  });
  const ofCompensations = nodes.map(({ name, compensate }) => (compensate === undefined ? [] : [{ $from: name }]));
  return {
    ...{ ...graph, nodes, undoing, compensatesOnCancel: random.chance(0.5) },
    ...(graph.references && { references: { ...graph.references, ofCompensations } }),
  };
}

function someReference(random: SeededRandom, from: readonly string[]): Reference {
  const $from = random.pick(from);
  if (random.chance(0.05)) return { $from, path: [9] };
  const path =
    $from === "$input" ? random.pick([null, ["text"], ["list", 1, 0]]) : random.pick([null, [0], [2], [3, 1, 0]]);
  return path === null ? { $from } : { $from, path };
}

/** Names of the nodes before each node. */
export function ancestorsIn({ nodes }: SomeGraph): Set<string>[] {
  const found: Set<string>[] = [];
  const numbers = new Map(nodes.map(({ name }, number) => [name, number]));
  for (const { dependsOn } of nodes) {
    const parents = dependsOn.map(({ node }) => node);
    found.push(new Set(parents.flatMap((parent) => [parent, ...(found[numbers.get(parent) ?? 0] ?? [])])));
  }
  return found;
}

/** The compiled graph of a random workflow, which is always a valid one. */
export function compiled({ nodes, onFailure }: Pick<SomeGraph, "nodes" | "onFailure">) {
  const result = compileGraph(nodes, onFailure);
  if ("problems" in result) throw new Error(`a random graph has problems: ${JSON.stringify(result.problems)}`);
  return result.graph;
}
