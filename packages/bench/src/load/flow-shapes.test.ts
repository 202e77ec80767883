import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chain, fanIn, fanOut, flowsOf, hopsOf, layered, outOfOrder } from "./flow-shapes.ts";

describe("shapes of workflows", () => {
  it("are one node after all others, all others after one node, and one after another", () => {
    assert.deepEqual(fanIn(4), [[], [], [], [0, 1, 2]]);
    assert.deepEqual(fanOut(4), [[], [0], [0], [0]]);
    assert.deepEqual(chain(4), [[], [0], [1], [2]]);
  });

  it("are layers with exactly so many edges, each to a different node of the layer before", () => {
    const nodes = layered({ layers: 100, width: 100, edges: 100_000 });
    assert.deepEqual([nodes.length, nodes.flat().length], [10_000, 100_000]);
    for (const [position, waitsFor] of nodes.entries()) {
      assert.equal(new Set(waitsFor).size, waitsFor.length);
      const layer = Math.floor(position / 100);
      assert.ok(waitsFor.every((parent) => Math.floor(parent / 100) === layer - 1));
      assert.ok(layer === 0 || waitsFor.length === 10 || waitsFor.length === 11, `${waitsFor.length}`);
    }
    assert.throws(() => layered({ layers: 2, width: 3, edges: 10 }), /no room for 10 edges/);
  });

  it("are numbered one after the other", () => {
    assert.deepEqual(
      flowsOf(3, chain(2)).map(({ firstN }) => firstN),
      [0, 2, 4],
    );
  });
});

describe("the starts of a workflow's nodes", () => {
  const [, second] = flowsOf(2, fanIn(3));

  it("are in order if no node starts before one that it waits for", () => {
    assert.ok(second);
    assert.equal(outOfOrder(second, Float64Array.of(9, 9, 9, 1, 3, 3)), 0);
    assert.equal(outOfOrder(second, Float64Array.of(0, 0, 0, 1, 4, 3)), 1);
    assert.equal(outOfOrder(second, Float64Array.of(0, 0, 0, 1, 3)), 2);
  });

  it("have a hop from each to the next", () => {
    assert.deepEqual([...hopsOf(Float64Array.of(5, 7, 12))], [2, 5]);
  });
});
