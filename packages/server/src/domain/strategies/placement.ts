import type { PlacementStrategy } from "../pool.ts";
import { leastLoaded } from "./least-loaded.ts";
import { roundRobin } from "./round-robin.ts";

/** Facts by which a strategy may judge a worker. */
export interface Load {
  /** Attempts that it runs at once at most. */
  slots: number;
  /** Attempts that it holds, waiting ones included. */
  held: number;
  /** Grows with every assignment of the whole node; the number of this worker's last one. */
  lastAssigned: number;
}

/** The worker with the smallest number gets the next execution. */
export type Placement = (load: Load) => number;

export const PLACEMENTS: Record<PlacementStrategy, Placement> = {
  LEAST_LOADED: leastLoaded,
  ROUND_ROBIN: roundRobin,
};
