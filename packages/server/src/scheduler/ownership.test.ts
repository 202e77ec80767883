import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SHARD_COUNT } from "../domain/ids.ts";
import type { NodeLease } from "../ports/leases.ts";
import type { ShardHolder } from "../ports/store.ts";
import { livingNodes, Placement, plan } from "./ownership.ts";

const nobodyIs = () => false;

function lease(name: string, fields: Partial<NodeLease> = {}): NodeLease {
  const address = `${name}:8081`;
  const roles = ["api", "scheduler", "gateway"] as const;
  return { incarnation: name, name, address, roles, version: "1", startedAt: 0, renewedAgoMs: 50, ...fields };
}

function heldBy(owner: string | null): ShardHolder[] {
  return Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, epoch: 1, owner }));
}

/** What `a` would do, with these nodes living. */
function planOf(living: NodeLease[], holders: ShardHolder[], fields: Partial<Parameters<typeof plan>[0]> = {}) {
  const placed = new Placement().here("a", living);
  return { placed, ...plan({ me: "a", living, placed, holders, mine: new Map(), isSettling: nobodyIs, ...fields }) };
}

describe("who lives", () => {
  it("leaves out nodes that own no shards, and those that cannot be reached and have fallen silent", () => {
    const leases = [
      lease("b", { renewedAgoMs: 501 }),
      lease("a", { renewedAgoMs: 2_000 }),
      lease("c", { renewedAgoMs: 100 }),
      lease("gate", { roles: ["gateway"] }),
    ];
    const living = livingNodes(leases, (node) => node === "b" || node === "c");
    assert.deepEqual(
      living.map(({ name }) => name),
      ["a", "c"],
    );
  });

  it("takes the younger of two lives of one node", () => {
    const [node] = livingNodes(
      [lease("a", { incarnation: "new", startedAt: 2 }), lease("a", { startedAt: 1 })],
      nobodyIs,
    );
    assert.equal(node?.incarnation, "new");
  });
});

describe("the placement", () => {
  it("is thought out again only where another list of nodes lives, or the node is another of them", () => {
    const placement = new Placement();
    const both = [lease("a"), lease("b")];
    const first = placement.here("a", both);
    assert.equal(placement.here("a", [lease("a", { renewedAgoMs: 90 }), lease("b")]), first);
    const other = placement.here("b", both);
    assert.deepEqual([first.size + other.size, [...first].some((shard) => other.has(shard))], [SHARD_COUNT, false]);
    assert.equal(placement.here("b", [lease("b")]).size, SHARD_COUNT);
    assert.deepEqual(placement.here("a", both), first);
  });
});

describe("what a node takes and lets go", () => {
  it("takes all that nobody holds when it is alone, and lets nothing go", () => {
    const { take, letGo } = planOf([lease("a")], heldBy(null));
    assert.deepEqual([take.length, letGo], [SHARD_COUNT, null]);
  });

  it("waits for the living to let go, and takes from the dead at once", () => {
    const both = [lease("a"), lease("b")];
    assert.equal(planOf(both, heldBy("b")).take.length, 0);
    const { take, placed } = planOf(both, heldBy("dead"));
    assert.deepEqual(new Set(take.map(({ shard }) => shard)), placed);
  });

  it("does not steal back what it has just lost to somebody whom it holds for dead", () => {
    assert.equal(planOf([lease("a"), lease("b")], heldBy("c"), { isSettling: () => true }).take.length, 0);
    assert.ok(planOf([lease("a"), lease("b")], heldBy(null), { isSettling: () => true }).take.length > 0);
  });

  it("takes its own over anew where its machine is gone", () => {
    const { take, placed } = planOf([lease("a"), lease("b")], heldBy("a"));
    assert.equal(take.length, placed.size);
  });

  it("lets one go at a time of those that are placed elsewhere", () => {
    const mine = new Map(heldBy("a").map(({ shard, epoch }) => [shard, epoch]));
    const { letGo, placed } = planOf([lease("a"), lease("b")], heldBy("a"), { mine });
    assert.ok(letGo !== null && !placed.has(letGo));
  });
});
