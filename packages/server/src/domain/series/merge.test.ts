import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SeriesColumn, ToldSeries } from "./figures.ts";
import { MergedSeries, quantileOf } from "./merge.ts";

/** Series of a node from a point on. @param seen living nodes that it saw, by point */
const node = (from: number, seen: (number | null)[], ...columns: SeriesColumn[]): ToldSeries => {
  return { from, nodes: seen, columns };
};
const column = (name: string, values: (number | null)[], label = "", bucket?: number): SeriesColumn => {
  return { name, label, values, ...(bucket !== undefined && { bucket }) };
};

describe("the merged series of several nodes", () => {
  it("add up counts and levels of nodes, and take the largest of what each says of the whole cluster", () => {
    const merged = new MergedSeries(0, 2, [
      node(0, [2, 2], column("assigned_total", [3, null]), column("workers_connected", [4, 5]), overdue([1, 2])),
      node(0, [2, 2], column("assigned_total", [1, 2]), column("workers_connected", [1, 1]), overdue([1, 0])),
    ]);
    assert.deepEqual(merged.values("assigned_total"), [4, 2]);
    assert.deepEqual(merged.values("workers_connected"), [5, 6]);
    assert.deepEqual(merged.values("jobs_overdue"), [1, 2]);
    assert.deepEqual(merged.missing, [0, 0]);
  });

  it("lack a node that was killed as long as it lived, and are whole after its death", () => {
    const survivor = node(0, [2, 2, 2, 1, 1], column("assigned_total", [1, 1, 1, 1, 1]));
    const merged = new MergedSeries(0, 5, [survivor]);
    assert.deepEqual(merged.told, [1, 1, 1, 1, 1]);
    assert.deepEqual(merged.missing, [1, 1, 1, 0, 0]);
    assert.deepEqual(
      [0, 3].map((point) => merged.isWhole(point)),
      [false, true],
    );
  });

  it("are whole before the start of a node that came later, and tell of no point before all nodes were started", () => {
    const merged = new MergedSeries(0, 5, [node(1, [1, 1, 2, 2]), node(3, [2, 2])]);
    assert.deepEqual(merged.told, [0, 1, 1, 2, 2]);
    assert.deepEqual(merged.missing, [0, 0, 0, 0, 0]);
    assert.deepEqual(merged.values("assigned_total"), [null, 0, 0, 0, 0]);
    assert.equal(merged.isWhole(0), false);
  });

  it("take a point that one node did not sample for one that lacks this node", () => {
    const merged = new MergedSeries(0, 3, [node(0, [2, null, 2]), node(0, [2, 2, 2])]);
    assert.deepEqual(merged.missing, [0, 1, 0]);
  });

  it("join the pieces of one node, and leave out series that this program does not know", () => {
    const pieces = [node(0, [1, 1], column("assigned_total", [1, 2]), column("new_total", [9, 9])), node(2, [1])];
    const merged = new MergedSeries(0, 3, pieces);
    assert.deepEqual(
      [merged.told, merged.values("assigned_total")],
      [
        [1, 1, 1],
        [1, 2, 0],
      ],
    );
  });

  it("have no level where no node has the part that the level is of", () => {
    const merged = new MergedSeries(0, 1, [node(0, [1])]);
    assert.deepEqual([merged.values("redis_up"), merged.values("executions_ready", "p")], [[null], [0]]);
  });
});

function overdue(values: number[]): SeriesColumn {
  return column("jobs_overdue", values);
}

describe("a quantile of a histogram", () => {
  const bounds = [1, 2, 4];

  it("lies within its bucket as if the values were spread evenly there", () => {
    assert.equal(quantileOf([10, 0, 0, 0], bounds, 0.5), 0.5);
    assert.equal(quantileOf([5, 0, 5, 0], bounds, 0.75), 3);
    assert.equal(quantileOf([5, 5, 0, 0], bounds, 1), 2);
  });

  it("is the last end for values beyond it, and nothing without values", () => {
    assert.equal(quantileOf([0, 0, 0, 3], bounds, 0.5), 4);
    assert.equal(quantileOf([0, 0, 0, 0], bounds, 0.5), null);
  });
});
