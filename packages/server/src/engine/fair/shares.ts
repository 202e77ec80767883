import { DEFAULT_TENANT, type EpochMs, type Incarnation } from "../../domain/ids.ts";
import { DEFAULT_WEIGHT, TOLD_SHARES_MAX } from "../../domain/tenant.ts";
import type { ToldShare } from "../../ports/share-messages.ts";
import type { HeapNode } from "../heap.ts";
import type { Contender } from "./contender.ts";
import { Others } from "./others.ts";

/**
 * Fair order between the tenants of a pool: the tenant with the fewest attempts per weight goes first. Between tenants with
 * equally many, the one with the smaller virtual time goes first, which is the run time that the tenant has used per weight.
 * Virtual times are integers, so that the order is the same on every platform.
 */

/** Parts of an attempt in which `Share.others` counts. */
const ATTEMPT = 1_000;
/** Run time in µs above which a longer run costs no more. */
const RUN_MAX_US = 2 ** 42;
/** Virtual time from which on those of the pool are made smaller, so that they stay exact. */
const TIME_MAX = 2 ** 51;
/** Time in ms since the last report before which there is no other. Announcements that follow a change come at any time. */
const REPORT_MIN_MS = 500;
/** Part of a new run time in the smoothed run time: an eighth. */
const SMOOTHING = 8;

/** Use of a pool by one tenant. */
export interface Share {
  readonly tenant: string;
  readonly pool: PoolShares;
  weight: number;
  /** Number of the tenant's current attempts in the pool that this machine owns. */
  running: number;
  /** Attempts of the tenant in the pool that other machines own, smoothed, in thousandths. */
  others: number;
  /** Sum of `running` over the time since the last report, in attempts times ms, up to `countedUntil`. */
  usedMs: number;
  countedUntil: EpochMs;
  /** Virtual time at which the tenant's next attempt starts: run time used, in µs at the default weight. */
  time: number;
  /** Smoothed run time of the tenant's attempts in µs; 0: none has ended. */
  meanUs: number;
  /** Positions of the tenant in those work classes of the pool in which it has executions that may run. */
  readonly nodes: Set<HeapNode<Contender>>;
  /** Whether the keys of `nodes` are older than the fields that they follow from. */
  isStale: boolean;
}

/** Shares of one pool. */
export interface PoolShares {
  readonly name: string;
  readonly byTenant: Map<string, Share>;
  /** Virtual time of the pool: that of the last attempt's start. A tenant that was idle goes on here. */
  time: number;
  /** Number of lanes and current attempts. The pool is forgotten when it has none. */
  uses: number;
  /** Number of tenants with executions that may run. */
  contending: number;
  /** Number of current attempts that this machine owns, and of the tenants that have some of them. */
  running: number;
  active: number;
  /** Shares with outdated keys. */
  stale: Share[];
}

/** Attempt as it counts in the share of its tenant. */
export interface Counted {
  readonly share: Share;
  /** Virtual time that the attempt has been charged and that its end corrects. */
  charged: number;
}

export class Shares {
  readonly #pools = new Map<string, PoolShares>();
  readonly #others = new Others();
  #weights: ReadonlyMap<string, number> = new Map();
  #now: EpochMs = 0;
  #reportedAt: EpochMs = 0;
  #hearsSeveral = false;
  /** Whether the owner tells others the shares, because one of them knows of a second tenant. */
  isTelling = false;

  /** Notes the time of the step that begins. */
  passTime(now: EpochMs): void {
    this.#now = now;
  }

