import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Owners } from "./owners.ts";

const NOTHING = { isNew: false, claimed: new Set(), isForgetful: false, gone: [] };
const more = (...shards: number[]) => ({ ...NOTHING, isNew: true, claimed: new Set(shards) });
const first = (...shards: number[]) => ({ ...more(...shards), isForgetful: true });

describe("owners, by what they say", () => {
  it("change nothing when they repeat themselves", () => {
    const owners = new Owners();
    const shards = owned([1, 5], [2, 5]);
    assert.deepEqual(owners.record("a", { term: 1, life: 1, shards }), first(1, 2));
    assert.deepEqual(owners.record("a", { term: 1, life: 1, shards }), NOTHING);
    assert.deepEqual([owners.of(1), owners.of(3), owners.termOf("a"), owners.all], ["a", null, 1, ["a"]]);
    assert.deepEqual([owners.isCurrent(1, 4), owners.isCurrent(1, 5), owners.isCurrent(3, 0)], [false, true, true]);
  });

  it("begin again with a term, and are not heard when they speak of an older one", () => {
    const owners = new Owners();
    owners.record("a", { term: 2, life: 1, shards: owned([1, 5]) });
    assert.deepEqual(owners.record("a", { term: 1, life: 1, shards: owned([1, 6]) }), NOTHING);
    assert.equal(owners.isCurrent(1, 5), true);
    assert.deepEqual(owners.record("a", { term: 3, life: 1, shards: owned([1, 5]) }), more());
    assert.deepEqual(owners.record("a", { term: 4, life: 4, shards: owned([1, 5]) }), first());
    assert.equal(owners.termOf("a"), 4);
  });

  it("are gone when others have claimed all that they had, and can be back", () => {
    const owners = new Owners();
    owners.record("a", { term: 1, life: 1, shards: owned([1, 5], [2, 5]) });
    assert.deepEqual(owners.record("b", { term: 1, life: 1, shards: owned([1, 6]) }), first(1));
    assert.deepEqual(owners.record("b", { term: 2, life: 1, shards: owned([1, 6], [2, 6]) }), {
      ...more(2),
      gone: ["a"],
    });
    assert.deepEqual(
      owners.record("a", { term: 1, life: 1, shards: owned([1, 5], [2, 5]) }),
      NOTHING,
      "it has not noticed yet",
    );
    assert.deepEqual(owners.all, ["b"]);
    assert.deepEqual(owners.record("a", { term: 2, life: 1, shards: owned([2, 7]) }), more(2));
    assert.deepEqual([owners.of(1), owners.of(2)], ["b", "a"]);
  });

  it("lose what they do not name any more, though nobody else has it yet", () => {
    const owners = new Owners();
    owners.record("a", { term: 1, life: 1, shards: owned([1, 5], [2, 5]) });
    assert.deepEqual(owners.record("a", { term: 1, life: 1, shards: owned([2, 5]) }), NOTHING);
    assert.deepEqual([owners.of(1), owners.of(2)], [null, "a"]);
    assert.deepEqual(
      owners.record("a", { term: 1, life: 1, shards: owned([1, 5], [2, 5]) }),
      NOTHING,
      "it was said before, and comes late",
    );
    assert.equal(owners.of(1), null);
    assert.deepEqual(owners.record("a", { term: 1, life: 1, shards: [] }), { ...NOTHING, gone: ["a"] });
    assert.equal(owners.isCurrent(2, 4), false);
  });

  it("cannot own what there is not", () => {
    const owners = new Owners();
    assert.deepEqual(owners.record("a", { term: 1, life: 1, shards: owned([64, 1], [-1, 1]) }), {
      ...NOTHING,
      isForgetful: true,
    });
    assert.deepEqual(owners.all, []);
  });
});

function owned(...shards: [shard: number, epoch: number][]): { shard: number; epoch: number }[] {
  return shards.map(([shard, epoch]) => ({ shard, epoch }));
}
