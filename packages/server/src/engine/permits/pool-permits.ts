import type { Epoch, EpochMs, ShardId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { homeOf } from "../../domain/pool.ts";
import type { PermitAnswer, PermitCall, PermitOpening } from "../../ports/messages.ts";
import type { PoolLimits } from "./ledger.ts";

/** Starts that came in answer to an older call are not used: a rate bounds each second, not the sum of them. */
const STARTS_FRESH_MS = 2_000;

/** Work that a machine could begin if it had permits. */
export interface Wish {
  count: number;
  /** Rank of the most urgent execution. */
  rank: number;
}

const NOTHING: Wish = { count: 0, rank: 0 };

/** Permits of a pool that one machine holds: the other end of an account in the pool's ledger. */
export class Holding {
  readonly pool: string;
  readonly home: ShardId;
  limits: PoolLimits;
  /** Epoch of the home shard; 0: unknown. */
  #epoch: Epoch = 0;
  #account = 0;
  #opening: PermitOpening | null = null;
  /** In which term the account was opened, and the last one that a home has acknowledged: it knows of all shards of it. */
  #openedInTerm = 0;
  #knownTerm = 0;
  #seq = 0;
  #serial = 0;
  #granted = 0;
  #returned = 0;
  /** Permits that no attempt has. */
  #free = 0;
  /** The least that was free since the last roll: nobody needs that. */
  #idle = 0;
  #starts = 0;
  #giveBack = false;
  /** Number of the machine's attempts, including attempts whose end is not committed. */
  #used = new Map<ShardId, number>();
  readonly #departed = new Map<ShardId, { epoch: Epoch; count: number }>();
  /** Declaration that the home received last. */
  #told = { account: 0, returned: 0, wanted: 0, rank: 0 };
  /** Last answer of the home, for explain. */
  figures: { taken: number; isComplete: boolean; nextStartAt: EpochMs | null } = {
    taken: 0,
    isComplete: false,
    nextStartAt: null,
  };

  constructor(pool: string, limits: PoolLimits) {
    this.pool = pool;
    this.home = homeOf(pool);
    this.limits = limits;
  }

  /** Attempts that may be assigned now. */
  room(term: number): number {
    // Were this machine to die, its successors would not be asked for what was begun in shards that no home knows of.
    if (this.#knownTerm !== term) return 0;
    const { maxRunning, ratePerSec } = this.limits;
    const starts = ratePerSec === null ? Number.POSITIVE_INFINITY : this.#starts;
    return maxRunning === null ? starts : Math.min(this.#free, starts);
  }

  /** Whether it waits for what the home has to give. */
  get isWaiting(): boolean {
    return this.#told.wanted > 0;
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

  /** It was current before this machine knew of it. */
  adopted(shard: ShardId): void {
    this.#used.set(shard, (this.#used.get(shard) ?? 0) + 1);
  }

  /** Ended by a commit that went through, or never written. */
  freed(shard: ShardId): void {
    const used = this.#used.get(shard);
    // The permit belongs to a shard that another owner has by now, and that owner counts it.
    if (used === undefined || used === 0) return;
    this.#used.set(shard, used - 1);
    if (this.limits.maxRunning === null) return;
    if (this.#isModest) this.#returned++;
    else this.#free++;
  }

  /** Whether it keeps nothing in hand. With a rate, permits come together with starts. */
  get #isModest(): boolean {
    return this.#giveBack || this.limits.ratePerSec !== null;
  }

  /** Executions in it stay current, with the next owner or with none. */
  lost(shard: ShardId, epoch: Epoch): void {
    const count = this.#used.get(shard) ?? 0;
    this.#used.delete(shard);
    if (count > 0) this.#departed.set(shard, { epoch, count });
  }

  owned(shards: Iterable<ShardId>): void {
    for (const shard of shards) this.#departed.delete(shard);
  }

  /** A later home than that which it deals with has taken over. @returns whether it is news */
  hears(epoch: Epoch): boolean {
    if (epoch <= this.#epoch) return false;
    this.#epoch = epoch;
    return true;
  }

  /** Begins anew with a home: from what it has at this moment. */
  open(account: number, term: number, epochs: ReadonlyMap<ShardId, Epoch>): void {
    let used = 0;
    for (const count of this.#used.values()) used += count;
    const held = used + this.#free;
    this.#account = account;
    this.#openedInTerm = term;
    this.#serial = 0;
    this.#granted = held;
    this.#returned = 0;
    this.#starts = 0;
    this.#opening = {
      held,
      shards: Array.from(epochs, ([shard, epoch]) => ({ shard, epoch })),
      departed: Array.from(this.#departed, ([shard, { epoch, count }]) => ({ shard, epoch, count })),
    };
  }

  /** Permits in hand are void, because the limits were set anew. */
  clear(): void {
    this.#free = 0;
    this.#idle = 0;
  }

  /** The clock has leapt. */
  leap(byMs: number): void {
    if (this.figures.nextStartAt !== null) this.figures.nextStartAt += byMs;
  }

  /** @returns whether another account is to be opened */
  take(answer: PermitAnswer, now: EpochMs): boolean {
    if (answer.epoch < this.#epoch) return false;
    if (this.hears(answer.epoch)) return true;
    if (answer.account !== this.#account) return false;
    if (!answer.isKnown) return true;
    this.#opening = null;
    this.#knownTerm = this.#openedInTerm;
    const gained = Math.max(0, answer.granted - this.#granted);
    // The home does not know yet that the limit was lowered: such a permit is never used.
    if (gained > 0 && (answer.maxRunning ?? 0) > (this.limits.maxRunning ?? Number.POSITIVE_INFINITY)) return true;
    this.#granted += gained;
    this.#free += gained;
    if (answer.serial <= this.#serial) return false;
    this.#serial = answer.serial;
    this.#giveBack = answer.giveBack;
    const isFresh = now - answer.at <= STARTS_FRESH_MS;
    this.#starts = isFresh ? answer.starts : 0;
    this.#told.wanted = Math.max(0, this.#told.wanted - Math.max(gained, answer.starts));
    const { taken, isComplete, nextStartMs } = answer;
    this.figures = { taken, isComplete, nextStartAt: nextStartMs === null ? null : now + nextStartMs };
    return false;
  }

  /**
   * Message for the home at the end of a step.
   * @param wish what could be begun; null: nothing, or nothing more than there are permits for; undefined: as before
   * @param isRoll whether it is time to say all of it again
   */
  call(wish: (() => Wish) | null | undefined, life: number, now: EpochMs, isRoll: boolean): PermitCall | null {
    this.#starts = 0;
    this.#giveUp(isRoll);
    const { account, returned, wanted, rank: lastRank } = this.#told;
    const isNews =
      account !== this.#account ||
      returned !== this.#returned ||
      (wish !== undefined && (wish === null) !== (wanted === 0));
    if (!isNews && !isRoll) return null;
    const { count, rank } = wish === undefined ? { count: wanted, rank: lastRank } : (wish?.() ?? NOTHING);
    this.#told = { account: this.#account, returned: this.#returned, wanted: count, rank };
    return {
      ...{ kind: "PERMIT_CALL", pool: this.pool, epoch: this.#epoch, life, account: this.#account },
      ...{ opening: this.#opening, seq: ++this.#seq, returned: this.#returned, wanted: count, rank, at: now },
    };
  }

  /** Gives back what others wait for, or what it has not needed for a while. */
  #giveUp(isRoll: boolean): void {
    const count = this.#isModest ? this.#free : isRoll ? this.#idle : 0;
    this.#free -= count;
    this.#returned += count;
    this.#idle = isRoll ? this.#free : Math.min(this.#idle, this.#free);
  }
}
