import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FEATURE_LEVEL, levelOf } from "../../domain/cluster/feature-level.ts";
import { SHARD_COUNT } from "../../domain/ids.ts";
import type { NodeLease } from "../../ports/leases.ts";
import type { ShardHolder } from "../../ports/store.ts";
import {
  livingNodes,
  nextDeathMs,
  owningNodes,
  Placement,
  placedNodes,
  planOwnership,
  stayingNodes,
  suspects,
} from "./ownership-rules.ts";

const nobodyIs = () => false;

function lease(name: string, fields: Partial<NodeLease> = {}): NodeLease {
  const address = `${name}:8081`;
  const roles = ["api", "scheduler", "gateway"] as const;
  const said = { incarnation: name, name, address, roles, version: "1", level: FEATURE_LEVEL, startedAt: 0 };
  return { ...said, renewedAgoMs: 50, draining: false, reaches: null, ...fields };
}

function heldBy(owner: string | null): ShardHolder[] {
  return Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, epoch: 1, owner }));
}

/** Plan of node `a` while these nodes are alive. */
function planOf(
  living: NodeLease[],
  holders: ShardHolder[],
  fields: Partial<Parameters<typeof planOwnership>[0]> = {},
) {
  const placed = new Placement().here("a", living);
  return {
    placed,
    ...planOwnership({
      me: "a",
      living,
      isCutOff: false,
      placed,
      holders,
      mine: new Map(),
      isSettling: nobodyIs,
      ...fields,
    }),
  };
}

