import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { latenessOf, spreadOf } from "./figures.ts";

describe("figures", () => {
  it("tell the smallest, the middle and the largest of several runs, in whatever order they came", () => {
    assert.deepEqual(spreadOf([3, 1, 2]), { min: 1, median: 2, max: 3 });
    assert.deepEqual(spreadOf([7]), { min: 7, median: 7, max: 7 });
  });

  it("name a lateness that so many did not exceed, and never one that nobody had", () => {
    const values = Float64Array.from({ length: 1_000 }, (_, index) => 1_000 - index);
    assert.deepEqual(latenessOf(values), { p50Ms: 500, p99Ms: 990, p999Ms: 999, maxMs: 1_000 });
  });
});
