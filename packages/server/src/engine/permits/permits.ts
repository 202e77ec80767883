import type { Epoch, EpochMs, Incarnation, ShardId } from "../../domain/ids.ts";
import type { PermitAnswer, PermitCall, PoolUse } from "../../ports/messages.ts";
import { PermitLedger } from "./permit-ledger.ts";
import type { PoolPermits } from "./pool-permits.ts";

/** A message to the coordinator of a pool, addressed by its shard, or to a node that called. */
export type PermitLetter = { toOwnerOf: ShardId; message: PermitCall } | { toNode: Incarnation; message: PermitAnswer };

/** State of a machine that concerns pools with limits. Pools without limits have no state here. */
export class Permits {
  /** The machine's own permits of each pool with limits. */
  readonly byPool = new Map<string, PoolPermits>();
  /** Ledgers of the pools that this machine coordinates. */
  readonly ledgers = new Map<string, PermitLedger>();
  /** Latest known epoch of each shard. */
  readonly seen = new Map<ShardId, Epoch>();
  /** For each shard of this machine, the epochs of all shards that were known after its takeover. */
  readonly #seenWith = new Map<ShardId, ReadonlyMap<ShardId, Epoch>>();
  readonly letters: PermitLetter[] = [];
  accounts = 0;
  /** Time of the next repeated call to all coordinators. */
  repeatAt: EpochMs = 0;

  of(pool: string): PoolPermits | undefined {
    return this.byPool.size === 0 ? undefined : this.byPool.get(pool);
  }

  /** @param shards shards that were taken over; their ledgers start again */
  owned(shards: Iterable<ShardId>): void {
    const seen = new Map(this.seen);
    for (const shard of shards) this.#seenWith.set(shard, seen);
  }

  lost(shards: ReadonlySet<ShardId>, coordinatorOf: (pool: string) => ShardId): void {
    for (const pool of [...this.ledgers.keys()]) if (shards.has(coordinatorOf(pool))) this.ledgers.delete(pool);
    for (const shard of shards) this.#seenWith.delete(shard);
  }

  /** Adjusts all times after the store's clock was set. */
  leap(byMs: number): void {
    this.repeatAt += byMs;
    for (const poolPermits of this.byPool.values()) poolPermits.leap(byMs);
    for (const ledger of this.ledgers.values()) ledger.leap(byMs);
  }

  /** The ledger of a pool, created if needed, whose coordinator shard this machine owns under this epoch. */
  ledger(pool: string, coordinator: ShardId, epoch: Epoch): PermitLedger {
    let ledger = this.ledgers.get(pool);
    if (ledger?.epoch !== epoch) {
      ledger = new PermitLedger(pool, epoch, this.#seenWith.get(coordinator) ?? new Map());
      this.ledgers.set(pool, ledger);
    }
    return ledger;
  }

  /**
   * Use of each pool that this machine coordinates. A pool is left out until every owner has declared its attempts,
   * because its limits do not hold before.
   */
  uses(now: EpochMs): PoolUse[] {
    const uses: PoolUse[] = [];
    for (const [pool, { taken, isComplete }] of this.ledgers) {
      if (!isComplete) continue;
      const nextStartAt = this.byPool.get(pool)?.lastAnswer.nextStartAt ?? null;
      uses.push({ pool, taken, nextStartAt: nextStartAt === null ? null : Math.max(now, nextStartAt) });
    }
    return uses;
  }
}