describe("who lives", () => {
  it("leaves out nodes that own no shards, and those that cannot be reached and have fallen silent", () => {
    const leases = [
      lease("b", { renewedAgoMs: 401 }),
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

describe("when the next owner is to be taken for dead", () => {
  const terms = { ttlMs: 3_000, renewEveryMs: 200 };
  const isUnreachable = (node: string) => node === "gone";

  it("is when one that cannot be reached has missed a renewal", () => {
    assert.equal(nextDeathMs([lease("a"), lease("gone", { renewedAgoMs: 150 })], isUnreachable, terms), 251);
  });

  it("is when the lease of one ends that is only silent", () => {
    assert.equal(nextDeathMs([lease("a", { renewedAgoMs: 2_100 })], isUnreachable, terms), 901);
  });

  it("is soon where it is already, and never where all renew theirs or own nothing", () => {
    assert.equal(nextDeathMs([lease("a", { renewedAgoMs: 3_500 })], isUnreachable, terms), 1);
    const gateway = lease("gone", { renewedAgoMs: 300, roles: ["gateway"] });
    assert.equal(nextDeathMs([lease("a", { renewedAgoMs: 390 }), gateway], isUnreachable, terms), Infinity);
  });
});

describe("a node that refuses connections", () => {
  const leases = [lease("a", { reaches: ["a", "b"] }), lease("b"), lease("c")];

  it("is suspect where the link to it counted until now, and not where that was broken before", () => {
    const isSuspect = suspects(leases, "a", []);
    assert.deepEqual(["a", "b", "c"].map(isSuspect), [false, true, false]);
    assert.deepEqual(["a", "b", "c"].map(suspects(leases, "a", ["b"])), [false, false, false]);
  });

  it("is suspect where nothing is known of links yet", () => {
    assert.deepEqual(["a", "b"].map(suspects([lease("a"), lease("b")], "a", [])), [false, true]);
    assert.equal(suspects([], "a", [])("b"), true);
  });
});

describe("which nodes may own shards", () => {
  const [a, b, c] = [
    lease("a", { reaches: ["a", "b"] }),
    lease("b", { reaches: ["a", "b"] }),
    lease("c", { reaches: ["c"] }),
  ];
  const names = (living: NodeLease[], leases = living) => owningNodes(living, leases).map(({ name }) => name);

  it("follows from who reaches whom", () => {
    assert.deepEqual(names([a, b, c]), ["a", "b"]);
    assert.deepEqual(names([c]), ["c"]);
  });

  it("is not asked while a node lives that does not know of this: all have to place alike", () => {
    const older = lease("old", { level: levelOf("REACH") - 1, roles: ["gateway"] });
    assert.deepEqual(names([a, b, c], [a, b, c, older]), ["a", "b", "c"]);
  });

  it("is asked before draining: a side that owns keeps its shards where all of it are drained", () => {
    const drained = [a, b].map((node) => ({ ...node, draining: true }));
    const living = [...drained, c];
    assert.deepEqual(
      stayingNodes(owningNodes(living, living), living).map(({ name }) => name),
      ["a", "b"],
    );
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

describe("who is to give its shards away", () => {
  const draining = lease("a", { draining: true });
  const names = (leases: NodeLease[]) => stayingNodes(livingNodes(leases, nobodyIs), leases).map(({ name }) => name);

  it("gets none, and lets them go one at a time to the others, who wait for that", () => {
    const living = [draining, lease("b")];
    assert.deepEqual(names(living), ["b"]);
    const placed = new Placement().here("a", [lease("b")]);
    const mine = new Map(heldBy("a").map(({ shard, epoch }) => [shard, epoch]));
    const outlook = { me: "a", living, isCutOff: false, placed, holders: heldBy("a"), mine, isSettling: nobodyIs };
    assert.deepEqual(planOwnership(outlook), { take: [], release: [0] });
    const other = { ...outlook, me: "b", placed: new Placement().here("b", [lease("b")]), mine: new Map() };
    assert.deepEqual(planOwnership(other).take, [], "its owner lives");
    const [first, ...rest] = heldBy("a");
    assert.ok(first);
    assert.equal(planOwnership({ ...other, holders: [{ ...first, owner: null }, ...rest] }).take.length, 1);
  });

  it("keeps them where nobody is left to whom they could go", () => {
    assert.deepEqual(names([draining, lease("b", { draining: true })]), ["a", "b"]);
    assert.deepEqual(names([draining, lease("gate", { roles: ["gateway"] })]), ["a"]);
  });

  it("keeps them while a node lives that does not know of this: all have to place alike", () => {
    const older = lease("b", { level: levelOf("DRAINING") - 1 });
    assert.deepEqual(names([draining, older, lease("c")]), ["a", "b", "c"]);
    assert.deepEqual(names([draining, lease("c"), { ...older, roles: ["gateway"] }]), ["a", "c"]);
  });
});

describe("what a node takes and releases", () => {
  it("takes all that nobody holds when it is alone, and lets nothing go", () => {
    const { take, release } = planOf([lease("a")], heldBy(null));
    assert.deepEqual([take.length, release], [SHARD_COUNT, []]);
  });

  it("waits for living owners to release them, and takes from the dead at once", () => {
    const both = [lease("a"), lease("b")];
    assert.equal(planOf(both, heldBy("b")).take.length, 0);
    const { take, placed } = planOf(both, heldBy("dead"));
    assert.deepEqual(new Set(take.map(({ shard }) => shard)), placed);
  });

  it("does not steal back what it has just lost to somebody whom it holds for dead", () => {
    assert.equal(planOf([lease("a"), lease("b")], heldBy("c"), { isSettling: () => true }).take.length, 0);
    assert.ok(planOf([lease("a"), lease("b")], heldBy(null), { isSettling: () => true }).take.length > 0);
  });

  it("takes its own over again where its machine is gone", () => {
    const { take, placed } = planOf([lease("a"), lease("b")], heldBy("a"));
    assert.equal(take.length, placed.size);
  });

  it("lets all go at once where it is cut off, and takes nothing", () => {
    const mine = new Map(heldBy("a").map(({ shard, epoch }) => [shard, epoch]));
    const placed = new Placement().here("a", [lease("b")]);
    const outlook = { me: "a", living: [lease("a"), lease("b")], isCutOff: true, placed, isSettling: nobodyIs };
    assert.equal(planOwnership({ ...outlook, holders: heldBy("a"), mine }).release.length, SHARD_COUNT);
    assert.deepEqual(planOwnership({ ...outlook, holders: heldBy(null), mine: new Map() }), { take: [], release: [] });
  });

  it("lets one go at a time of those that are placed elsewhere", () => {
    const mine = new Map(heldBy("a").map(({ shard, epoch }) => [shard, epoch]));
    const { release, placed } = planOf([lease("a"), lease("b")], heldBy("a"), { mine });
    assert.deepEqual(
      release.map((shard) => placed.has(shard)),
      [false],
    );
  });
});

describe("one leader", () => {
  const wants = (name: string, fields: Partial<NodeLease> = {}) => lease(name, { wantsLeader: true, ...fields });
  const names = (leases: NodeLease[]) => placedNodes(livingNodes(leases, nobodyIs), leases).map(({ name }) => name);

  it("has all shards where every scheduler wants one, and hands them over when it drains", () => {
    const gateway = lease("gate", { roles: ["gateway"] });
    assert.deepEqual(names([wants("a"), wants("b"), gateway]), ["a"]);
    assert.deepEqual(names([wants("a", { draining: true }), wants("b"), wants("c")]), ["b"]);
    assert.deepEqual(names([wants("a", { draining: true }), wants("b", { draining: true })]), ["a"]);
  });

  it("is not there while one scheduler divides the shards", () => {
    assert.deepEqual(names([wants("a"), lease("b")]), ["a", "b"]);
    assert.deepEqual(names([lease("a"), lease("b")]), ["a", "b"]);
  });
});
