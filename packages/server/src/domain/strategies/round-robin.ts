import type { Load } from "./placement.ts";

/** Whose turn is the longest ago. */
export function roundRobin(load: Load): number {
  return load.lastAssigned;
}
