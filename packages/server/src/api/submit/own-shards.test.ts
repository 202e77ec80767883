import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SHARD_COUNT } from "../../domain/ids.ts";
import { OwnShards } from "./own-shards.ts";

/** Shards of the next jobs of a node. @param owners node of each shard; changes take effect at once */
function nextOf(owners: readonly (string | null)[]) {
  const ownShards = new OwnShards({ node: "me", ownerOf: (shard) => owners[shard] ?? null });
  return (count: number) => Array.from({ length: count }, () => ownShards.next());
}

const everyThird = () => Array.from({ length: SHARD_COUNT }, (_, shard) => (shard % 3 === 0 ? "me" : "other"));

describe("the shards that a node chooses for new jobs", () => {
  it("are its own, each with equally many jobs", () => {
    const owners = everyThird();
    const own = owners.filter((owner) => owner === "me").length;
    const jobs = new Map<number | null, number>();
    for (const shard of nextOf(owners)(own * 1_000)) jobs.set(shard, (jobs.get(shard) ?? 0) + 1);
    assert.deepEqual(
      [...jobs].sort(([a], [b]) => (a ?? 0) - (b ?? 0)),
      owners.flatMap((owner, shard) => (owner === "me" ? [[shard, 1_000]] : [])),
    );
  });

  it("are few for the jobs of one batch", () => {
    assert.equal(new Set(nextOf(everyThird())(1_000)).size, 10);
  });

  it("are none while the node owns none, and follow takeovers at once", () => {
    const owners: (string | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
    const next = nextOf(owners);
    assert.deepEqual(next(2), [null, null]);
    owners[5] = "me";
    assert.deepEqual(next(150), Array(150).fill(5));
    owners[5] = "other";
    owners[4] = "me";
    assert.deepEqual(next(2), [4, 4]);
  });
});
