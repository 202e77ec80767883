import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { areAdjacent, clusterLevel, FEATURE_LEVEL, FIRST_LEVEL, isOn, lackingNode, levelOf } from "./feature-level.ts";

const nodes = (...levels: number[]) => levels.map((level) => ({ level }));

describe("feature levels", () => {
  it("of a cluster are that of its oldest node, whoever asks", () => {
    assert.equal(clusterLevel(nodes(3, 2, 3), 3), 2);
    assert.equal(clusterLevel(nodes(3), 2), 2);
    assert.equal(clusterLevel([], FEATURE_LEVEL), FEATURE_LEVEL);
  });

  it("switch a feature on when the last node knows it, and not before", () => {
    const since = levelOf("DRAINING");
    assert.equal(isOn("DRAINING", clusterLevel(nodes(since, since - 1, since), since)), false);
    assert.equal(isOn("DRAINING", clusterLevel(nodes(since, since), since)), true);
    assert.ok(since > FIRST_LEVEL && since <= FEATURE_LEVEL, "this program knows what it offers");
  });

  it("tell which node keeps the others from using a feature: the oldest, and of equals the first", () => {
    const since = levelOf("DRAINING");
    const named = (...levels: number[]) => levels.map((level, index) => ({ level, name: `node-${index}` }));
    assert.equal(lackingNode(named(since, since - 1, since - 2, since - 2), "DRAINING")?.name, "node-2");
    assert.equal(lackingNode(named(since, since + 1), "DRAINING"), null);
    assert.equal(lackingNode([], "DRAINING"), null);
  });

  it("may be one apart", () => {
    assert.deepEqual([areAdjacent(2, 2), areAdjacent(2, 3), areAdjacent(3, 2)], [true, true, true]);
    assert.deepEqual([areAdjacent(1, 3), areAdjacent(4, 2)], [false, false]);
  });
});
