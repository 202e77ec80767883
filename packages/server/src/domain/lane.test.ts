import assert from "node:assert/strict";
import { it } from "node:test";
import { type LaneKey, laneHash, laneName } from "./lane.ts";

const LANE: LaneKey = { pool: "p", tenant: "t", handler: "h", requires: ["gpu"], concurrencyKey: null };

it("tells lanes apart by each part of what they are, in whatever order they are asked for", () => {
  const changes = [{}, { pool: "q" }, { tenant: "u" }, { handler: "i" }, { requires: ["cpu"] }, { requires: [] }];
  const lanes = [...changes, { requires: ["gpu", "x"] }, { concurrencyKey: "" }].map((change) => ({
    ...LANE,
    ...change,
  }));
  assert.equal(new Set(lanes.map(laneName)).size, lanes.length);
  assert.equal(new Set(lanes.map(laneHash)).size, lanes.length);
  assert.deepEqual(lanes.map(laneName).reverse(), lanes.toReversed().map(laneName));
  assert.deepEqual(lanes.map(laneHash).reverse(), lanes.toReversed().map(laneHash));
});

it("has a number for each lane that is the same for ever: rows that are stored depend on it", () => {
  assert.equal(laneHash({ ...LANE, requires: [] }), 874_581_084_718_375);
});

it("does not follow a list that is changed after it was asked for", () => {
  const requires = ["gpu"];
  const before = laneName({ ...LANE, requires });
  requires.push("x");
  assert.notEqual(laneName({ ...LANE, requires }), before);
});
