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
import type { Leases } from "./ports/leases.ts";
import type { Readings } from "./ports/metrics.ts";
import type { Runtime, Timer } from "./ports/runtime.ts";
import type { StoreTimeZones } from "./ports/store-time-zones.ts";
import type { RulesInForce, TimeZoneRules } from "./ports/time-zone-rules.ts";

/** Changeovers whose data a node has at hand: plans that were made before the others are few, and are read without their former rules. */
const AT_HAND = 8;

interface NodeParts extends Omit<TimeZonesParts, "isOn"> {
  leases: Pick<Leases, "list">;
  /** Feature level of this node. */
  level: number;
}

/** The time zone data of a node, once it is known. @throws {StoreUnavailable} */
export async function followTimeZones({ leases, level, ...parts }: NodeParts): Promise<TimeZones> {
  const isOn = async () => {
    const living = (await leases.list()).filter(({ isLiving }) => isLiving);
    return isKnown("TIME_ZONE_DATA", clusterLevel(living, level));
  };
  const zones = new TimeZones({ ...parts, isOn });
  await zones.start();
  return zones;
}

/** One version for ever: of a server whose time is not real. */
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

export interface TimeZonesParts {
  store: StoreTimeZones;
  runtime: Runtime;
  log: Logger;
  /** Versions that this node brings; at least one. */
  offered: readonly ZoneFilesText[];
  /** Whether every living node knows of changeovers. */
  isOn(): Promise<boolean>;
}

/**
 * Keeps a node at the time zone data that is in force. The store says which that is; a node that brings a version newer than all before
 * brings it into force.
 */
export class TimeZones implements TimeZoneRules {
  readonly #parts: TimeZonesParts;
  readonly #listeners: (() => void)[] = [];
  readonly #loaded = new Set<string>();
  #changeovers: readonly Changeover[] = [];
  /** Time zone data in use, as the last log line says. */
  #told: string;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(parts: TimeZonesParts) {
    this.#parts = parts;
    for (const data of parts.offered) if (!hasZoneData(data.version)) keepZoneData(new ZoneData(zoneFilesOf(data)));
    useZoneData(this.newest.version);
    this.#told = this.newest.version;
  }

  /** The newest of the versions that this node brings. */
  get newest(): ZoneFilesText {
    return this.#parts.offered.reduce((newest, one) => (one.version > newest.version ? one : newest));
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
    return this.#parts.offered.map(({ version }) => version);
  }

  /** @param heard called when changeovers become known, and when one comes into force */
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
    const ageSec = releasedOn === null ? null : (this.#parts.runtime.now() - Date.parse(releasedOn)) / 1_000;
    return {
      timeZoneDataAgeSec: new Map(ageSec === null ? [] : [[version, ageSec]]),
      timeZoneDataBehind: this.newest.version > version ? 1 : 0,
    };
  }

  /** Reads the changeovers, and brings about one where this node has newer data. @throws {StoreUnavailable} */
  async look(): Promise<void> {
    await this.#read();
    if (this.#isNews() && (await this.#parts.isOn())) {
      await this.#bring(this.newest.version, this.newest);
      await this.#read();
    }
    this.#follow();
  }

  /**
   * Brings a version into force that the store has or this node brings.
   * @returns when it will be; null: nobody has it, or another node was faster
   */
  async changeTo(version: string): Promise<Changeover | null> {
    const own = this.#parts.offered.find((data) => data.version === version) ?? null;
    await this.#read();
    const isDone = await this.#bring(version, own);
    await this.#read();
    this.#follow();
    return isDone ? (this.#changeovers.at(-1) ?? null) : null;
  }

  #current(): Changeover {
    const first = { number: 0, version: this.newest.version, since: 0 };
    return inForceAt(this.#changeovers, this.#parts.runtime.now()) ?? first;
  }

  #isNews(): boolean {
    return this.#changeovers.every(({ version }) => version < this.newest.version);
  }

  async #bring(version: string, data: ZoneFilesText | null): Promise<boolean> {
    const { store, log } = this.#parts;
    const number = (this.#changeovers.at(-1)?.number ?? 0) + 1;
    const isDone = await store.changeOver(number, version, data, CHANGEOVER_LEAD_MS);
    if (isDone) log.info({ version, number }, "the node brings time zone data into force for all nodes");
    return isDone;
  }

  async #read(): Promise<void> {
    const { store } = this.#parts;
    const changeovers = await store.changeovers();
    for (const { version } of changeovers.slice(-AT_HAND)) {
      if (this.#loaded.has(version)) continue;
      // The store's word counts, also where this node brings a version of the same name.
      const data = await store.read(version);
      if (data !== null) keepZoneData(new ZoneData(zoneFilesOf(data)));
      this.#loaded.add(version);
    }
    // A store that went back to an earlier state may have as many as before, and others.
    if (JSON.stringify(changeovers) === JSON.stringify(this.#changeovers)) return;
    this.#changeovers = changeovers;
    this.#tell();
  }

  /** Goes by what is in force now. */
  #follow(): void {
    const { number, version } = this.#current();
    const tag = tzdataTag({ number, version });
    if (tag === this.#told) return;
    this.#told = tag;
    if (hasZoneData(version)) useZoneData(version);
    const { releasedOn } = zoneData(version);
    this.#parts.log.info({ version, releasedOn, number }, "the node plans by this time zone data");
    this.#tell();
  }

  #tell(): void {
    for (const heard of this.#listeners) heard();
  }

  #again(): void {
    if (this.#stopped) return;
    const { runtime, log } = this.#parts;
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
