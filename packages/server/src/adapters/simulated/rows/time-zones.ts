import type { Changeover } from "../../../domain/changeover.ts";
import type { ZoneFilesText } from "../../../domain/schedule/zones/zone-files.ts";
import type { StoreTimeZones } from "../../../ports/store-time-zones.ts";
import type { StoreData } from "../store-data.ts";

/** Versions of the time zone data in force, and the data. */
export interface StoredZones {
  changeovers: Changeover[];
  versions: Map<string, ZoneFilesText>;
}

/** See StoreTimeZones.changeOver. */
export function changeOver(
  data: StoreData,
  ...[number, version, zones, leadMs]: Parameters<StoreTimeZones["changeOver"]>
): boolean {
  const { changeovers, versions } = data.zones;
  if (number !== changeovers.length + 1 || (zones === null && !versions.has(version))) return false;
  if (zones !== null && !versions.has(version)) versions.set(version, structuredClone(zones));
  const isFirst = number === 1 && [...data.plans.all()].length === 0;
  changeovers.push({ number, version, since: isFirst ? 0 : Math.ceil(data.now()) + leadMs });
  return true;
}
