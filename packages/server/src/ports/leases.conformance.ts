import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Leases, NodeLease, NodeProfile } from "./leases.ts";

/** One lease service, as several nodes reach it. */
export interface LeasesScene {
  /** What one more node is given. */
  leases(): Leases;
  /** Lets that much time pass for the service, or more. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const TTL_MS = 1_000;

/** What every lease service does that several nodes share. */
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
      assert.deepEqual(listed, [{ ...profile("a"), renewedAgoMs: 0 }]);
      assert.deepEqual(names(await leases.renew(profile("a"), TTL_MS)), ["a"]);
    });

    it("tells nodes of each other, and how long ago each was heard of", async () => {
      const [a, b] = [scene.leases(), scene.leases()];
      await a.renew(profile("a"), 60_000);
      await scene.pass(20);
      const listed = await b.renew(profile("b"), 60_000);
      assert.deepEqual(names(listed), ["a", "b"]);
      const other = listed.find(({ incarnation }) => incarnation === "a") as NodeLease;
      const { renewedAgoMs, ...said } = other;
      assert.deepEqual(said, profile("a"));
      assert.ok(renewedAgoMs >= 20 && renewedAgoMs < 60_000, String(renewedAgoMs));
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
    startedAt: 1_700_000_000_000,
  };
}

function names(leases: readonly NodeLease[]): string[] {
  return leases.map(({ incarnation }) => incarnation).sort();
}
