import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isCutOff, isLinked, largestGroup, type Reaching } from "./reach.ts";

/** Nodes by name; `broken` has pairs such as "ab". */
function nodesOf(names: string, ...broken: string[]): Reaching[] {
  return [...names].map((incarnation) => ({
    incarnation,
    reaches: [...names].filter(
      (other) => !broken.some((pair) => pair === incarnation + other || pair === other + incarnation),
    ),
  }));
}

function groupOf(nodes: readonly Reaching[]): string {
  return largestGroup(nodes)
    .map(({ incarnation }) => incarnation)
    .sort()
    .join("");
}

describe("a link", () => {
  const [a, b] = nodesOf("ab") as [Reaching, Reaching];

  it("stands where both nodes reach each other, and is broken where only one does", () => {
    assert.equal(isLinked(a, b), true);
    assert.equal(isLinked(a, { ...b, reaches: ["b"] }), false);
    assert.equal(isLinked({ ...a, reaches: [] }, b), false);
  });

  it("to a node that does not say which nodes it reaches stands by the word of the other one", () => {
    assert.equal(isLinked(a, { ...b, reaches: null }), true);
    assert.equal(isLinked({ ...a, reaches: ["a"] }, { ...b, reaches: null }), false);
    assert.equal(isLinked({ ...a, reaches: null }, { ...b, reaches: null }), true);
  });
});

describe("the nodes that may own shards", () => {
  it("are all of them where all reach each other, and one that is alone", () => {
    assert.deepEqual([groupOf(nodesOf("abc")), groupOf(nodesOf("a")), groupOf([])], ["abc", "a", ""]);
  });

  it("are not the one that reaches none of the others", () => {
    assert.equal(groupOf(nodesOf("abc", "ac", "bc")), "ab");
    assert.equal(groupOf(nodesOf("abc", "ab", "ac")), "bc", "whatever its id is");
  });

  it("are the lower node of two that do not reach each other", () => {
    assert.equal(groupOf(nodesOf("ab", "ab")), "a");
  });

  it("leave out one end of the only broken link between three nodes", () => {
    assert.equal(groupOf(nodesOf("abc", "ab")), "ac");
    assert.equal(groupOf(nodesOf("abc", "bc")), "ab");
  });

  it("are the larger side of a partition, and of two equal ones that with the lowest id", () => {
    assert.equal(groupOf(nodesOf("abcde", "ac", "ad", "ae", "bc", "bd", "be")), "cde");
    assert.equal(groupOf(nodesOf("abcd", "ac", "ad", "bc", "bd")), "ab");
    assert.equal(groupOf(nodesOf("abcd", "ab", "bc", "cd", "da")), "ac");
  });

  it("do not depend on nodes that are named in a list of links and live no more", () => {
    assert.equal(groupOf(nodesOf("abcd", "ab").slice(0, 3)), "ac");
  });

  it("are found among many nodes without one link, and among many with random ones, within a bounded search", () => {
    const lonely = Array.from({ length: 100 }, (_, i) => ({ incarnation: String(i).padStart(3, "0"), reaches: [] }));
    assert.equal(groupOf(lonely), "000");
    const pairs = fc.sample(fc.array(fc.boolean(), { minLength: 4_950, maxLength: 4_950 }), { numRuns: 1, seed: 7 });
    const many = graph(100, (pair) => pairs[0]?.[pair] === true);
    const found = largestGroup(many);
    assert.ok(found.length > 4 && areAllLinked(found));
  });
});

describe("the nodes that may own shards, in any cluster", () => {
  const clusters = fc
    .integer({ min: 1, max: 8 })
    .chain((size) => fc.tuple(fc.constant(size), fc.array(fc.boolean(), { minLength: 28, maxLength: 28 })))
    .map(([size, pairs]) => graph(size, (pair) => pairs[pair] === true));

  it("reach each other, are as many as can be, and of equal groups the one with the lowest ids", () => {
    fc.assert(
      fc.property(clusters, (nodes) => {
        const found = largestGroup(nodes);
        assert.ok(areAllLinked(found));
        assert.equal(groupOf(nodes), bestByTryingAll(nodes));
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  it("are the same for every node, whatever the order of its list: exactly one side owns", () => {
    const orders = clusters.chain((nodes) =>
      fc.tuple(fc.constant(nodes), fc.shuffledSubarray(nodes, { minLength: nodes.length })),
    );
    fc.assert(
      fc.property(orders, ([nodes, shuffled]) => assert.equal(groupOf(shuffled), groupOf(nodes))),
      { seed: 2, numRuns: 300 },
    );
  });

  it("are never none while a node lives, also where reach is one-sided or not said", () => {
    const reaches = fc.option(fc.subarray(["a", "b", "c", "d", "gone"]), { nil: null });
    const oneSided = fc.array(reaches, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(oneSided, (all) => {
        const nodes = all.map((list, i) => ({ incarnation: "abcd"[i] as string, reaches: list }));
        const found = largestGroup(nodes);
        assert.ok(found.length > 0 && areAllLinked(found));
      }),
      { seed: 3, numRuns: 300 },
    );
  });
});

describe("a node that is cut off", () => {
  const owners = nodesOf("abg", "bg").slice(0, 2);
  const gateway = nodesOf("abg", "bg")[2] as Reaching;

  it("is one that could own shards, and is not among the owners", () => {
    const [a, c] = [owners[0] as Reaching, { incarnation: "c", reaches: ["a", "b", "c"] }];
    assert.deepEqual([isCutOff(a, owners, true), isCutOff(c, owners, true)], [false, true]);
  });

  it("is one without shards that reaches none of the owners", () => {
    assert.equal(isCutOff(gateway, owners, false), false, "it reaches one of two");
    assert.equal(isCutOff({ ...gateway, reaches: ["g"] }, owners, false), true);
    assert.equal(isCutOff(gateway, [], false), false, "there is none");
  });
});

function graph(size: number, isBroken: (pair: number) => boolean): Reaching[] {
  const ids = Array.from({ length: size }, (_, i) => String(i).padStart(3, "0"));
  const pairOf = (i: number, j: number) => (Math.max(i, j) * (Math.max(i, j) - 1)) / 2 + Math.min(i, j);
  return ids.map((incarnation, i) => ({
    incarnation,
    reaches: ids.filter((_, j) => i === j || !isBroken(pairOf(i, j))),
  }));
}

function areAllLinked(nodes: readonly Reaching[]): boolean {
  return nodes.every((node) => nodes.every((other) => node === other || isLinked(node, other)));
}

function bestByTryingAll(nodes: readonly Reaching[]): string {
  const sorted = [...nodes].sort((a, b) => (a.incarnation < b.incarnation ? -1 : 1));
  const groups = Array.from({ length: 2 ** sorted.length }, (_, bits) =>
    sorted.filter((_, i) => (bits >> i) % 2 === 1),
  );
  const names = groups.filter(areAllLinked).map((group) => group.map(({ incarnation }) => incarnation).join(""));
  return names.sort((a, b) => b.length - a.length || (a < b ? -1 : 1))[0] as string;
}
