import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WORKFLOW_BRANCHES_MAX, WORKFLOW_EDGES_MAX, WORKFLOW_NODES_MAX } from "@mainspring/contract/limits";
import fc from "fast-check";
import { DEFAULT_POLICY } from "../job.ts";
import { CONDITIONS_REPRESENTABLE, edgesOf, NODES_REPRESENTABLE, nodeOfEdge } from "./adjacency.ts";
import { compileGraph, compilingGraph, type GraphNode } from "./compile-graph.ts";
import type { Condition, WorkflowDefinition } from "./definition.ts";
import type { GraphProblem } from "./graph-problems.ts";
import { chain, dags, graphOf, layers, node } from "./testing/some-graph.ts";

function problemsOf(nodes: readonly GraphNode[]): GraphProblem[] {
  const compiled = compileGraph(nodes, "FAIL_FAST");
  return "problems" in compiled ? compiled.problems : [];
}

function textsOf(nodes: readonly GraphNode[]): string[] {
  return problemsOf(nodes).map(({ text }) => text);
}

describe("a definition", () => {
  it("is compiled to a graph of numbers", () => {
    const rest = { pool: "p", handler: "h", requires: [], priority: 5, policy: DEFAULT_POLICY };
    const definition: WorkflowDefinition = {
      nodes: [node("c", { a: "SUCCEEDED", b: "BRANCH:good" }), node("b", { a: "FINISHED" }), node("a")].map((one) => ({
        ...rest,
        ...one,
      })),
      onFailure: "CONTINUE",
    };
    const graph = graphOf(definition);
    assert.deepEqual([graph.nodeCount, graph.onFailure, graph.branches], [3, "CONTINUE", ["good"]]);
    assert.deepEqual([...graph.order], [2, 1, 0]);
    assert.deepEqual([...graph.parentCounts], [2, 1, 0]);
    assert.deepEqual([...edgesOf(graph.children, 2)].map(nodeOfEdge), [0, 1]);
    assert.deepEqual([...edgesOf(graph.parents, 0)].map(nodeOfEdge), [1, 2]);
  });

  it("needs nodes", () => {
    assert.deepEqual(problemsOf([]), [{ kind: "NO_NODES", node: null, text: "a workflow has at least one node" }]);
  });

  it("has dependencies on its own nodes only", () => {
    assert.deepEqual(problemsOf([node("a"), node("b", { a: "SUCCEEDED", c: "SUCCEEDED" })]), [
      { kind: "UNKNOWN_PARENT", node: "b", text: 'node "b" depends on "c", which is no node' },
    ]);
  });

  it("names each node once, by a name of letters, digits and _ . -", () => {
    assert.deepEqual(textsOf([node("a.B-9_"), node("a.B-9_"), node("ü"), node(""), node("b", { ü: "FAILED" })]), [
      'node "a.B-9_" has the name of another node',
      'node "ü" needs a name of 1 to 64 characters of A-Z a-z 0-9 _ . -',
      'node "" needs a name of 1 to 64 characters of A-Z a-z 0-9 _ . -',
    ]);
    assert.deepEqual(problemsOf([node("n".repeat(64)), node("__proto__")]), []);
    assert.deepEqual(
      problemsOf([node("n".repeat(65))]).map((one) => one.node),
      [`${"n".repeat(64)}…`],
    );
  });

  it("waits for conditions that exist", () => {
    const bad = ["", "succeeded", "BRANCH:", "BRANCH:a b", `BRANCH:${"n".repeat(65)}`] as Condition[];
    const found = problemsOf([node("a"), ...bad.map((when, i) => node(`b${i}`, { a: when }))]);
    assert.deepEqual(
      found.map(({ kind, node: name }) => [kind, name]),
      bad.map((_, i) => ["BAD_CONDITION", `b${i}`]),
    );
    assert.equal(found[1]?.text, 'node "b1" waits for "succeeded", which is no condition');
    assert.deepEqual(problemsOf([node("a"), node("b", { a: `BRANCH:${"n".repeat(64)}` })]), []);
  });

  it("has no edge twice, but edges of different conditions between the same nodes", () => {
    const edges = (...when: Condition[]) => ({ dependsOn: when.map((one) => ({ node: "a", when: one })) });
    assert.deepEqual(textsOf([node("a"), node("b", {}, edges("FAILED", "BRANCH:x", "BRANCH:y", "BRANCH:x"))]), [
      'node "b" depends on "a" twice alike',
    ]);
    assert.deepEqual(textsOf([node("a"), node("b", {}, edges("BRANCH:x", "BRANCH:y"))]), []);
  });

  it("has no edge from a node to itself", () => {
    assert.deepEqual(textsOf([node("a", { a: "FAILED" })]), ['node "a" depends on itself']);
  });

  it("has no cycle: the problem names the nodes along one", () => {
    const nodes = [node("c", { b: "SUCCEEDED" }), node("b", { a: "SUCCEEDED" }), node("a", { b: "FAILED" }), node("d")];
    assert.deepEqual(problemsOf(nodes), [
      { kind: "CYCLE", node: "b", text: 'node "b" depends on itself: b → a → b', cycle: ["b", "a", "b"] },
    ]);
  });

  it("shows a part of a long cycle", () => {
    const [first, ...rest] = chain(1_000) as [GraphNode, ...GraphNode[]];
    const [problem] = problemsOf([{ ...first, dependsOn: [{ node: "n999", when: "SUCCEEDED" }] }, ...rest]);
    assert.equal(problem?.cycle?.length, 1_001);
    assert.match(problem?.text ?? "", /n0 → n1 → .* → n19 → … → n0 \(1000 nodes\)$/);
  });

  it("gets at most 8 problems at once", () => {
    const nodes = Array.from({ length: 100 }, (_, i) => node(`n${i}`, { nobody: "SUCCEEDED", [`n${i}`]: "SUCCEEDED" }));
    assert.equal(problemsOf(nodes).length, 8);
    assert.equal(problemsOf(nodes.map((one) => ({ ...one, name: "n" }))).length, 8);
  });
});

