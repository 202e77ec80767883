import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dividedAmong, placeShards } from "./placement.ts";

const NODES = ["10.0.0.1:8081", "10.0.0.2:8081", "10.0.0.3:8081"];
const SHARDS = 64;

/** Name of the node of each shard. */
function places(nodes: readonly string[]): (string | undefined)[] {
  return placeShards(nodes, SHARDS).map((place) => nodes[place]);
}

describe("the placement of shards", () => {
  it("gives every shard to somebody, and nobody more than his share", () => {
    const placed = places(NODES);
    assert.equal(placed.length, SHARDS);
    for (const node of NODES) {
      const count = placed.filter((place) => place === node).length;
      assert.ok(count > 0 && count <= 22, `${node} has ${count}`);
    }
    assert.deepEqual(placeShards([], SHARDS), []);
    assert.deepEqual(new Set(places(["alone"])), new Set(["alone"]));
  });

  it("is the same whatever the order of the list", () => {
    assert.deepEqual(places([...NODES].reverse()), places(NODES));
  });

  it("moves little when a node goes: what the others had stays mostly theirs", () => {
    const [first, second] = NODES as [string, string];
    const before = places(NODES);
    const after = places([first, second]);
    const kept = before.filter((node, shard) => node !== NODES[2] && after[shard] === node).length;
    const theirs = before.filter((node) => node !== NODES[2]).length;
    assert.ok(kept >= theirs * 0.75, `${kept} of ${theirs} stayed`);
  });
});

describe("one leader", () => {
  const one = (incarnation: string) => ({ incarnation, wantsLeader: true });
  const nodes = [one("3"), one("1"), one("2")];

  it("is the node that started first of those that may have shards, whatever the order of the list", () => {
    assert.deepEqual(dividedAmong(nodes, nodes), [one("1")]);
    assert.deepEqual(dividedAmong([...nodes].reverse(), nodes), [one("1")]);
    assert.deepEqual(dividedAmong([one("3"), one("2")], nodes), [one("2")], "the first one drains");
    assert.deepEqual(dividedAmong([], nodes), []);
  });

  it("waits until every living node wants it", () => {
    assert.deepEqual(dividedAmong(nodes, [...nodes, { incarnation: "4" }]), nodes);
    assert.deepEqual(dividedAmong(nodes, [...nodes, { incarnation: "4", wantsLeader: false }]), nodes);
  });
});
