import type { Candidate } from "../../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import { tenantOfLimit } from "../../domain/tenant-limit.ts";
import type { PermitAnswer, PermitCall, PoolUse } from "../../ports/messages.ts";
import type { Freed } from "../batch.ts";
import type { Contender } from "../fair/contender.ts";
import { PermitLedger } from "./permit-ledger.ts";
import type { PoolPermits } from "./pool-permits.ts";

/** A message to the coordinator of a limit, addressed by its shard, or to a node that called. */
export type PermitLetter = { toOwnerOf: ShardId; message: PermitCall } | { toNode: Incarnation; message: PermitAnswer };

/** State of a machine that concerns limits of pools and tenants. Pools and tenants without limits have no state here. */
export class Permits {
  /** The machine's own permits of each pool with limits. */
  readonly byPool = new Map<string, PoolPermits>();
  /** The machine's own permits of each tenant with a limit. */
  readonly byTenant = new Map<string, PoolPermits>();
  /**
   * Permits of tenants that the machine has, uses or wants, or for which it awaits an answer. The others are not looked at in each
   * step, because there may be ten thousand.
   */
  readonly active = new Set<PoolPermits>();
  /** Contenders that may run nothing until their tenants have permits. */
  readonly blocked = new Map<PoolPermits, Set<Contender>>();
  /** Ledgers of the limits that this machine coordinates, by name. */
  readonly ledgers = new Map<string, PermitLedger>();
  /** Ledgers that may grant something now or at a known time. */
  readonly due = new Set<PermitLedger>();
  /** Latest known epoch of each shard. */
  readonly seen = new Map<ShardId, Epoch>();
  /** For each shard of this machine, the epochs of all shards that were known after its takeover. */
  readonly #seenWith = new Map<ShardId, ReadonlyMap<ShardId, Epoch>>();
  readonly letters: PermitLetter[] = [];
  accounts = 0;
  /** Position among the tenants at which the next repeated calls begin for those that are not active. */
  idleFrom = 0;
  /** Time of the next repeated call to all coordinators. */
  repeatAt: EpochMs = 0;

  of(pool: string): PoolPermits | undefined {
    return this.byPool.size === 0 ? undefined : this.byPool.get(pool);
  }

  /** Permits under the name of a limit, which is a pool's or a tenant's. */
  named(name: string): PoolPermits | undefined {
    const tenant = tenantOfLimit(name);
    return tenant === null ? this.byPool.get(name) : this.byTenant.get(tenant);
  }

  ofTenant(tenant: string): PoolPermits | undefined {
    return this.byTenant.size === 0 ? undefined : this.byTenant.get(tenant);
  }

  /** Permits of all pools and tenants with limits. */
  *all(): Generator<PoolPermits> {
    yield* this.byPool.values();
    yield* this.byTenant.values();
  }

  /** Counts an attempt that is assigned with the permits of its pool and tenant. */
  assigned({ pool, tenant, shard }: Candidate): void {
    this.of(pool)?.assigned(shard);
    this.ofTenant(tenant)?.assigned(shard);
  }

  /** Counts an attempt that was current before this machine knew of it. */
  adopted({ pool, tenant, shard }: Candidate): void {
    this.of(pool)?.adopted(shard);
    const permits = this.ofTenant(tenant);
    if (permits === undefined) return;
    permits.adopted(shard);
    this.active.add(permits);
  }

  /** Counts an attempt out that was never written. */
  freed({ pool, tenant, shard }: Candidate): void {
    this.of(pool)?.freed(shard);
    this.ofTenant(tenant)?.freed(shard);
  }

  /** Adds the permits of an attempt whose end is being written. */
  release(executionId: ExecutionId, { pool, tenant, shard }: Candidate, freed: Freed[]): void {
    const ofPool = this.of(pool);
    const ofTenant = this.ofTenant(tenant);
    if (ofPool !== undefined) freed.push({ executionId, shard, poolPermits: ofPool });
    if (ofTenant !== undefined) freed.push({ executionId, shard, poolPermits: ofTenant });
  }

  /** @param shards shards that were taken over; their ledgers start again */
  owned(shards: Iterable<ShardId>): void {
    const seen = new Map(this.seen);
    for (const shard of shards) this.#seenWith.set(shard, seen);
  }

  lost(shards: ReadonlySet<ShardId>, coordinatorOf: (pool: string) => ShardId): void {
    for (const [name, ledger] of this.ledgers) {
      if (!shards.has(coordinatorOf(name))) continue;
      this.ledgers.delete(name);
      this.due.delete(ledger);
    }
    for (const shard of shards) this.#seenWith.delete(shard);
  }

  /** Adjusts all times after the store's clock was set. */
  leap(byMs: number): void {
    this.repeatAt += byMs;
    for (const poolPermits of this.all()) poolPermits.leap(byMs);
    for (const ledger of this.ledgers.values()) ledger.leap(byMs);
  }

  /** The ledger of a pool, created if needed, whose coordinator shard this machine owns under this epoch. */
  ledger(pool: string, coordinator: ShardId, epoch: Epoch): PermitLedger {
    let ledger = this.ledgers.get(pool);
    if (ledger?.epoch !== epoch) {
      if (ledger !== undefined) this.due.delete(ledger);
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
      if (!isComplete || tenantOfLimit(pool) !== null) continue;
      const nextStartAt = this.byPool.get(pool)?.lastAnswer.nextStartAt ?? null;
      uses.push({ pool, taken, nextStartAt: nextStartAt === null ? null : Math.max(now, nextStartAt) });
    }
    return uses;
  }
}
