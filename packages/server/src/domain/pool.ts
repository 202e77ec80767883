import type { PlacementStrategy } from "@mainspring/contract/enums";
import { type ShardId, shardOf } from "./ids.ts";
import { DEFAULT_ORDERING, type Ordering } from "./rank.ts";

export type { PlacementStrategy } from "@mainspring/contract/enums";
export { HANDLERS_KEPT_MAX, HANDLERS_OF_TENANT_MAX } from "@mainspring/contract/limits";

/** End of the owner in the stored name of a pool. Names of pools have no control characters. */
const OWNER_END = "\u001f";

/**
 * Stored name of a pool that a tenant owns. Only jobs of the tenant get this name, so the workers of the pool get no others: owners,
 * lanes and permits tell pools apart by their stored names.
 */
export function ownedPool(owner: string, name: string): string {
  return `${owner}${OWNER_END}${name}`;
}

/** Tenant that owns a pool. @param pool stored name. @returns null: the pool is shared */
export function ownerOfPool(pool: string): string | null {
  const end = pool.indexOf(OWNER_END);
  return end === -1 ? null : pool.slice(0, end);
}

/** Name of a pool within its name space, which is that of its owner or that of shared pools. @param pool stored name */
export function shownPool(pool: string): string {
  return pool.slice(pool.indexOf(OWNER_END) + 1);
}

/** A named queue and the workers that serve it. A pool without settings of its own has the defaults. */
export interface Pool extends Ordering {
  /** Stored name, which begins with the owner if a tenant owns the pool. */
  name: string;
  /** Whether the pool is paused: none of its executions are assigned, and running attempts continue. */
  paused: boolean;
  placement: PlacementStrategy;
  /** Attempts that may be current at once, over all owners; null: no limit. */
  maxRunning: number | null;
  /** Attempts that may start per second on average; null: no limit. */
  ratePerSec: number | null;
  /** Part of the slots in percent that stays free for tenants with few attempts; 0: none. */
  headroom: number;
}

/** The pool of the last call, cached because each job asks for its pool several times. */
let last = made("");

export function defaultPool(name: string): Readonly<Pool> {
  if (last.name !== name) last = made(name);
  return last;
}

function made(name: string): Readonly<Pool> {
  const limits = { maxRunning: null, ratePerSec: null };
  return Object.freeze({
    name,
    paused: false,
    ...DEFAULT_ORDERING,
    placement: "LEAST_LOADED",
    ...limits,
    headroom: 0,
  } as const);
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
