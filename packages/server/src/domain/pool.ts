import type { OrderStrategy } from "./rank.ts";

export type PlacementStrategy = "LEAST_LOADED" | "ROUND_ROBIN";

/** A named queue and the workers that serve it. A pool that nobody has set up has the defaults. */
export interface Pool {
  name: string;
  /** Nothing of a paused pool is assigned; what runs goes on. */
  paused: boolean;
  order: OrderStrategy;
  placement: PlacementStrategy;
}

export function defaultPool(name: string): Pool {
  return { name, paused: false, order: "PRIORITY", placement: "LEAST_LOADED" };
}
