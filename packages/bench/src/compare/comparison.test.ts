import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { comparisonOf, meanOf, orderOf } from "./comparison.ts";

const pairOf = (here: number, there: number) => ({ here: { totalCpuUs: here }, there: { totalCpuUs: there } });

describe("a comparison of two trees", () => {
  it("takes the ratio of each pair, so that a machine that becomes slower changes nothing", () => {
    const { totalCpuUs } = comparisonOf([pairOf(90, 100), pairOf(180, 200), pairOf(450, 500)]);
    assert.deepEqual(totalCpuUs?.ratio, { min: 0.9, median: 0.9, max: 0.9 });
    assert.deepEqual([totalCpuUs?.here, totalCpuUs?.there, totalCpuUs?.isClear], [180, 200, true]);
  });

  it("is not clear if one pair contradicts the others", () => {
    const { totalCpuUs } = comparisonOf([pairOf(90, 100), pairOf(101, 100), pairOf(80, 100)]);
    assert.deepEqual(totalCpuUs?.ratio, { min: 0.8, median: 0.9, max: 1.01 });
    assert.equal(totalCpuUs?.isClear, false);
  });

  it("takes the mean of the two middle pairs of an even number", () => {
    const { totalCpuUs } = comparisonOf([pairOf(4, 1), pairOf(1, 1), pairOf(2, 1), pairOf(3, 1)]);
    assert.deepEqual(totalCpuUs?.ratio, { min: 1, median: 2.5, max: 4 });
  });

  it("leaves out a figure that one of the trees does not have, and a ratio to nothing", () => {
    const pairs = [{ here: { logBytes: 700, serverCpuUs: 3 }, there: { serverCpuUs: 0 } }];
    assert.deepEqual(comparisonOf(pairs), {});
    assert.deepEqual(comparisonOf([]), {});
  });

  it("counts a run of several parts once", () => {
    assert.deepEqual(meanOf([{ jobsPerSec: 10 }, { jobsPerSec: 20 }]), { jobsPerSec: 15 });
  });

  it("begins every second pair with the other tree", () => {
    assert.deepEqual([0, 1, 2].map(orderOf), [
      ["here", "there"],
      ["there", "here"],
      ["here", "there"],
    ]);
  });
});
