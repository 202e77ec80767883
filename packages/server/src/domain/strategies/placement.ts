import type { PlacementStrategy } from "../pool.ts";

/** Facts by which a strategy compares workers. */
export interface Load {
  /** Number of attempts that the worker runs at once. */
  slots: number;
  /** Number of attempts that the worker holds, including waiting ones. */
  held: number;
  /** Number of this worker's last assignment, counted over all assignments of the node. */
  lastAssigned: number;
}

/** Strategy that computes a number for a worker. The worker with the smallest number gets the next execution. */
export type Placement = (load: Load) => number;

export const PLACEMENTS: Record<PlacementStrategy, Placement> = {
  LEAST_LOADED: leastLoaded,
  ROUND_ROBIN: roundRobin,
};

/** The share of its slots that is taken: a large worker gets more than a small one, and both end equally full. */
function leastLoaded(load: Load): number {
  return load.held / load.slots;
}

/** The number of the worker's last assignment: the worker whose turn is the longest ago is next. */
function roundRobin(load: Load): number {
  return load.lastAssigned;
}
