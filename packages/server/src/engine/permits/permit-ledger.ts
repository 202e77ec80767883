import { type Epoch, type EpochMs, type Incarnation, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { PermitAnswer, PermitCall, PermitOpening } from "../../ports/messages.ts";
import { Bucket } from "./bucket.ts";

/**
 * Time in ms without a call after which an account is granted nothing: its owner may be dead, and the permits would
 * stay there unused.
 */
const LAPSES_AFTER_MS = 2_500;
/** Minimum interval in ms between two checks of a bucket, so that many small grants become one. */
const LOOK_LEAST_MS = 10;

/** Limits of a pool; null: no limit. */
export interface PoolLimits {
  maxRunning: number | null;
  ratePerSec: number | null;
}

/** Permits that the coordinator granted to one life of one machine, for its shards. */
interface Account {
  node: Incarnation;
  life: number;
  account: number;
  /**
   * Number of all permits granted, including those that the machine had when it opened the account, and number of
   * permits returned.
   */
  granted: number;
  returned: number;
  /** Shards of the account that no other owner has declared under a later epoch. */
  shards: Map<ShardId, Epoch>;
  seq: number;
  wanted: number;
  rank: number;
  calledAt: EpochMs;
  /** The caller's own time of its last call, which the answer repeats. */
  echo: EpochMs;
  serial: number;
  toldGiveBack: boolean;
  /** Answer that is due, with the starts that it grants; null: none is due. */
  pending: { starts: number } | null;
}

/** An answer and its receiver. */
export interface AddressedAnswer {
  node: Incarnation;
  answer: PermitAnswer;
}

/**
 * The permits of one pool, as its coordinator counts them: under one epoch of the coordinator shard, and starting from
 * nothing. The count is never below the permits in use, because an account keeps its grants until another owner has
 * declared the attempts in its shards.
 */
export class PermitLedger {
  readonly pool: string;
  readonly epoch: Epoch;
  readonly #required: ReadonlyMap<ShardId, Epoch>;
  readonly #declared = new Map<ShardId, Epoch>();
  readonly #accounts = new Map<string, Account>();
  /** Attempts in shards that their owner has lost and that no later owner has declared yet. */
  readonly #orphans = new Map<ShardId, { epoch: Epoch; count: number }>();
  #refusals: AddressedAnswer[] = [];
  #bucket: Bucket | null = null;
  #isComplete = false;
  /** Whether something has changed that may affect the next grants. */
  #isDirty = true;
  #dealAt: EpochMs | null = null;

  /**
   * @param required epochs of all shards when the coordinator shard was taken over; a declaration under an older epoch
   * does not count
   */
  constructor(pool: string, epoch: Epoch, required: ReadonlyMap<ShardId, Epoch>) {
    this.pool = pool;
    this.epoch = epoch;
    this.#required = required;
  }

  /** Whether all shards were declared. Until then the number of permits in use is unknown. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Upper bound of the permits in use. */
  get taken(): number {
    let taken = 0;
    for (const { granted, returned } of this.#accounts.values()) taken += granted - returned;
    for (const { count } of this.#orphans.values()) taken += count;
    return taken;
  }

  /** Time of the next grant that does not depend on a call; null: there is none. */
  get dealAt(): EpochMs | null {
    return this.#dealAt;
  }

  /** Adjusts all times after the store's clock was set. */
  leap(byMs: number): void {
    if (this.#dealAt !== null) this.#dealAt += byMs;
    this.#bucket?.leap(byMs);
    for (const account of this.#accounts.values()) account.calledAt += byMs;
  }

  /** Applies a call of a machine. */
  take(node: Incarnation, call: PermitCall, now: EpochMs): void {
    // The call is meant for a later owner of the coordinator shard.
    if (call.epoch > this.epoch) return;
    const name = `${node}/${call.life}`;
    const known = this.#accounts.get(name);
    if (call.epoch === this.epoch && known !== undefined && call.account < known.account) return;
    const account = call.epoch < this.epoch ? null : known?.account === call.account ? known : this.#open(node, call);
    if (account === null) {
      if (call.epoch < this.epoch || call.opening === null) this.#refuse(node, call);
      return;
    }
    this.#isDirty = true;
    account.returned = Math.max(account.returned, call.returned);
    account.pending ??= { starts: 0 };
    if (call.seq <= account.seq) return;
    Object.assign(account, { seq: call.seq, wanted: call.wanted, rank: call.rank, calledAt: now, echo: call.at });
  }

  /**
   * Opens an account.
   * @returns null: the call has no opening, or other machines have declared all of its shards by now
   */
  #open(node: Incarnation, call: PermitCall): Account | null {
    if (call.opening === null) return null;
    const name = `${node}/${call.life}`;
    const shards = this.#declare(call.opening);
    if (shards.size === 0) return null;
    const { life, account } = call;
    const opened: Account = {
      ...{ node, life, account, granted: call.opening.held, returned: 0, shards },
      ...{ seq: 0, wanted: 0, rank: 0, calledAt: 0, echo: 0, serial: 0, toldGiveBack: false, pending: null },
    };
    this.#accounts.set(name, opened);
    this.#supersede();
    this.#isComplete ||= this.#areAllDeclared();
    return opened;
  }

  /**
   * Records the shards and attempts that an opening declares.
   * @returns the shards that no other machine has declared under a later epoch
   */
  #declare({ shards, departed }: PermitOpening): Map<ShardId, Epoch> {
    const own = new Map<ShardId, Epoch>();
    for (const { shard, epoch } of shards) {
      if (epoch < (this.#declared.get(shard) ?? 0)) continue;
      this.#declared.set(shard, epoch);
      own.set(shard, epoch);
      if ((this.#orphans.get(shard)?.epoch ?? epoch) < epoch) this.#orphans.delete(shard);
    }
    for (const { shard, epoch, count } of departed) {
      const known = Math.max(this.#declared.get(shard) ?? 0, this.#orphans.get(shard)?.epoch ?? 0);
      if (epoch >= known) this.#orphans.set(shard, { epoch, count });
    }
    return own;
  }

  /**
   * Removes from each account the shards that another machine has declared since, because that machine's account has
   * their permits. An account without shards is deleted.
   */
  #supersede(): void {
    for (const [name, { shards }] of this.#accounts) {
      for (const [shard, epoch] of shards) if ((this.#declared.get(shard) ?? 0) > epoch) shards.delete(shard);
      if (shards.size === 0) this.#accounts.delete(name);
    }
  }

  #areAllDeclared(): boolean {
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      const declared = this.#declared.get(shard);
      if (declared === undefined || declared < (this.#required.get(shard) ?? 0)) return false;
    }
    return true;
  }

  /** Answers that the account is unknown or outdated, so the machine opens another one. */
  #refuse(node: Incarnation, call: PermitCall): void {
    const { life, account, at } = call;
    const none = { granted: 0, starts: 0, serial: 0, giveBack: false, taken: 0, isComplete: false, nextStartMs: null };
    const answer = { kind: "PERMITS", pool: this.pool, epoch: this.epoch, life, account, isKnown: false, at } as const;
    this.#refusals.push({ node, answer: { ...answer, ...none } });
  }

  /**
   * Grants the free permits to the waiting accounts, the most urgent first, one after the other.
   * @param limits null: the pool has no limits, as far as this coordinator knows
   * @returns answers to all accounts that have called, and to accounts for which something has changed
   */
  deal(limits: PoolLimits | null, now: EpochMs): AddressedAnswer[] {
    if (!this.#isDirty && (this.#dealAt === null || now < this.#dealAt)) return [];
    this.#isDirty = false;
    this.#dealAt = null;
    const waiting = this.#waiting(now);
    const starts = this.#startsOf(limits, now);
    if (limits !== null && this.#isComplete) this.#share(waiting, limits, starts);
    const left = waiting.filter(({ wanted }) => wanted > 0);
    const nextStartMs = this.#nextStart(limits, left, now);
    const isOver = limits?.maxRunning != null && this.taken > limits.maxRunning;
    for (const account of this.#accounts.values()) {
      const giveBack = isOver || left.some((other) => other !== account);
      if (giveBack !== account.toldGiveBack) account.pending ??= { starts: 0 };
      account.toldGiveBack = giveBack;
    }
    return [...this.#refusals.splice(0), ...this.#answers(limits?.maxRunning ?? null, nextStartMs)];
  }

  /** Accounts that want permits and whose machines are alive, the most urgent first. */
  #waiting(now: EpochMs): Account[] {
    for (const account of this.#accounts.values()) if (now - account.calledAt > LAPSES_AFTER_MS) account.wanted = 0;
    return [...this.#accounts.values()].filter(({ wanted }) => wanted > 0).sort((a, b) => a.rank - b.rank);
  }

  #startsOf(limits: PoolLimits | null, now: EpochMs): number {
    if (limits?.ratePerSec == null || !this.#isComplete) return Number.POSITIVE_INFINITY;
    this.#bucket ??= new Bucket(now);
    return this.#bucket.available(limits.ratePerSec, now);
  }

  #share(waiting: readonly Account[], { maxRunning, ratePerSec }: PoolLimits, starts: number): void {
    const free = maxRunning === null ? Number.POSITIVE_INFINITY : maxRunning - this.taken;
    let left = Math.min(free, starts);
    for (let i = 0; i < waiting.length && left >= 1; i++) {
      const account = waiting[i] as Account;
      const count = Math.min(account.wanted, Math.ceil(left / (waiting.length - i)));
      left -= count;
      account.wanted -= count;
      if (maxRunning !== null) account.granted += count;
      account.pending ??= { starts: 0 };
      if (ratePerSec === null) continue;
      account.pending.starts += count;
      this.#bucket?.take(count);
    }
  }

  #nextStart(limits: PoolLimits | null, left: readonly Account[], now: EpochMs): number | null {
    if (limits?.ratePerSec == null || this.#bucket === null) return null;
    const waitMs = this.#bucket.waitMs(limits.ratePerSec);
    const isFull = limits.maxRunning !== null && this.taken >= limits.maxRunning;
    if (left.length > 0 && !isFull) this.#dealAt = now + Math.max(LOOK_LEAST_MS, waitMs);
    return waitMs;
  }

  #answers(maxRunning: number | null, nextStartMs: number | null): AddressedAnswer[] {
    const { pool, epoch, taken, isComplete } = this;
    const answers: AddressedAnswer[] = [];
    for (const held of this.#accounts.values()) {
      if (held.pending === null) continue;
      const { node, life, account, granted, toldGiveBack: giveBack, echo: at, pending: news } = held;
      const about = { kind: "PERMITS", pool, epoch, life, account, isKnown: true, granted, giveBack, at } as const;
      const serial = ++held.serial;
      answers.push({
        node,
        answer: { ...about, serial, starts: news.starts, maxRunning, taken, isComplete, nextStartMs },
      });
      held.pending = null;
    }
    return answers;
  }
}
