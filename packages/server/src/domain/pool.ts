import type { PlacementStrategy } from "@mainspring/contract/enums";
import { type ShardId, shardOf } from "./ids.ts";
import { DEFAULT_ORDERING, type Ordering } from "./rank.ts";

export type { PlacementStrategy } from "@mainspring/contract/enums";

/** A named queue and the workers that serve it. A pool that nobody has set up has the defaults. */
export interface Pool extends Ordering {
  name: string;
  /** Nothing of a paused pool is assigned; what runs goes on. */
  paused: boolean;
  placement: PlacementStrategy;
  /** Attempts that may be current at once, whoever owns their shards; null: no limit. */
  maxRunning: number | null;
  /** Attempts that may begin in a second, in the long run; null: no limit. */
  ratePerSec: number | null;
}

/** The one that was asked for last: it is asked for several times for each job. */
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

/** The shard whose owner counts what is used of a pool's limits. */
export function homeOf(pool: string): ShardId {
  return shardOf(pool);
}
