import assert from "node:assert/strict";
import { it } from "node:test";
import { TENANT_DEFAULTS } from "../../domain/tenant.ts";
import type { PlaceAsk } from "../store-quotas.ts";
import { planned } from "./recurring-scene.conformance.ts";
import type { Scene } from "./store-scene.conformance.ts";

/** Quotas of tenants. */
export function quotasConformance(scene: () => Scene): void {
  const quotas = () => scene().store.quotas;
  const submits = (needed: number, wanted: number, perSec = 1) =>
    quotas().takeTokens({ tenant: "acme", quota: "submitsPerSec", perSec, needed, wanted });
  const places = (ask: Partial<PlaceAsk>) =>
    quotas().takePlaces({
      ...{ tenant: "acme", quota: "maxWaiting", limit: 10, node: "a", held: 0, needed: 1, wanted: 1, ...ask },
    });
  const made = (name = "acme") =>
    scene().store.tenants.create({ ...TENANT_DEFAULTS, name, createdAt: scene().runtime.now() });

  it("gives a node half of the tokens at most, unless it needs more, and none below its need", async () => {
    assert.deepEqual(await submits(1, 100), { taken: 5, left: 5 });
    const all = await submits(5, 100);
    assert.equal(all.taken, 5);
    const none = await submits(8, 8);
    assert.equal(none.taken, 0);
    assert.ok(none.left < 8, `${none.left} are left of a bucket of 10 of which 10 were taken`);
    assert.equal(
      (await quotas().takeTokens({ tenant: "bolt", quota: "submitsPerSec", perSec: 1, needed: 9, wanted: 9 })).taken,
      9,
    );
    assert.equal(
      (await quotas().takeTokens({ tenant: "acme", quota: "requestsPerSec", perSec: 1, needed: 9, wanted: 9 })).taken,
      9,
    );
  });

  it("counts what waits, and the places of other nodes, against a limit", async () => {
    await made();
    await scene().submitted({ tenant: "acme" });
    await scene().submitted({ tenant: "acme", scheduledAt: scene().runtime.now() + 60_000 });
    await scene().submitted({ tenant: "default" });
    assert.deepEqual(await places({ node: "a", needed: 2, wanted: 2 }), { taken: 2, used: 2, heldByOthers: 0 });
    assert.deepEqual(await places({ node: "b", needed: 1, wanted: 100 }), { taken: 3, used: 2, heldByOthers: 2 });
    assert.deepEqual(await places({ node: "a", held: 2, needed: 4 }), { taken: 0, used: 2, heldByOthers: 3 });
    assert.deepEqual(await places({ node: "a", held: 0, needed: 5, wanted: 5 }), {
      taken: 5,
      used: 2,
      heldByOthers: 3,
    });
    assert.deepEqual(await places({ node: "b", held: 0, needed: 0 }), { taken: 0, used: 2, heldByOthers: 5 });
    assert.deepEqual(await places({ node: "a", held: 5, needed: 3, wanted: 3 }), {
      taken: 3,
      used: 2,
      heldByOthers: 0,
    });
    assert.deepEqual(await places({ tenant: "default", node: "a", limit: 1 }), { taken: 0, used: 1, heldByOthers: 0 });
  });

  it("counts no execution that has ended, and at most as many as the limit", async () => {
    await made();
    const jobs = [await scene().submitted({ tenant: "acme" }), await scene().submitted({ tenant: "acme" })];
    assert.equal((await places({ limit: 1 })).used, 1);
    const [job] = jobs;
    assert.ok(job);
    await scene().applied(job.shard, { changes: [scene().succeeded(job)] });
    assert.deepEqual(await places({ limit: 2 }), { taken: 1, used: 1, heldByOthers: 0 });
  });

  it("counts recurring jobs that are not deleted", async () => {
    const recurring = (ask: Partial<PlaceAsk>) => places({ quota: "maxRecurring", ...ask });
    assert.deepEqual(await recurring({ limit: 1 }), { taken: 1, used: 0, heldByOthers: 0 });
    await scene().submitted({ tenant: "acme" });
    assert.equal((await recurring({ limit: 2 })).used, 0);
    await planned(scene(), { tenant: "acme" });
    await planned(scene(), { tenant: "bolt" });
    assert.deepEqual(await recurring({ limit: 2 }), { taken: 1, used: 1, heldByOthers: 0 });
  });
}
