import type { Epoch, EpochMs, Incarnation, ShardId } from "../../domain/ids.ts";
import type { PermitAnswer, PermitCall, PoolUse } from "../../ports/messages.ts";
import type { Holding } from "./holding.ts";
import { Ledger } from "./ledger.ts";

/** A message to the home of a pool, whoever owns that shard, or to a node that called. */
export type PermitLetter = { toOwnerOf: ShardId; message: PermitCall } | { toNode: Incarnation; message: PermitAnswer };

/** State of a machine that concerns limits of pools. For pools without any there is nothing here. */
export class Permits {
  /** Its own part of each pool that has limits. */
  readonly holdings = new Map<string, Holding>();
  /** Ledgers of the pools whose home this machine is. */
  readonly ledgers = new Map<string, Ledger>();
  /** The epochs that shards were seen to have, the latest of each. */
  readonly seen = new Map<ShardId, Epoch>();
  /** For each shard of this machine what was seen after it was taken over. */
  readonly #seenWith = new Map<ShardId, ReadonlyMap<ShardId, Epoch>>();
  readonly letters: PermitLetter[] = [];
  accounts = 0;
  /** When all is said again. */
  rollAt: EpochMs = 0;

  of(pool: string): Holding | undefined {
    return this.holdings.size === 0 ? undefined : this.holdings.get(pool);
  }

  /** @param shards that are owned from now on; what they are the home of is counted anew */
  owned(shards: Iterable<ShardId>): void {
    const seen = new Map(this.seen);
    for (const shard of shards) this.#seenWith.set(shard, seen);
  }

  lost(shards: ReadonlySet<ShardId>, homeOf: (pool: string) => ShardId): void {
    for (const pool of [...this.ledgers.keys()]) if (shards.has(homeOf(pool))) this.ledgers.delete(pool);
    for (const shard of shards) this.#seenWith.delete(shard);
  }

  /** The clock has leapt. */
  leap(byMs: number): void {
    this.rollAt += byMs;
    for (const holding of this.holdings.values()) holding.leap(byMs);
    for (const ledger of this.ledgers.values()) ledger.leap(byMs);
  }

  /** The ledger of a pool whose home shard this machine owns under that epoch. */
  ledger(pool: string, home: ShardId, epoch: Epoch): Ledger {
    let ledger = this.ledgers.get(pool);
    if (ledger?.epoch !== epoch) {
      ledger = new Ledger(pool, epoch, this.#seenWith.get(home) ?? new Map());
      this.ledgers.set(pool, ledger);
    }
    return ledger;
  }

  /** Use of each pool whose home this machine is, once its limits hold: every owner of a shard has heard of them. */
  uses(now: EpochMs): PoolUse[] {
    const uses: PoolUse[] = [];
    for (const [pool, { taken, isComplete }] of this.ledgers) {
      if (!isComplete) continue;
      const nextStartAt = this.holdings.get(pool)?.figures.nextStartAt ?? null;
      uses.push({ pool, taken, nextStartAt: nextStartAt === null ? null : Math.max(now, nextStartAt) });
    }
    return uses;
  }
}
