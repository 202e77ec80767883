import { invariant } from "../../invariant.ts";
import { TimeZone } from "./time-zone.ts";
import { readTzif } from "./tzif.ts";

/** One version of the IANA time zone database, from any source. */
export interface ZoneFiles {
  /** Version, such as `2026f`. */
  version: string;
  /** ISO date of the release; null: not known. */
  releasedOn: string | null;
  /** Names of all zones, links included. */
  names: readonly string[];
  /** Returns the TZif file of one of `names`. */
  read(name: string): Uint8Array;
}

/** One version of the database, prepared for lookups. Zones are read at their first use and cached. */
export class ZoneData {
  readonly version: string;
  readonly releasedOn: string | null;
  readonly names: readonly string[];
  readonly #files: ZoneFiles;
  /** Names of zones by their lower-case form. */
  readonly #namesByKey: ReadonlyMap<string, string>;
  readonly #zones = new Map<string, TimeZone>();

  constructor(files: ZoneFiles) {
    this.#files = files;
    this.version = files.version;
    this.releasedOn = files.releasedOn;
    this.names = files.names;
    this.#namesByKey = new Map(files.names.map((name) => [name.toLowerCase(), name]));
  }

  /** The zone of this name, whatever its case; null: there is none. */
  zone(name: string): TimeZone | null {
    const key = name.toLowerCase();
    const known = this.#zones.get(key);
    if (known !== undefined) return known;
    const spelled = this.#namesByKey.get(key);
    if (spelled === undefined) return null;
    const zone = new TimeZone(readTzif(this.#files.read(spelled)));
    this.#zones.set(key, zone);
    return zone;
  }
}

/**
 * Versions that this process has loaded, by name. A version never changes, so all parts of a process share one table;
 * schedules name their version.
 */
const versions = new Map<string, ZoneData>();
let inUse: ZoneData | null = null;

/** Stores a version in the table. Replaces data with the same version. */
export function keepZoneData(data: ZoneData): void {
  versions.set(data.version, data);
  if (inUse === null || inUse.version === data.version) inUse = data;
}

/** Makes a stored version the default, which schedules without a version use. */
export function useZoneData(version: string): void {
  const data = versions.get(version);
  invariant(data !== undefined, `the time zone data ${version} was not loaded`);
  inUse = data;
}

export function hasZoneData(version: string): boolean {
  return versions.has(version);
}

/** @param version left out, or not loaded in this process: the version in use */
export function zoneData(version?: string): ZoneData {
  const data = (version === undefined ? undefined : versions.get(version)) ?? inUse;
  invariant(data !== null, "no time zone data was loaded");
  return data;
}

/** The zone of this name in the newest version that has it; null: no version has it. */
export function zoneInAny(name: string): TimeZone | null {
  const newestFirst = [...versions.values()].sort((a, b) => (a.version > b.version ? -1 : 1));
  for (const data of newestFirst) {
    const zone = data.zone(name);
    if (zone !== null) return zone;
  }
  return null;
}
