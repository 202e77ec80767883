import { readFileSync } from "node:fs";
import { usePackagedZones } from "../../../adapters/system/time-zone-data.ts";
import { keepZoneData, ZoneData } from "../zones/zone-data.ts";
import { parseZoneFiles, type ZoneFilesText, zoneFilesOf } from "../zones/zone-files.ts";

// A test that imports this module uses the packaged data.
usePackagedZones();

/** Real data of an earlier release, with a few zones that changed between the releases. */
export function formerZones(version: "2025b" | "2026c" | "2026e"): ZoneFilesText {
  return parseZoneFiles(readFileSync(new URL(`tzdata-${version}.json`, import.meta.url), "utf8"));
}

/** Loads the earlier releases in addition to the packaged one, which stays in use. */
export function keepFormerZones(): void {
  for (const version of ["2025b", "2026c", "2026e"] as const) {
    keepZoneData(new ZoneData(zoneFilesOf(formerZones(version))));
  }
}
