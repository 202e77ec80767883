import type { Logger } from "pino";
import {
  CHANGEOVER_LEAD_MS,
  CHANGEOVERS_READ_EVERY_MS,
  type Changeover,
  inForceAt,
  tzdataTag,
} from "./domain/changeover.ts";
import { clusterLevel, isOn as isKnown } from "./domain/cluster/feature-level.ts";
import { hasZoneData, keepZoneData, useZoneData, ZoneData, zoneData } from "./domain/schedule/zones/zone-data.ts";
import { type ZoneFilesText, zoneFilesOf } from "./domain/schedule/zones/zone-files.ts";
import { patiently } from "./patience.ts";
import type { Leases } from "./ports/leases.ts";
import type { Readings } from "./ports/metrics.ts";
import type { Runtime, Timer } from "./ports/runtime.ts";
import type { AuditNote } from "./ports/store-audit.ts";
import type { StoreTimeZones } from "./ports/store-time-zones.ts";
import type { RulesInForce, TimeZoneRules } from "./ports/time-zone-rules.ts";

/**
 * Latest changeovers whose data a node keeps loaded. Plans made before them are few, and are read without their former
 * rules.
 */
const AT_HAND = 8;

interface NodeDependencies extends Omit<TimeZonesDependencies, "isOn"> {
  leases: Pick<Leases, "list">;
  /** Feature level of this node. */
  level: number;
}

/** Creates the time zone data of a node; resolves when the data in force is known. @throws {StoreUnavailable} for a minute */
export async function followTimeZones({ leases, level, ...deps }: NodeDependencies): Promise<TimeZones> {
  const isOn = async () => {
    const living = (await leases.list()).filter(({ isLiving }) => isLiving);
    return isKnown("TIME_ZONE_DATA", clusterLevel(living, level));
  };
  const zones = new TimeZones({ ...deps, isOn });
  await patiently("the time zone data", () => zones.start(), deps);
  return zones;
}

/** Rules with a single version for ever, for a server whose time is simulated. */
export function fixedRules(version: string): TimeZoneRules {
  const { releasedOn } = zoneData(version);
  return {
    changeovers: () => [],
    inForce: () => ({ version, tag: version, releasedOn }),
    listen: () => undefined,
    offered: () => [version],
    changeTo: async () => null,
  };
}

export interface TimeZonesDependencies {
  store: StoreTimeZones;
  runtime: Runtime;
  log: Logger;
  /** Versions that this node's program contains; at least one. */
  offered: readonly ZoneFilesText[];
  /** Whether every living node supports changeovers. */
  isOn(): Promise<boolean>;
}

/**
 * Keeps a node at the time zone data in force, which the store names. A node whose program contains a newer version
 * than all before brings this version into force.
 */