describe("limits of a definition", () => {
  /** 1,000 nodes with edges to each of 100 roots. */
  const dense = (when: (parent: number, child: number) => Condition) => {
    const roots = Array.from({ length: 100 }, (_, i) => node(`r${i}`));
    const others = Array.from({ length: 1_000 }, (_, child) =>
      node(`n${child}`, Object.fromEntries(roots.map(({ name }, parent) => [name, when(parent, child)]))),
    );
    return [...roots, ...others];
  };

  it("lie within those that the layout of an edge has", () => {
    assert.ok(WORKFLOW_NODES_MAX <= NODES_REPRESENTABLE && WORKFLOW_BRANCHES_MAX + 3 <= CONDITIONS_REPRESENTABLE);
  });

  it("allow 10,000 nodes, and name the first one beyond", () => {
    assert.deepEqual(problemsOf(chain(WORKFLOW_NODES_MAX)), []);
    assert.deepEqual(problemsOf(chain(WORKFLOW_NODES_MAX + 2)), [
      { kind: "TOO_MANY_NODES", node: "n10000", text: 'node "n10000" is beyond the limit of 10000 nodes' },
    ]);
  });

  it("allow 100,000 dependencies, and name the first node beyond", () => {
    const nodes = dense(() => "SUCCEEDED");
    assert.equal(graphOf({ nodes, onFailure: "CONTINUE" }).children.edges.length, WORKFLOW_EDGES_MAX);
    assert.deepEqual(textsOf([...nodes, node("more", { n1: "FAILED" })]), [
      'node "more" is beyond the limit of 100000 dependencies',
    ]);
  });

  it("allow 10,000 branches, and name the first node beyond", () => {
    assert.deepEqual(textsOf(dense((parent, child) => `BRANCH:b${(100 * child + parent) % 10_000}`)), []);
    assert.deepEqual(textsOf(dense((parent, child) => `BRANCH:b${(100 * child + parent) % 10_001}`)), [
      'node "n100" is beyond the limit of 10000 names of branches',
    ]);
  });

  it("let the largest definition be compiled in small steps", () => {
    const steps = [...compilingGraph(layers(), "CONTINUE")];
    assert.ok(steps.length >= 25, `${steps.length}`);
  });
});

describe("a compiled graph", () => {
  it("orders every node behind its parents", () => {
    fc.assert(
      fc.property(dags(200, fc.constant("CONTINUE")), (dag) => {
        const { order, positions } = graphOf(dag);
        const numbers = new Map(dag.nodes.map(({ name }, number) => [name, number]));
        const positionOf = (name: string) => positions[numbers.get(name) as number] as number;
        assert.deepEqual(
          [...order].sort((a, b) => a - b),
          [...dag.nodes.keys()],
        );
        for (const { name, dependsOn } of dag.nodes) {
          for (const edge of dependsOn) assert.ok(positionOf(edge.node) < positionOf(name));
        }
      }),
      { seed: 20_261_124, numRuns: 100 },
    );
  });

  it("exists unless there is a cycle, and then the problem's cycle is one", () => {
    const edges = fc.array(fc.tuple(fc.nat(29), fc.nat(29)), { maxLength: 40, size: "max" });
    fc.assert(
      fc.property(edges, (pairs) => {
        const parents = new Map<number, Set<number>>(Array.from({ length: 30 }, (_, i) => [i, new Set()]));
        for (const [from, to] of pairs) if (from !== to) parents.get(to)?.add(from);
        const nodes = [...parents].map(([child, ends]) =>
          node(`n${child}`, Object.fromEntries([...ends].map((end) => [`n${end}`, "FINISHED"]))),
        );
        const found = problemsOf(nodes);
        assert.deepEqual(
          found.map(({ kind }) => kind),
          hasCycle(parents) ? ["CYCLE"] : [],
        );
        const cycle = (found[0]?.cycle ?? []).map((name) => Number(name.slice(1)));
        assert.equal(cycle[0], cycle.at(-1));
        assert.equal(new Set(cycle).size, Math.max(0, cycle.length - 1));
        for (const [i, child] of cycle.entries()) if (i > 0) assert.ok(parents.get(child)?.has(cycle[i - 1] as number));
      }),
      { seed: 20_261_124, numRuns: 500 },
    );
  });
});

/** Removes nodes without parents until none is left. */
function hasCycle(parents: ReadonlyMap<number, ReadonlySet<number>>): boolean {
  const left = new Set(parents.keys());
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const child of left) if (![...(parents.get(child) ?? [])].some((end) => left.has(end))) left.delete(child);
  }
  return left.size > 0;
}
