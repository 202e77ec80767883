import { DEFAULT_ORDERING, type Ordering } from "./rank.ts";

export const PLACEMENT_STRATEGIES = ["LEAST_LOADED", "ROUND_ROBIN"] as const;
export type PlacementStrategy = (typeof PLACEMENT_STRATEGIES)[number];

/** A named queue and the workers that serve it. A pool that nobody has set up has the defaults. */
export interface Pool extends Ordering {
  name: string;
  /** Nothing of a paused pool is assigned; what runs goes on. */
  paused: boolean;
  placement: PlacementStrategy;
}

export function defaultPool(name: string): Pool {
  return { name, paused: false, ...DEFAULT_ORDERING, placement: "LEAST_LOADED" };
}
