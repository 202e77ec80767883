import type { Load } from "./placement.ts";

/** The share of its slots that is taken: a large worker gets more than a small one, and both end equally full. */
export function leastLoaded(load: Load): number {
  return load.held / load.slots;
}
