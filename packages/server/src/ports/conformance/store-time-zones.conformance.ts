import assert from "node:assert/strict";
import { it } from "node:test";
import type { ZoneFilesText } from "../../domain/schedule/zones/zone-files.ts";
import { planned } from "./recurring-scene.conformance.ts";
import type { Scene } from "./store-scene.conformance.ts";

const LEAD_MS = 15_000;
const data = (version: string): ZoneFilesText => ({ version, releasedOn: "2026-10-28", zones: { UTC: "VFppZg==" } });

export function timeZonesConformance(scene: () => Scene): void {
  it("has the first version in force from the beginning, and later ones from the lead on", async () => {
    const { timeZones } = scene().store;
    assert.deepEqual(await timeZones.changeovers(), []);
    assert.equal(await timeZones.changeOver(1, "2025b", data("2025b"), LEAD_MS), true);
    const now = await scene().store.clock();
    assert.equal(await timeZones.changeOver(2, "2026f", data("2026f"), LEAD_MS), true);
    const [first, second] = await timeZones.changeovers();
    assert.deepEqual(first, { number: 1, version: "2025b", since: 0 });
    assert.deepEqual([second?.number, second?.version], [2, "2026f"]);
    assert.ok((second?.since ?? 0) >= Math.floor(now) + LEAD_MS);
  });

  it("has the first version in force from the lead on where recurring jobs were planned before", async () => {
    await planned(scene());
    const now = await scene().store.clock();
    await scene().store.timeZones.changeOver(1, "2026f", data("2026f"), LEAD_MS);
    const [first] = await scene().store.timeZones.changeovers();
    assert.ok((first?.since ?? 0) >= Math.floor(now) + LEAD_MS);
  });

  it("lets one of several nodes bring a version into force", async () => {
    const { timeZones } = scene().store;
    const done = await Promise.all(["2026e", "2026f"].map((one) => timeZones.changeOver(1, one, data(one), LEAD_MS)));
    assert.deepEqual(done.sort(), [false, true]);
    assert.equal((await timeZones.changeovers()).length, 1);
    assert.equal(await timeZones.changeOver(3, "2026g", data("2026g"), LEAD_MS), false);
  });

  it("keeps the data of each version as it came first, and brings it back by its name", async () => {
    const { timeZones } = scene().store;
    await timeZones.changeOver(1, "2025b", data("2025b"), LEAD_MS);
    await timeZones.changeOver(2, "2026f", data("2026f"), LEAD_MS);
    assert.equal(await timeZones.changeOver(3, "2025b", null, LEAD_MS), true);
    assert.equal(await timeZones.changeOver(4, "2024a", null, LEAD_MS), false);
    assert.equal(await timeZones.changeOver(4, "2026f", { ...data("2026f"), releasedOn: null }, LEAD_MS), true);
    assert.deepEqual(await timeZones.read("2026f"), data("2026f"));
    assert.equal(await timeZones.read("2024a"), null);
    assert.deepEqual(await timeZones.versions(), ["2025b", "2026f"]);
  });
}
