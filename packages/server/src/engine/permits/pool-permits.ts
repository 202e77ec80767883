import type { Epoch, EpochMs, ShardId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { coordinatorOf } from "../../domain/pool.ts";
import { tenantOfLimit } from "../../domain/tenant-limit.ts";
import type { PermitAnswer, PermitCall, PermitOpening } from "../../ports/messages.ts";
import type { PoolLimits } from "./permit-ledger.ts";

/**
 * Age in ms of the call above which its starts are not used: a rate bounds each second, so starts must not accumulate.
 */
const STARTS_FRESH_MS = 2_000;

/** Work that a machine could start if it had permits. */
export interface Wish {
  count: number;
  /** Rank of the most urgent execution. */
  rank: number;
}

const NOTHING: Wish = { count: 0, rank: 0 };

/**
 * Permits that one machine holds under the name of a limit, which is a pool's name or that of a tenant's limit: the machine's
 * side of an account in the ledger of the name.
 */
export class PoolPermits {
  readonly pool: string;
  readonly coordinator: ShardId;
  limits: PoolLimits;
  /** Tenant whose attempts the permits allow; null: those of a pool. */
  readonly tenant: string | null;
  /** Epoch of the coordinator shard; 0: unknown. */
  #epoch: Epoch = 0;
  #account = 0;
  #opening: PermitOpening | null = null;
  /**
   * Term in which the account was opened, and term of the last account that a coordinator has acknowledged. The
   * coordinator knows all shards of the acknowledged term.
   */
  #openedInTerm = 0;
  #knownTerm = 0;
  #seq = 0;
  #serial = 0;
  #granted = 0;
  #returned = 0;
  /** Number of unused permits. */
  #free = 0;
  /** Smallest number of unused permits since the last repeated call: these were not needed. */
  #idle = 0;
  #starts = 0;
  #giveBack = false;
  /**
   * Whether a coordinator that knew all shards has said that the pool is within the present limit, since the machine last
   * took shards over. Otherwise attempts may run that began under a higher limit.
   */
  #isWithinLimit = false;
  /** Number of the machine's attempts, including attempts whose end is not committed. */
  #used = new Map<ShardId, number>();
  readonly #handedOver = new Map<ShardId, { epoch: Epoch; count: number }>();
  /** Content of the last call to the coordinator. */
  #told = { account: 0, returned: 0, wanted: 0, rank: 0 };
  /** Content of the coordinator's last answer, for `explain`. */
  lastAnswer: { taken: number; isComplete: boolean; nextStartAt: EpochMs | null } = {
    taken: 0,
    isComplete: false,
    nextStartAt: null,
  };

  constructor(pool: string, limits: PoolLimits) {
    this.pool = pool;
    this.coordinator = coordinatorOf(pool);
    this.limits = limits;
    this.tenant = tenantOfLimit(pool);
  }

  /** Number of attempts that may be assigned now. */
  room(term: number): number {
    // The coordinator does not know all shards of this term yet. If this machine died, no successor would have to
    // declare attempts in the unknown shards.
    if (this.#knownTerm !== term) return 0;
    const { maxRunning, ratePerSec } = this.limits;
    const starts = ratePerSec === null ? Number.POSITIVE_INFINITY : this.#starts;
    return maxRunning === null ? starts : Math.min(this.#free, starts);
  }

  /** Whether the machine waits for permits. */
  get isWaiting(): boolean {
    return this.#told.wanted > 0;
  }

  /** Whether a coordinator knows the machine's shards, and the machine neither has, uses nor wants a permit. */
  get isIdle(): boolean {
    if (this.#opening !== null || this.#free > 0 || this.isWaiting || this.#told.returned !== this.#returned)
      return false;
    for (const count of this.#used.values()) if (count > 0) return false;
    return true;
  }

  assigned(shard: ShardId): void {
    this.adopted(shard);
    if (this.limits.maxRunning !== null) {
      this.#free--;
      invariant(this.#free >= 0, "an attempt has a permit before it is assigned");
    }
    this.#idle = Math.min(this.#idle, this.#free);
    if (this.limits.ratePerSec !== null) this.#starts--;
  }

  /** Counts an attempt that was current before this machine knew of it. */
  adopted(shard: ShardId): void {
    this.#used.set(shard, (this.#used.get(shard) ?? 0) + 1);
  }

  /** Counts an attempt out that has ended by an applied commit, or was never written. */
  freed(shard: ShardId): void {
    const used = this.#used.get(shard);
    // Another owner has the permit's shard by now, and that owner counts the permit.
    if (used === undefined || used === 0) return;
    this.#used.set(shard, used - 1);
    if (this.limits.maxRunning === null) return;
    if (this.#isModest) this.#returned++;
    else this.#free++;
  }

  /**
   * Whether the machine returns unused permits immediately. With a rate, permits are only useful together with starts.
   */
  get #isModest(): boolean {
    return this.#giveBack || !this.#isWithinLimit || this.limits.ratePerSec !== null;
  }

  /** Notes that a shard was lost. Its attempts stay current, with the next owner or without an owner. */
  lost(shard: ShardId, epoch: Epoch): void {
    const count = this.#used.get(shard) ?? 0;
    this.#used.delete(shard);
    if (count > 0) this.#handedOver.set(shard, { epoch, count });
  }

  owned(shards: Iterable<ShardId>): void {
    for (const shard of shards) this.#handedOver.delete(shard);
  }

  /** Learns the epoch of the coordinator shard. @returns whether the epoch is later than the known one */
  hears(epoch: Epoch): boolean {
    if (epoch <= this.#epoch) return false;
    this.#epoch = epoch;
    return true;
  }

  /** Opens an account with a coordinator, from the permits that the machine has at this moment. */
  open(account: number, term: number, epochs: ReadonlyMap<ShardId, Epoch>): void {
    let used = 0;
    for (const count of this.#used.values()) used += count;
    const held = used + this.#free;
    if (term !== this.#openedInTerm) this.#isWithinLimit = false;
    this.#account = account;
    this.#openedInTerm = term;
    this.#serial = 0;
    this.#granted = held;
    this.#returned = 0;
    this.#starts = 0;
    this.#opening = {
      held,
      shards: Array.from(epochs, ([shard, epoch]) => ({ shard, epoch })),
      departed: Array.from(this.#handedOver, ([shard, { epoch, count }]) => ({ shard, epoch, count })),
    };
  }

  /** Drops unused permits, because the limits have changed. */
  clear(): void {
    this.#free = 0;
    this.#idle = 0;
    this.#isWithinLimit = false;
  }

  /** Adjusts times after the store's clock was set. */
  leap(byMs: number): void {
    if (this.lastAnswer.nextStartAt !== null) this.lastAnswer.nextStartAt += byMs;
  }

  /** Applies an answer of the coordinator. @returns whether the machine must open another account */
  take(answer: PermitAnswer, now: EpochMs): boolean {
    if (answer.epoch < this.#epoch) return false;
    if (this.hears(answer.epoch)) return true;
    if (answer.account !== this.#account) return false;
    if (!answer.isKnown) return true;
    this.#opening = null;
    this.#knownTerm = this.#openedInTerm;
    const gained = Math.max(0, answer.granted - this.#granted);
    // The coordinator granted the permit by a higher limit, because it does not know yet that the limit was lowered.
    // Such a permit is never used.
    if (gained > 0 && (answer.maxRunning ?? 0) > (this.limits.maxRunning ?? Number.POSITIVE_INFINITY)) return true;
    this.#granted += gained;
    this.#free += gained;
    if (answer.serial <= this.#serial) return false;
    this.#serial = answer.serial;
    this.#giveBack = answer.giveBack;
    this.#isWithinLimit ||= answer.isComplete && answer.taken <= (this.limits.maxRunning ?? Number.POSITIVE_INFINITY);
    const isFresh = now - answer.at <= STARTS_FRESH_MS;
    this.#starts = isFresh ? answer.starts : 0;
    this.#told.wanted = Math.max(0, this.#told.wanted - Math.max(gained, answer.starts));
    const { taken, isComplete, nextStartMs } = answer;
    this.lastAnswer = { taken, isComplete, nextStartAt: nextStartMs === null ? null : now + nextStartMs };
    return false;
  }

  /**
   * Message for the coordinator at the end of a step; null: none is due.
   * @param wish work that could start with more permits; null: none, or the permits suffice; undefined: the same as
   * before
   * @param isRepeat whether the regular repetition is due
   */
  call(wish: (() => Wish) | null | undefined, life: number, now: EpochMs, isRepeat: boolean): PermitCall | null {
    this.#starts = 0;
    this.#giveUp(isRepeat);
    const { account, returned, wanted, rank: lastRank } = this.#told;
    const isChanged =
      account !== this.#account ||
      returned !== this.#returned ||
      (wish !== undefined && (wish === null) !== (wanted === 0));
    if (!isChanged && !isRepeat) return null;
    const { count, rank } = wish === undefined ? { count: wanted, rank: lastRank } : (wish?.() ?? NOTHING);
    this.#told = { account: this.#account, returned: this.#returned, wanted: count, rank };
    return {
      ...{ kind: "PERMIT_CALL", pool: this.pool, epoch: this.#epoch, life, account: this.#account },
      ...{ opening: this.#opening, seq: ++this.#seq, returned: this.#returned, wanted: count, rank, at: now },
    };
  }

  /**
   * Gives back unused permits: all of them if others wait or the pool has a rate, else those that were not needed since
   * the last repeated call. A tenant's permits stay until the repeated call, because the pool's permit and the slot that an
   * attempt needs too are asked for when the tenant's permit is there. So no permit is kept for long in wait for another.
   */
  #giveUp(isRepeat: boolean): void {
    const isModest = this.#isModest && (this.tenant === null || isRepeat);
    const count = isModest ? this.#free : isRepeat ? this.#idle : 0;
    this.#free -= count;
    this.#returned += count;
    this.#idle = isRepeat ? this.#free : Math.min(this.#idle, this.#free);
  }
}
