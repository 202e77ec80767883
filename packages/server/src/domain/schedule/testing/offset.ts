import type { EpochMs } from "../../ids.ts";
import { readTimeZone } from "../zones/zone-names.ts";

/** Offset of a zone from UTC in seconds, by the data in use. */
export function zoneOffsetSec(timezone: string, at: EpochMs): number {
  const zone = readTimeZone(timezone);
  return "message" in zone ? 0 : zone.stretchAt(Math.floor(at / 1_000)).offsetSec;
}
