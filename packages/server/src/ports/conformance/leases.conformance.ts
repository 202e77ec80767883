import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Leases, NodeLease, NodeProfile } from "../leases.ts";

/** One lease service that several nodes use. */
export interface LeasesScene {
  /** Lease client of one more node. */
  leases(): Leases;
  /** Lets at least this much time pass for the service. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const TTL_MS = 1_000;

/** Behaviour of every lease service that several nodes share. */
export function leasesConformance(name: string, open: () => Promise<LeasesScene>): void {
  describe(`leases: ${name}`, () => {
    let scene: LeasesScene;
    beforeEach(async () => {
      scene = await open();
    });
    afterEach(() => scene.close());

    it("tells a node of itself, with all that it said", async () => {
      const leases = scene.leases();
      const listed = await leases.renew(profile("a"), TTL_MS);
      assert.deepEqual(listed, [{ ...profile("a"), renewedAgoMs: 0, draining: false, reaches: null }]);
      assert.deepEqual(names(await leases.renew(profile("a"), TTL_MS)), ["a"]);
    });

    it("tells nodes of each other, and how long ago each was heard of", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew(profile("a"), 60_000);
      await scene.pass(20);
      const listed = await b.renew(profile("b"), 60_000);
      assert.deepEqual(names(listed), ["a", "b"]);
      const other = listed.find(({ incarnation }) => incarnation === "a") as NodeLease;
      const { renewedAgoMs, draining, reaches, ...said } = other;
      assert.deepEqual([said, draining, reaches], [profile("a"), false, null]);
      assert.ok(renewedAgoMs >= 20 && renewedAgoMs < 60_000, String(renewedAgoMs));
    });

    it("tells nodes which others each reaches, as of its last renewal, and not where it does not say", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew({ ...profile("a"), reaches: ["a"] }, 60_000);
      const reachesOfA = async () => {
        const listed = [await b.renew(profile("b"), 60_000), await b.list()];
        return listed.map((nodes) => nodes.find(({ incarnation }) => incarnation === "a")?.reaches);
      };
      assert.deepEqual(await reachesOfA(), [["a"], ["a"]]);
      const [own] = await a.renew({ ...profile("a"), reaches: ["a", "b"] }, 60_000);
      assert.deepEqual(
        [own?.reaches, ...(await reachesOfA())],
        [
          ["a", "b"],
          ["a", "b"],
          ["a", "b"],
        ],
      );
      await a.renew(profile("a"), 60_000);
      assert.deepEqual(await reachesOfA(), [null, null]);
    });

    it("tells nodes which others want one leader", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew({ ...profile("a"), wantsLeader: true }, 60_000);
      const listed = [await b.renew(profile("b"), 60_000), await b.list()];
      for (const nodes of listed)
        assert.deepEqual(
          nodes.map(({ incarnation, roles, wantsLeader }) => [incarnation, roles, wantsLeader ?? false]).sort(),
          [
            ["a", profile("a").roles, true],
            ["b", profile("b").roles, false],
          ],
        );
    });

    it("forgets a node that did not renew its lease, and takes it back when it does", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew(profile("a"), TTL_MS);
      await scene.pass(TTL_MS + 10);
      assert.deepEqual(names(await b.renew(profile("b"), 60_000)), ["b"]);
      assert.deepEqual(names(await a.renew(profile("a"), TTL_MS)), ["a", "b"]);
    });

    it("forgets at once a node that goes, and does nothing where there is none", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew(profile("a"), 60_000);
      await a.release("a");
      await a.release("never-there");
      assert.deepEqual(names(await b.renew(profile("b"), 60_000)), ["b"]);
    });

    it("lists who has gone without a word beside those that live", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew(profile("a"), TTL_MS);
      await scene.pass(TTL_MS + 10);
      await b.renew(profile("b"), 60_000);
      const listed = (await a.list()).sort((one, other) => (one.incarnation < other.incarnation ? -1 : 1));
      assert.deepEqual(
        listed.map(({ incarnation, isLiving }) => [incarnation, isLiving]),
        [
          ["a", false],
          ["b", true],
        ],
      );
    });

    it("tells everybody who is to give his work away, until that is taken back", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew(profile("a"), 60_000);
      const seenByBoth = async () => {
        const [own, others] = [await a.renew(profile("a"), 60_000), await b.renew(profile("b"), 60_000)];
        return [own, others].map((nodes) => nodes.find(({ incarnation }) => incarnation === "a")?.draining);
      };
      assert.equal(await b.drain("a", true), true);
      assert.deepEqual(await seenByBoth(), [true, true]);
      assert.equal((await b.list()).find(({ incarnation }) => incarnation === "a")?.draining, true);
      assert.equal(await b.drain("a", false), true);
      assert.deepEqual(await seenByBoth(), [false, false]);
      assert.equal(await b.drain("never-there", true), false);
    });

    it("is reminded by the node itself where it has forgotten, and not where it knows better", async () => {
      const leases = scene.leases();
      const said = { ...profile("a"), wasDraining: true };
      const draining = async () => (await leases.renew(said, 60_000))[0]?.draining;
      assert.equal(await draining(), true);
      await leases.drain("a", false);
      assert.equal(await draining(), false);
    });

    it("does not find a node that is gone, to have it give its work away", async () => {
      const leases = scene.leases();
      await leases.renew(profile("a"), TTL_MS);
      await scene.pass(TTL_MS + 10);
      assert.equal(await leases.drain("a", true), false);
    });

    it("keeps two lives of one node apart", async () => {
      const [first, second] = [scene.leases(), scene.leases()];
      await first.renew(profile("a"), 60_000);
      const again = { ...profile("a"), incarnation: "a-again", startedAt: 1_800_000_000_000 };
      assert.deepEqual(names(await second.renew(again, 60_000)), ["a", "a-again"]);
    });
  });
}

function profile(incarnation: string): NodeProfile {
  return {
    incarnation,
    name: "node-a",
    address: "10.0.0.1:8081",
    roles: ["scheduler", "gateway"],
    version: "1.2.3",
    level: 7,
    hasSecret: true,
    startedAt: 1_700_000_000_000,
  };
}

function names(leases: readonly NodeLease[]): string[] {
  return leases.map(({ incarnation }) => incarnation).sort();
}
