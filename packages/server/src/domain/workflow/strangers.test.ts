import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { compileGraph } from "./compile-graph.ts";
import { type Referral, strangers } from "./strangers.ts";

/** @param parents parents of each node, by number */
function found(parents: readonly (readonly number[])[], referrals: [number, number[]][]): Referral[] {
  const nodes = parents.map((own, number) => ({
    ...{ name: `n${number}`, join: "ALL" as const, allowFailure: false },
    dependsOn: own.map((parent) => ({ node: `n${parent}`, when: "SUCCEEDED" as const })),
  }));
  const compiled = compileGraph(nodes, "FAIL_FAST");
  assert.ok("graph" in compiled);
  const steps = strangers(compiled.graph, new Map(referrals));
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

describe("nodes that refer to a node that is no ancestor", () => {
  it("are found: siblings, descendants, and the node itself", () => {
    const parents = [[], [0], [1], [0]];
    const wrong: [number, number[]][] = [
      [0, [2]],
      [2, [0, 1, 2, 3]],
      [3, [0, 1]],
    ];
    assert.deepEqual(found(parents, wrong), [
      { node: 0, from: 2 },
      { node: 2, from: 2 },
      { node: 2, from: 3 },
      { node: 3, from: 1 },
    ]);
  });

  it("are those that no path leads to, in any graph", () => {
    const graphs = fc.integer({ min: 1, max: 80 }).chain((size) =>
      fc.record({
        parents: fc.tuple(
          ...Array.from({ length: size }, (_, node) =>
            fc.uniqueArray(fc.integer({ min: 0, max: Math.max(0, node - 1) }), { maxLength: Math.min(3, node) }),
          ),
        ),
        pairs: fc.uniqueArray(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 200, selector: String }),
      }),
    );
    fc.assert(
      fc.property(graphs, ({ parents, pairs }) => {
        const ancestors: Set<number>[] = [];
        for (const own of parents)
          ancestors.push(new Set(own.flatMap((parent) => [parent, ...(ancestors[parent] ?? [])])));
        const referrals = new Map<number, number[]>();
        for (const [node, from] of pairs) referrals.set(node, [...(referrals.get(node) ?? []), from]);
        const texts = (list: Referral[]) => list.map(({ node, from }) => `${node} ${from}`).sort();
        const expected = pairs.flatMap(([node, from]) => (ancestors[node]?.has(from) ? [] : [{ node, from }]));
        assert.deepEqual(texts(found(parents, [...referrals])), texts(expected));
      }),
      { numRuns: 200 },
    );
  });

  it("are found in a chain of 10,000 nodes that each refer to a hundred others, a few milliseconds a step", () => {
    const size = 10_000;
    const parents = Array.from({ length: size }, (_, node) => (node === 0 ? [] : [node - 1]));
    const referrals = parents.map((_, node): [number, number[]] => {
      return [node, Array.from({ length: 100 }, (_, i) => (node * 7 + i * 97) % size).filter((from) => from < node)];
    });
    assert.deepEqual(found(parents, referrals), []);
  });
});
