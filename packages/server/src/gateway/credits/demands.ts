import type { Incarnation } from "../../domain/ids.ts";
import type { Demand } from "../../ports/share-messages.ts";

/** Waiting work of one owner in one pool. */
export interface Claim {
  readonly owner: Incarnation;
  readonly rank: number;
  /** Attempts per weight of the tenant whose work waits; undefined: the owner knows of no second tenant. */
  readonly share?: number | undefined;
  /** Time since which the owner has had waiting work without a break, on the monotonic clock. */
  readonly sinceMs: number;
}

const NOBODY: readonly Claim[] = [];

/** Owners with waiting work, by pool, as they last reported it. */
export class Demands {
  readonly #pools = new Map<string, readonly Claim[]>();

  of(pool: string): readonly Claim[] {
    return this.#pools.get(pool) ?? NOBODY;
  }

  /** @param demand all demand of the owner; replaces its earlier demand @returns pools whose demand has changed */
  record(owner: Incarnation, demand: readonly Demand[], nowMs: number): Set<string> {
    const byPool = new Map(demand.map((one) => [one.pool, one]));
    const changed = new Set<string>();
    for (const pool of new Set([...this.#pools.keys(), ...byPool.keys()])) {
      if (this.#set(pool, owner, byPool.get(pool), nowMs)) changed.add(pool);
    }
    return changed;
  }

  /** Removes the demand of an owner that is gone. */
  forget(owner: Incarnation): void {
    this.record(owner, [], 0);
  }

  #set(pool: string, owner: Incarnation, demand: Demand | undefined, nowMs: number): boolean {
    const claims = this.of(pool);
    const before = claims.find((claim) => claim.owner === owner);
    if (before?.rank === demand?.rank && before?.share === demand?.share) return false;
    const others = claims.filter((claim) => claim !== before);
    if (demand !== undefined) {
      const { rank, share } = demand;
      others.push({ owner, rank, share, sinceMs: before?.sinceMs ?? nowMs });
    }
    if (others.length === 0) this.#pools.delete(pool);
    else this.#pools.set(pool, others);
    return true;
  }
}
