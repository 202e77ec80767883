import type { Incarnation } from "../../domain/ids.ts";

/** More missing numbers than these are not told at once; when they are settled, the next ones are. */
const MISSING_TOLD_MAX = 256;
const NOTHING: readonly number[] = [];

/**
 * Slots of one worker that were lent to one owner: assignments are numbered from 1, and `granted` is the highest number
 * allowed. All counters only grow, so a lost or repeated message changes nothing.
 */
export class Account {
  readonly number: number;
  granted = 0;
  /** Value of `granted` that the owner was told. */
  told = 0;
  /** Since when it has something unused, by the monotonic clock. */
  lentAtMs = 0;
  /** When it last used some, or said that it cannot. */
  usedAtMs = Number.NEGATIVE_INFINITY;
  /** When the owner was last asked to give back what it cannot use. */
  recalledAtMs = Number.NEGATIVE_INFINITY;
  /** When it last did so: what it waited for is not this worker. */
  declinedAtMs = Number.NEGATIVE_INFINITY;
  /** When it was asked what it answered so: what has come to wait since then may be for this worker. */
  declinedForMs = Number.NEGATIVE_INFINITY;
  #used = 0;
  #highest = 0;
  /** Below the highest, in rising order: under way, lost, or never sent. No more than what is outstanding. */
  readonly #gaps = new Set<number>();

  constructor(number: number) {
    this.number = number;
  }

  /** Lent and not used. */
  get outstanding(): number {
    return this.granted - this.#used;
  }

  /** Highest number of an assignment that arrived, or was declared never to arrive. */
  get highest(): number {
    return this.#highest;
  }

  /** @returns the lower ones that did not come */
  missing(): readonly number[] {
    if (this.#gaps.size === 0) return NOTHING;
    const missing: number[] = [];
    for (const gap of this.#gaps) if (missing.push(gap) === MISSING_TOLD_MAX) break;
    return missing;
  }

  lend(count: number, nowMs: number): void {
    if (count === 0) return;
    if (this.outstanding === 0) this.lentAtMs = nowMs;
    this.granted += count;
  }

  /** It gave back what it was asked for. */
  decline(nowMs: number): void {
    this.declinedAtMs = nowMs;
    this.declinedForMs = this.recalledAtMs;
  }

  /** @returns false where the number was used before, or was never lent */
  use(credit: number): boolean {
    if (credit > this.granted || !this.#isNew(credit)) return false;
    this.#used++;
    return true;
  }

  #isNew(credit: number): boolean {
    if (credit <= this.#highest) return this.#gaps.delete(credit);
    for (let gap = this.#highest + 1; gap < credit; gap++) this.#gaps.add(gap);
    this.#highest = credit;
    return true;
  }
}

/**
 * The slots of one worker, lent to owners. At any moment what it holds and what is lent and not used is no more than
 * its capacity, so no slot is lent twice and the worker never holds more than it said it can.
 */
export class Credits {
  readonly #capacity: number;
  readonly #accounts = new Map<Incarnation, Account>();
  /** Index of the owner that gets the odd slot; moves on, so that no owner is favoured. */
  #turn = 0;

  /** @param capacity slots and prefetch */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  account(owner: Incarnation): Account | undefined {
    return this.#accounts.get(owner);
  }

  accounts(): IterableIterator<[Incarnation, Account]> {
    return this.#accounts.entries();
  }

  /** Slots that were lent and not used under the former account are free. @param number higher than any before */
  open(owner: Incarnation, number: number): void {
    this.#accounts.set(owner, new Account(number));
  }

  /** Nothing that the owner assigned is delivered any more: what was lent is free. */
  close(owner: Incarnation): void {
    this.#accounts.delete(owner);
  }

  /**
   * Lends every free slot, to each as many as to the others.
   * @param takers have open accounts
   * @param occupied attempts that the worker holds and that have not finished
   * @returns whether any was lent
   */
  lend(takers: readonly Incarnation[], occupied: number, nowMs: number): boolean {
    let free = this.#capacity - occupied;
    for (const account of this.#accounts.values()) free -= account.outstanding;
    if (free <= 0 || takers.length === 0) return false;
    const share = Math.floor(free / takers.length);
    const odd = free % takers.length;
    takers.forEach((owner, index) => {
      const isFavoured = (index + this.#turn) % takers.length < odd;
      this.#accounts.get(owner)?.lend(share + (isFavoured ? 1 : 0), nowMs);
    });
    this.#turn++;
    return true;
  }
}
