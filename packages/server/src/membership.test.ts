import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { pino } from "pino";
import { BREAK_AFTER_MS } from "./domain/cluster/links.ts";
import { Membership } from "./membership.ts";
import type { Role } from "./ports/bus.ts";
import type { Leases, NodeLease, NodeProfile } from "./ports/leases.ts";
import { ManualRuntime } from "./ports/manual-runtime.fixture.ts";

const ALL: readonly Role[] = ["api", "scheduler", "gateway"];
const EVERY_MS = 200;

function profileOf(name: string, roles = ALL): NodeProfile {
  return { incarnation: name, name, address: `${name}:8081`, roles, version: "1", level: 3, startedAt: 0 };
}

describe("what a node knows of its links", () => {
  let runtime: ManualRuntime;
  let others: NodeLease[];
  let connected: string[];
  let logged: { msg: string; unreached?: string[] }[];
  let said: NodeProfile | null;
  beforeEach(() => {
    [runtime, others, connected, logged, said] = [new ManualRuntime(), [], ["c"], [], null];
  });

  const leaseOf = (profile: NodeProfile, fields: Partial<NodeLease> = {}): NodeLease => {
    const { wasDraining: _, reaches = null, ...rest } = profile;
    return { ...rest, renewedAgoMs: 0, draining: false, reaches, ...fields };
  };
  const owner = (name: string, ...reaches: string[]) => leaseOf({ ...profileOf(name), reaches });
  /** Membership of node c, the youngest. */
  const membershipOf = (roles = ALL) => {
    const unused = () => Promise.reject(new Error("nobody asked for this"));
    const renew: Leases["renew"] = async (profile) => {
      said = profile;
      return [leaseOf(profile), ...others];
    };
    const leases: Leases = { renew, release: unused, list: unused, drain: unused };
    const bus = { node: "c", nodes: () => ["a", "b", "c"], connected: () => connected };
    const log = pino({ level: "info" }, { write: (line) => void logged.push(JSON.parse(line)) });
    const membership = new Membership({ leases, bus, runtime, log, level: 3, told: () => undefined });
    const look = async (forMs = 0) => {
      for (let ms = 0; ms <= forMs; ms += EVERY_MS) {
        await runtime.advance(EVERY_MS);
        await membership.leases.renew(profileOf("c", roles), 3_000);
      }
    };
    return { membership, look };
  };

  it("says once which nodes divide the shards although this one wants one leader", async () => {
    const { membership } = membershipOf();
    const wishing = { ...profileOf("c"), wantsLeader: true };
    const warned = () => logged.filter(({ msg }) => msg.startsWith("not all nodes have MAINSPRING_LEADER=one")).length;
    others = [leaseOf({ ...profileOf("a"), wantsLeader: true }), leaseOf(profileOf("gate", ["gateway"]))];
    await membership.leases.renew(wishing, 3_000);
    assert.equal(warned(), 0);
    others.push(leaseOf(profileOf("b")));
    for (let n = 0; n < 3; n++) await membership.leases.renew(wishing, 3_000);
    assert.equal(warned(), 1);
    await membership.leases.renew(profileOf("c"), 3_000);
    assert.equal(warned(), 1);
  });

  it("says with each renewal to which nodes it is connected", async () => {
    const { look } = membershipOf();
    others = [owner("a", "a", "b", "c"), owner("b", "a", "b", "c")];
    await look();
    assert.deepEqual(said?.reaches, ["c"], "it has only just heard of them");
    connected = ["a", "c"];
    await look();
    assert.deepEqual(said?.reaches, ["c", "a"]);
  });

  it("is cut off until the others reach it and it reaches them, and says nothing of a moment", async () => {
    const { membership, look } = membershipOf();
    others = [owner("a", "a", "b"), owner("b", "a", "b")];
    await look();
    assert.deepEqual(membership.reach, { isCutOff: true, owners: 2, unreached: ["a:8081", "b:8081"] });
    others = [owner("a", "a", "b", "c"), owner("b", "a", "b", "c")];
    connected = ["a", "b", "c"];
    await look(EVERY_MS);
    assert.deepEqual(membership.reach, { isCutOff: false, owners: 3, unreached: [] });
    assert.deepEqual(logged, []);
  });

  it("warns once of what lasts, names the nodes, and says when it is over", async () => {
    const { membership, look } = membershipOf();
    others = [owner("a", "a", "b"), owner("b", "a", "b")];
    await look(30_000);
    assert.deepEqual(
      logged.map(({ unreached }) => unreached),
      [["a:8081", "b:8081"]],
    );
    assert.match(logged[0]?.msg ?? "", /^this node is cut off: .* takes no shards\. .*MAINSPRING_API_KEY/);
    assert.equal(membership.sendsWorkersAway, true, "no owner could use them here");
    others = [owner("a", "a", "b", "c"), owner("b", "a", "b", "c")];
    connected = ["a", "b", "c"];
    await look(EVERY_MS);
    assert.match(logged[1]?.msg ?? "", /reach each other again/);
    assert.equal(membership.sendsWorkersAway, false);
  });

  it("keeps its workers where there is no other gateway, and where one owner reaches it", async () => {
    const { membership, look } = membershipOf();
    others = [leaseOf({ ...profileOf("a", ["api", "scheduler"]), reaches: ["a"] })];
    await look(30_000);
    assert.deepEqual([membership.reach.isCutOff, membership.sendsWorkersAway], [true, false]);
    others = [owner("a", "a", "b"), owner("b", "a", "b", "c")];
    connected = ["b", "c"];
    await look(30_000);
    assert.deepEqual([membership.reach.isCutOff, membership.sendsWorkersAway], [true, false]);
  });

  it("is not cut off as a gateway that reaches some of the owners", async () => {
    const { membership, look } = membershipOf(["gateway"]);
    others = [owner("a", "a", "b", "c"), owner("b", "a", "b", "c")];
    connected = ["a", "c"];
    await look(EVERY_MS);
    assert.deepEqual(membership.reach, { isCutOff: false, owners: 2, unreached: ["b:8081"] });
    connected = ["c"];
    await look(BREAK_AFTER_MS + EVERY_MS);
    assert.equal(membership.reach.isCutOff, true);
  });

  it("goes on naming a node that has probably died: its lease says what became of it", async () => {
    const { membership, look } = membershipOf();
    connected = ["a", "c"];
    others = [owner("a", "a", "c")];
    await look(EVERY_MS);
    connected = ["c"];
    others = [{ ...owner("a", "a", "c"), renewedAgoMs: 900 }];
    await look(2 * BREAK_AFTER_MS);
    assert.deepEqual([said?.reaches, membership.reach.isCutOff], [["c", "a"], false]);
  });
});
