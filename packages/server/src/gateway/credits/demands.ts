import type { Incarnation } from "../../domain/ids.ts";
import type { Demand } from "../../ports/messages.ts";

/** Waiting work of one owner in one pool. */
export interface Claim {
  readonly owner: Incarnation;
  readonly rank: number;
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
    const ranks = new Map(demand.map(({ pool, rank }) => [pool, rank]));
    const changed = new Set<string>();
    for (const pool of new Set([...this.#pools.keys(), ...ranks.keys()])) {
      if (this.#set(pool, owner, ranks.get(pool), nowMs)) changed.add(pool);
    }
    return changed;
  }

  /** Removes the demand of an owner that is gone. */
  forget(owner: Incarnation): void {
    this.record(owner, [], 0);
  }

  #set(pool: string, owner: Incarnation, rank: number | undefined, nowMs: number): boolean {
    const claims = this.of(pool);
    const before = claims.find((claim) => claim.owner === owner);
    if (before?.rank === rank) return false;
    const others = claims.filter((claim) => claim !== before);
    if (rank !== undefined) others.push({ owner, rank, sinceMs: before?.sinceMs ?? nowMs });
    if (others.length === 0) this.#pools.delete(pool);
    else this.#pools.set(pool, others);
    return true;
  }
}