  /** The tenant's share of the pool, which counts a lane more from now on. */
  join(name: string, tenant: string): Share {
    let pool = this.#pools.get(name);
    if (pool === undefined) {
      pool = { name, byTenant: new Map(), time: 0, uses: 0, contending: 0, running: 0, active: 0, stale: [] };
      this.#pools.set(name, pool);
    }
    pool.uses++;
    let share = pool.byTenant.get(tenant);
    if (share === undefined) {
      share = newShare(pool, tenant, this.#weights.get(tenant) ?? DEFAULT_WEIGHT, this.#now);
      share.others = this.#others.of(name, tenant);
      pool.byTenant.set(tenant, share);
    }
    return share;
  }

  /** Forgets a lane or an attempt, and the pool with the last of them. */
  leave({ pool }: Share): void {
    pool.uses--;
    if (pool.uses === 0) this.#pools.delete(pool.name);
  }

  /** Whether there is a tenant beside the default one. */
  get hasSeveral(): boolean {
    return this.#weights.size > (this.#weights.has(DEFAULT_TENANT) ? 1 : 0);
  }

  /** Sets the weights of all tenants. Tenants that are left out have the default weight. */
  setWeights(weights: ReadonlyMap<string, number>): void {
    this.#weights = weights;
    for (const { byTenant } of this.#pools.values()) {
      for (const share of byTenant.values()) {
        share.weight = weights.get(share.tenant) ?? DEFAULT_WEIGHT;
        outdate(share);
      }
    }
  }

  of(pool: string): PoolShares | undefined {
    return this.#pools.get(pool);
  }

  all(): IterableIterator<PoolShares> {
    return this.#pools.values();
  }

  /**
   * Counts a new attempt and charges the expected run time for it.
   * @returns the charge
   */
  assigned(share: Share): number {
    const { pool } = share;
    this.#run(share, 1);
    pool.uses++;
    pool.time = Math.max(pool.time, share.time);
    const charged = costOf(share, share.meanUs);
    charge(share, charged);
    return charged;
  }

  /** Counts an attempt that an earlier owner assigned. Its whole run time is charged when it ends. */
  adopted(share: Share): void {
    this.#run(share, 1);
    share.pool.uses++;
    outdate(share);
  }

  /** Counts the end of an attempt. The charge is taken back unless `measured` has replaced it. */
  ended({ share, charged }: Counted): void {
    this.#run(share, -1);
    charge(share, -charged);
    this.leave(share);
  }

  /** Takes the attempts that another owner has told. */
  hear(from: Incarnation, told: readonly ToldShare[]): void {
    this.#others.hear(from, told, this.#now);
    if (told.some(({ tenant }) => tenant !== DEFAULT_TENANT)) this.#hearsSeveral = true;
    this.#followOthers();
  }

  /**
   * Average attempts since the last report, for the other owners; the tenants with the most come first.
   * @returns null: there is nothing to tell, because no owner knows of a second tenant, or the last report was just now
   */
  report(now: EpochMs): ToldShare[] | null {
    this.#now = now;
    const sinceMs = now - this.#reportedAt;
    if (sinceMs >= 0 && sinceMs < REPORT_MIN_MS) return null;
    this.#reportedAt = now;
    if (this.#others.forgetSilent(now)) this.#followOthers();
    this.isTelling = this.#hearsSeveral;
    this.#hearsSeveral = false;
    const told: ToldShare[] = [];
    for (const share of this.#shares()) {
      if (share.tenant !== DEFAULT_TENANT) this.isTelling = true;
      this.#count(share);
      const attempts = sinceMs > 0 ? Math.round((share.usedMs * ATTEMPT) / sinceMs) : 0;
      share.usedMs = 0;
      if (attempts > 0) told.push({ pool: share.pool.name, tenant: share.tenant, attempts });
    }
    if (!this.isTelling) return null;
    return told.sort((a, b) => b.attempts - a.attempts).slice(0, TOLD_SHARES_MAX);
  }

  *#shares(): Generator<Share> {
    for (const { byTenant } of this.#pools.values()) yield* byTenant.values();
  }

  #followOthers(): void {
    for (const share of this.#shares()) {
      share.others = this.#others.of(share.pool.name, share.tenant);
      outdate(share);
    }
  }

  #run(share: Share, more: 1 | -1): void {
    this.#count(share);
    share.running += more;
    share.pool.running += more;
    if (share.running === (more === 1 ? 1 : 0)) share.pool.active += more;
  }

  /** Adds the time since the last change of `running`. The store's clock may have been set back meanwhile. */
  #count(share: Share): void {
    share.usedMs += share.running * Math.max(0, this.#now - share.countedUntil);
    share.countedUntil = this.#now;
  }
}

/** Replaces what was charged for an attempt by what its run time costs. */
export function measured(counted: Counted, runMs: number): void {
  const { share } = counted;
  const us = Math.min(Math.max(0, Math.round(runMs * 1_000)), RUN_MAX_US);
  charge(share, costOf(share, us) - counted.charged);
  counted.charged = 0;
  share.meanUs = share.meanUs === 0 ? us : share.meanUs + Math.trunc((us - share.meanUs) / SMOOTHING);
}

/** Notes that the tenant has executions of a further class that may run. A tenant that had none gets no credit for that. */
export function contend(share: Share, node: HeapNode<Contender>): void {
  share.nodes.add(node);
  if (share.nodes.size > 1) return;
  share.pool.contending++;
  share.time = Math.max(share.time, share.pool.time);
  outdate(share);
}

export function rest(share: Share, node: HeapNode<Contender>): void {
  share.nodes.delete(node);
  if (share.nodes.size === 0) share.pool.contending--;
}

/** Attempts of the tenant per weight. */
export function keyOf({ running, others, weight }: Share): number {
  return (running * ATTEMPT + others) / weight;
}

/** Moves the shares whose fields have changed to their positions. With a single tenant there is no order to keep. */
export function reorder(pool: PoolShares): void {
  if (pool.contending < 2) return;
  for (const share of pool.stale) {
    share.isStale = false;
    for (const node of share.nodes) node.item.work.contenders.rekey(node, keyOf(share), node.tie, share.time);
  }
  pool.stale = [];
}

/** Whether tenant `a` goes before tenant `b`, both of the same pool. */
export function goesBefore(a: Share, b: Share): boolean {
  const [keyA, keyB] = [keyOf(a), keyOf(b)];
  if (keyA !== keyB) return keyA < keyB;
  return a.time < b.time || (a.time === b.time && a.tenant < b.tenant);
}

/** Notes that fields have changed from which the order follows. */
function outdate(share: Share): void {
  if (share.isStale) return;
  share.isStale = true;
  share.pool.stale.push(share);
}

function newShare(pool: PoolShares, tenant: string, weight: number, now: EpochMs): Share {
  const counts = { running: 0, others: 0, usedMs: 0, countedUntil: now, time: pool.time, meanUs: 0 };
  return { tenant, pool, weight, ...counts, nodes: new Set(), isStale: false };
}

/** A run costs at least a unit, so that tenants with runs of no measurable time take turns as well. */
function costOf({ weight }: Share, runUs: number): number {
  return Math.max(1, Math.floor((runUs * DEFAULT_WEIGHT) / weight));
}

function charge(share: Share, cost: number): void {
  share.time += cost;
  if (share.time > TIME_MAX) rebase(share.pool);
  outdate(share);
}

function rebase(pool: PoolShares): void {
  for (const share of pool.byTenant.values()) {
    share.time = Math.min(Math.max(0, share.time - pool.time), TIME_MAX);
    outdate(share);
  }
  pool.time = 0;
}
