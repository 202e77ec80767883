import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesAt, formulaOf, lineThrough } from "./extrapolation.ts";

describe("the extrapolation of a store's size", () => {
  it("is the straight line through both sizes", () => {
    const line = lineThrough({ jobs: 1_000_000, bytes: 1_010_000_000 }, { jobs: 10_000_000, bytes: 9_110_000_000 });
    assert.deepEqual(line, { base: 110_000_000, bytesPerJob: 900 });
    assert.equal(bytesAt(line, 1_000_000), 1_010_000_000);
    assert.equal(bytesAt(line, 100_000_000), 90_110_000_000);
  });

  it("is printed as a formula with its result", () => {
    const line = lineThrough({ jobs: 10, bytes: 1_500 }, { jobs: 20, bytes: 2_005 });
    assert.equal(formulaOf(line, 100_000), "bytes(n) = 995 + 50.5 × n; bytes(100,000) = 5,050,995");
  });

  it("refuses two sizes of the same number of jobs", () => {
    assert.throws(() => lineThrough({ jobs: 5, bytes: 1 }, { jobs: 5, bytes: 2 }), /make no line/);
  });
});