export class TimeZones implements TimeZoneRules {
  readonly #deps: TimeZonesDependencies;
  readonly #listeners: (() => void)[] = [];
  readonly #loaded = new Set<string>();
  #changeovers: readonly Changeover[] = [];
  /** Time zone data in use, as last logged. */
  #told: string;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(deps: TimeZonesDependencies) {
    this.#deps = deps;
    for (const data of deps.offered) if (!hasZoneData(data.version)) keepZoneData(new ZoneData(zoneFilesOf(data)));
    useZoneData(this.newest.version);
    this.#told = this.newest.version;
  }

  /** The newest version that this node's program contains. */
  get newest(): ZoneFilesText {
    return this.#deps.offered.reduce((newest, one) => (one.version > newest.version ? one : newest));
  }

  /** @throws {StoreUnavailable} */
  async start(): Promise<void> {
    await this.look();
    this.#again();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  offered(): readonly string[] {
    return this.#deps.offered.map(({ version }) => version);
  }

  /** @param heard called when changeovers become known, and when a changeover comes into force */
  listen(heard: () => void): void {
    this.#listeners.push(heard);
  }

  changeovers(): readonly Changeover[] {
    return this.#changeovers;
  }

  inForce(): RulesInForce {
    const { number, version } = this.#current();
    return { version, tag: tzdataTag({ number, version }), releasedOn: zoneData(version).releasedOn };
  }

  readings(): Readings {
    const { version, releasedOn } = this.inForce();
    const ageSec = releasedOn === null ? null : (this.#deps.runtime.now() - Date.parse(releasedOn)) / 1_000;
    return {
      timeZoneDataAgeSec: new Map(ageSec === null ? [] : [[version, ageSec]]),
      timeZoneDataBehind: this.newest.version > version ? 1 : 0,
    };
  }

  /** Reads the changeovers, and adds one if this node has newer data. @throws {StoreUnavailable} */
  async look(): Promise<void> {
    await this.#read();
    if (this.#isNews() && (await this.#deps.isOn())) {
      await this.#bring(this.newest.version, this.newest);
      await this.#read();
    }
    this.#follow();
  }

  /**
   * Brings a version into force that the store or this node's program contains.
   * @returns the changeover; null: no source has the version, or another node was faster
   */
  async changeTo(version: string, note?: AuditNote): Promise<Changeover | null> {
    const own = this.#deps.offered.find((data) => data.version === version) ?? null;
    await this.#read();
    const isDone = await this.#bring(version, own, note);
    await this.#read();
    this.#follow();
    return isDone ? (this.#changeovers.at(-1) ?? null) : null;
  }

  #current(): Changeover {
    const first = { number: 0, version: this.newest.version, since: 0 };
    return inForceAt(this.#changeovers, this.#deps.runtime.now()) ?? first;
  }

  #isNews(): boolean {
    return this.#changeovers.every(({ version }) => version < this.newest.version);
  }

  async #bring(version: string, data: ZoneFilesText | null, note?: AuditNote): Promise<boolean> {
    const { store, log } = this.#deps;
    const number = (this.#changeovers.at(-1)?.number ?? 0) + 1;
    const isDone = await store.changeOver(number, version, data, CHANGEOVER_LEAD_MS, note);
    if (isDone) log.info({ version, number }, "the node brings time zone data into force for all nodes");
    return isDone;
  }

  async #read(): Promise<void> {
    const { store } = this.#deps;
    const changeovers = await store.changeovers();
    for (const { version } of changeovers.slice(-AT_HAND)) {
      if (this.#loaded.has(version)) continue;
      // The store's data counts, even if this node's program contains a version of the same name.
      const data = await store.read(version);
      if (data !== null) keepZoneData(new ZoneData(zoneFilesOf(data)));
      this.#loaded.add(version);
    }
    // A store that was set back may have as many changeovers as before, but others.
    if (JSON.stringify(changeovers) === JSON.stringify(this.#changeovers)) return;
    this.#changeovers = changeovers;
    this.#tell();
  }

  /** Makes the node use the data that is in force now. */
  #follow(): void {
    const { number, version } = this.#current();
    const tag = tzdataTag({ number, version });
    if (tag === this.#told) return;
    this.#told = tag;
    if (hasZoneData(version)) useZoneData(version);
    const { releasedOn } = zoneData(version);
    this.#deps.log.info({ version, releasedOn, number }, "the node plans by this time zone data");
    this.#tell();
  }

  #tell(): void {
    for (const heard of this.#listeners) heard();
  }

  #again(): void {
    if (this.#stopped) return;
    const { runtime, log } = this.#deps;
    const now = runtime.now();
    const next = this.#changeovers.find(({ since }) => since > now)?.since ?? Number.POSITIVE_INFINITY;
    this.#timer = runtime.setTimer(Math.min(CHANGEOVERS_READ_EVERY_MS, next - now), async () => {
      this.#follow();
      await this.look().catch((error: unknown) => {
        if (!this.#stopped)
          log.warn({ err: error }, "the node could not read which time zone data is in force, and asks again");
      });
      this.#again();
    });
  }
}
