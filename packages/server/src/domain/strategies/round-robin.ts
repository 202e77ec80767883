import type { Load } from "./placement.ts";

/** The worker whose turn is the longest ago. */
export function roundRobin(load: Load): number {
  return load.lastAssigned;
}
