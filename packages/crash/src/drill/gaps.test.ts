import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gapAfter, quantilesOf, type Start } from "./gaps.ts";

describe("the gap after an incident", () => {
  const start = (atMs: number, shard = 1): Start => ({ atMs, shard, askedAtMs: atMs });
  const incident = { atMs: 100, shards: new Set([1, 2]) };

  it("is the longest time without a start in its shards, from the incident on", () => {
    const starts = [start(40), start(110), start(150, 2), start(300, 9), start(700, 2), start(720)];
    assert.equal(gapAfter(incident, starts, 5_000), 550);
  });

  it("does not look further than it is told to", () => {
    assert.equal(gapAfter(incident, [start(110), start(130), start(9_000)], 5_000), 20);
  });

  it("is all that was looked at where nothing began", () => {
    assert.equal(gapAfter(incident, [start(50), start(200, 9)], 5_000), 5_000);
  });
});

it("names the middle, the worst of a hundred and the worst", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(quantilesOf(hundred), { p50: 50, p99: 99, max: 100 });
  assert.deepEqual(quantilesOf([7]), { p50: 7, p99: 7, max: 7 });
  assert.deepEqual(quantilesOf([]), { p50: 0, p99: 0, max: 0 });
});
