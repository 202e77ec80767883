/** Rates of a tenant, as tokens of which each job or request costs one. */
export type RateQuota = "submitsPerSec" | "requestsPerSec";
/** Limits of rows of a tenant that exist at a time. */
export type PlaceQuota = "maxWaiting" | "maxRecurring";

/** Time in seconds in which an unused rate fills its bucket. */
const BURST_SEC = 10;
/**
 * Time in ms for which the store keeps places for a node that does not renew them. It is longer than a node uses places, and than
 * the store may take for a submit.
 */
export const PLACES_KEPT_MS = 30_000;

/** Tokens of a full bucket. */
export function burstOf(perSec: number): number {
  return Math.max(1, Math.floor(perSec * BURST_SEC));
}

/** Tokens at an instant. */
export interface Bucket {
  tokens: number;
  /** Instant in ms. */
  at: number;
}

/** Bucket at a later instant. A clock that was set back adds nothing. */
export function filledBucket({ tokens, at }: Bucket, perSec: number, now: number): Bucket {
  const added = (Math.max(0, now - at) / 1_000) * perSec;
  return { tokens: Math.min(burstOf(perSec), tokens + added), at: Math.max(at, now) };
}

/**
 * Part of what is free that a node gets. It leaves half to the other nodes, unless it needs more.
 * @param needed least that is of use; nothing is given below it
 */
export function portionOf(free: number, needed: number, wanted: number): number {
  return free < needed ? 0 : Math.max(needed, Math.min(wanted, Math.floor(free / 2)));
}
