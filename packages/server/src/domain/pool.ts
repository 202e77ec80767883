import type { PlacementStrategy } from "@mainspring/contract/enums";
import { type ShardId, shardOf } from "./ids.ts";
import { DEFAULT_ORDERING, type Ordering } from "./rank.ts";

export type { PlacementStrategy } from "@mainspring/contract/enums";

/** A named queue and the workers that serve it. A pool without settings of its own has the defaults. */
export interface Pool extends Ordering {
  name: string;
  /** Whether the pool is paused: none of its executions are assigned, and running attempts continue. */
  paused: boolean;
  placement: PlacementStrategy;
  /** Attempts that may be current at once, over all owners; null: no limit. */
  maxRunning: number | null;
  /** Attempts that may start per second on average; null: no limit. */
  ratePerSec: number | null;
}

/** The pool of the last call, cached because each job asks for its pool several times. */
let last = made("");

export function defaultPool(name: string): Readonly<Pool> {
  if (last.name !== name) last = made(name);
  return last;
}

function made(name: string): Readonly<Pool> {
  const limits = { maxRunning: null, ratePerSec: null };
  return Object.freeze({ name, paused: false, ...DEFAULT_ORDERING, placement: "LEAST_LOADED", ...limits } as const);
}

export function isLimited({ maxRunning, ratePerSec }: Pool): boolean {
  return maxRunning !== null || ratePerSec !== null;
}

/** Shard whose owner counts the use of the pool's limits. */
export function coordinatorOf(pool: string): ShardId {
  return shardOf(pool);
}

/** A field that is left out keeps its value. A pool without settings starts with the default values. */
export type PoolChange = Pick<Pool, "name"> & Partial<Pool>;
