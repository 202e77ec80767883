import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { pino } from "pino";
import { packagedZones, usePackagedZones } from "./adapters/system/time-zone-data.ts";
import { CHANGEOVER_LEAD_MS, CHANGEOVERS_READ_EVERY_MS, type Changeover } from "./domain/changeover.ts";
import { FEATURE_LEVEL } from "./domain/cluster/feature-level.ts";
import type { ZoneFilesText } from "./domain/schedule/zones/zone-files.ts";
import { ManualRuntime, settled } from "./ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "./ports/store.ts";
import { followTimeZones, type TimeZones } from "./time-zones.ts";

const running: TimeZones[] = [];
afterEach(() => {
  for (const zones of running.splice(0)) zones.stop();
  usePackagedZones();
});

const dataOf = (version: string): ZoneFilesText => ({ ...packagedZones(), version });

/** The changeovers of a cluster, and the living nodes beside the one under test. */
class Cluster {
  readonly runtime = new ManualRuntime();
  changeovers: Changeover[] = [];
  readonly data = new Map<string, ZoneFilesText>();
  levels: number[] = [];
  /** Number of reads that the store does not answer. */
  unanswered = 0;

  async node(...versions: string[]): Promise<TimeZones> {
    const leases = { list: async () => this.levels.map((level) => ({ level, isLiving: true })) };
    const parts = { runtime: this.runtime, log: pino({ level: "silent" }), offered: versions.map(dataOf) };
    const store = {
      changeovers: async () => {
        if (this.unanswered-- > 0) throw new StoreUnavailable("PostgreSQL did not answer");
        return [...this.changeovers];
      },
      read: async (version: string) => this.data.get(version) ?? null,
      versions: async () => [...this.data.keys()],
      changeOver: async (number: number, version: string, data: ZoneFilesText | null, leadMs: number) => {
        if (data !== null) this.data.set(version, data);
        this.changeovers.push({ number, version, since: this.runtime.now() + leadMs });
        return true;
      },
    };
    const known = leases as unknown as Parameters<typeof followTimeZones>[0]["leases"];
    const zones = await followTimeZones({ ...parts, store, leases: known, level: FEATURE_LEVEL });
    running.push(zones);
    return zones;
  }
}

describe("the time zone data of a node", () => {
  it("is read again at the start if the store does not answer", async () => {
    const cluster = new Cluster();
    cluster.unanswered = 1;
    const starting = cluster.node("2026g");
    await settled();
    await cluster.runtime.advance(1_000);
    assert.equal((await starting).inForce().version, "2026g");
  });

  it("is its own, and brought to nobody, while a node of level 2 lives beside it", async () => {
    const cluster = new Cluster();
    cluster.levels = [2, FEATURE_LEVEL];
    const zones = await cluster.node("2026f", "2026g");
    await cluster.runtime.advance(60_000);
    assert.deepEqual(cluster.changeovers, []);
    assert.deepEqual(zones.inForce().tag, "2026g", "a plan names the data that it was made by");
    cluster.levels = [FEATURE_LEVEL, FEATURE_LEVEL];
    await cluster.runtime.advance(CHANGEOVERS_READ_EVERY_MS);
    assert.deepEqual(
      cluster.changeovers.map(({ version }) => version),
      ["2026g"],
    );
    await cluster.runtime.advance(CHANGEOVER_LEAD_MS + CHANGEOVERS_READ_EVERY_MS);
    assert.equal(zones.inForce().tag, "2026g/1");
  });

  it("follows changeovers that took the place of others, as many as before, where the store has lost the others", async () => {
    const cluster = new Cluster();
    for (const version of ["2026f", "2026g", "2026h"]) cluster.data.set(version, dataOf(version));
    const first = { number: 1, version: "2026f", since: 0 };
    cluster.changeovers = [first, { number: 2, version: "2026h", since: 0 }];
    const zones = await cluster.node("2026f");
    let heard = 0;
    zones.listen(() => heard++);
    assert.equal(zones.inForce().tag, "2026h/2");
    cluster.changeovers = [first, { number: 2, version: "2026g", since: 0 }];
    await cluster.runtime.advance(CHANGEOVERS_READ_EVERY_MS);
    assert.equal(zones.inForce().tag, "2026g/2");
    assert.deepEqual(zones.changeovers(), cluster.changeovers);
    assert.equal(heard, 2, "once for the list and once for what is in force");
  });

  it("does not undo an operator's going back when a node starts with the data of before", async () => {
    const cluster = new Cluster();
    const zones = await cluster.node("2026f", "2026g");
    await zones.changeTo("2026f");
    await cluster.node("2026g");
    await cluster.runtime.advance(CHANGEOVER_LEAD_MS + CHANGEOVERS_READ_EVERY_MS);
    assert.deepEqual([cluster.changeovers.length, zones.inForce().version], [2, "2026f"]);
  });
});
