import { readFileSync } from "node:fs";
import { usePackagedZones } from "../../../adapters/system/time-zone-data.ts";
import { keepZoneData, ZoneData } from "../zones/zone-data.ts";
import { parseZoneFiles, type ZoneFilesText, zoneFilesOf } from "../zones/zone-files.ts";

// A test that imports this has the packaged data in use.
usePackagedZones();

/** Real data of an earlier release, of a few zones that changed between them. */
export function formerZones(version: "2025b" | "2026c" | "2026e"): ZoneFilesText {
  return parseZoneFiles(readFileSync(new URL(`tzdata-${version}.json`, import.meta.url), "utf8"));
}

/** Keeps the earlier releases beside the packaged one, which stays in use. */
export function keepFormerZones(): void {
  for (const version of ["2025b", "2026c", "2026e"] as const) {
    keepZoneData(new ZoneData(zoneFilesOf(formerZones(version))));
  }
}
