import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gapsOf, newestOf, ratesOf, shownFromSec, sumOf, timesOf, totalOf } from "./series.ts";

const FROM = "2030-01-31T09:00:00.000Z";
const start = Date.parse(FROM);
const points = { from: FROM, stepSec: 10, nodes: [0, 0, 1, 2, 1, 1], missing: [0, 0, 0, 0, 1, 2] };

describe("an hour of series", () => {
  it("has gaps where nobody told, and where some node did not", () => {
    assert.deepEqual(gapsOf(points), [
      { kind: "NOBODY", fromMs: start, untilMs: start + 20_000, missing: 0 },
      { kind: "SOME", fromMs: start + 40_000, untilMs: start + 60_000, missing: 2 },
    ]);
    assert.deepEqual(gapsOf({ ...points, nodes: [1], missing: [0] }), []);
  });

  it("shows no sum where a node is missing, because it would be too low", () => {
    assert.deepEqual(ratesOf(points, [null, null, 20, 5, 5, 5]), [null, null, 2, 0.5, null, null]);
    assert.deepEqual(timesOf(points).slice(0, 2), [start / 1_000, start / 1_000 + 10]);
  });

  it("is shown from the start of the servers, and for ten minutes at least", () => {
    const hour = (silent: number) => ({
      ...points,
      nodes: Array.from({ length: 360 }, (_, point) => (point < silent ? 0 : 1)),
      missing: Array.from({ length: 360 }, () => 0),
    });
    const shownAfter = (silent: number) => shownFromSec(hour(silent)) - start / 1_000;
    assert.deepEqual([0, 100, 355, 360].map(shownAfter), [0, 1_000, 2_990, 2_990]);
    assert.equal(shownFromSec(points), start / 1_000);
  });

  it("adds up what is known", () => {
    const values = [
      [null, 1, 2, null],
      [null, 3, null, null],
    ];
    assert.deepEqual(sumOf(values), [null, 4, 2, null]);
    assert.equal(totalOf(sumOf(values)), 6);
    assert.deepEqual([newestOf(sumOf(values)), newestOf([null])], [2, null]);
  });
});
