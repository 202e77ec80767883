import assert from "node:assert/strict";
import fc from "fast-check";
import { compileGraph, type GraphNode } from "../compile-graph.ts";
import type { Condition, Dependency, OnFailure } from "../definition.ts";
import type { WorkflowGraph } from "../graph.ts";

/** Nodes of a workflow and its policy, as a test has them. */
export interface Dag {
  nodes: readonly GraphNode[];
  onFailure: OnFailure;
}

/** A node; `parents` by name, with the condition of each. */
export function node(
  name: string,
  parents: Readonly<Record<string, Condition>> = {},
  rest: Partial<GraphNode> = {},
): GraphNode {
  const dependsOn = Object.entries(parents).map(([parent, when]) => ({ node: parent, when }));
  return { name, dependsOn, join: "ALL", allowFailure: false, ...rest };
}

/** Graph of nodes without problems. */
export function graphOf({ nodes, onFailure }: Dag): WorkflowGraph {
  const compiled = compileGraph(nodes, onFailure);
  assert.ok("graph" in compiled, JSON.stringify(compiled));
  return compiled.graph;
}

/** `count` nodes in a row: each but the first depends on the one before it. */
export function chain(count: number): GraphNode[] {
  return Array.from({ length: count }, (_, i) => node(`n${i}`, i === 0 ? {} : { [`n${i - 1}`]: "SUCCEEDED" }));
}

/** 10,000 nodes in layers of 100, with 10 edges each from the layer before. */
export function layers(): GraphNode[] {
  return Array.from({ length: 10_000 }, (_, i) => {
    const first = 100 * (Math.floor(i / 100) - 1);
    const parents = Array.from({ length: first < 0 ? 0 : 10 }, (_, k) => first + ((i + 7 * k) % 100));
    return node(`n${i}`, Object.fromEntries(parents.map((parent) => [`n${parent}`, "SUCCEEDED"])));
  });
}

export const BRANCHES = ["x", "y"] as const;
const conditions = fc.constantFrom<Condition[]>("SUCCEEDED", "SUCCEEDED", "FAILED", "FINISHED", "BRANCH:x", "BRANCH:y");

const drafts = fc.record({
  edges: fc.array(fc.record({ back: fc.nat(300), when: conditions }), { maxLength: 4 }),
  join: fc.constantFrom("ALL" as const, "ANY" as const),
  allowFailure: fc.boolean(),
  /** Place in the definition, so that parents need not stand before their children. */
  place: fc.nat(20),
});

/** Random graphs without cycles. */
export function dags(nodesMax: number, onFailure: fc.Arbitrary<OnFailure>): fc.Arbitrary<Dag> {
  const nodes = fc.array(drafts, { minLength: 1, maxLength: nodesMax, size: "max" }).map((list) => {
    const named = list.map(({ edges, join, allowFailure, place }, i) => {
      const wanted = i === 0 ? [] : edges.map(({ back, when }) => ({ node: `n${i - 1 - (back % i)}`, when }));
      return { place, node: node(`n${i}`, {}, { dependsOn: withoutRepeats(wanted), join, allowFailure }) };
    });
    return named.sort((a, b) => a.place - b.place).map((one) => one.node);
  });
  return fc.record({ nodes, onFailure });
}

function withoutRepeats(edges: readonly Dependency[]): Dependency[] {
  return [...new Map(edges.map((edge) => [`${edge.node} ${edge.when}`, edge])).values()];
}
