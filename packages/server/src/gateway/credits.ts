import type { Incarnation } from "../domain/ids.ts";

/** What becomes of an assignment's credit. EXCEEDED: more were used than lent. */
export type CreditUse = "TAKEN" | "REPEATED" | "EXCEEDED";

/** Gaps beyond this are forgotten, the oldest first; a number that comes that late counts as repeated. */
const GAPS_MAX = 10_000;

/** What was lent of one worker to one owner. Both counters only grow, so a lost or repeated message changes nothing. */
class Account {
  granted = 0;
  #used = 0;
  #highest = 0;
  /** Numbers below the highest that have not come: under way, lost, or never sent. */
  readonly #gaps = new Set<number>();

  /** Lent and not used. */
  get outstanding(): number {
    return this.granted - this.#used;
  }

  use(credit: number): CreditUse {
    if (!this.#isNew(credit)) return "REPEATED";
    if (this.#used >= this.granted) return "EXCEEDED";
    this.#used++;
    return "TAKEN";
  }

  #isNew(credit: number): boolean {
    if (credit <= this.#highest) return this.#gaps.delete(credit);
    for (let gap = Math.max(this.#highest + 1, credit - GAPS_MAX); gap < credit; gap++) this.#gaps.add(gap);
    this.#highest = credit;
    for (const oldest of this.#gaps) {
      if (this.#gaps.size <= GAPS_MAX) break;
      this.#gaps.delete(oldest);
    }
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
  /** Who gets the odd one; moves on, so that nobody is favoured. */
  #turn = 0;

  /** @param capacity slots and prefetch */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** @param credit the assignment's number, from 1 */
  use(owner: Incarnation, credit: number): CreditUse {
    return this.#accounts.get(owner)?.use(credit) ?? "EXCEEDED";
  }

  /** In all, since the account was opened. */
  granted(owner: Incarnation): number {
    return this.#accounts.get(owner)?.granted ?? 0;
  }

  /** The owner has forgotten its account, or nothing that it assigned is delivered any more: what was lent is free. */
  close(owner: Incarnation): void {
    this.#accounts.delete(owner);
  }

  /**
   * Lends every free slot.
   * @param occupied attempts that the worker holds and that have not finished
   * @returns whether any was lent
   */
  lend(owners: readonly Incarnation[], occupied: number): boolean {
    let free = this.#capacity - occupied;
    for (const account of this.#accounts.values()) free -= account.outstanding;
    if (free <= 0 || owners.length === 0) return false;
    const share = Math.floor(free / owners.length);
    const odd = free % owners.length;
    owners.forEach((owner, index) => {
      const isFavoured = (index + this.#turn) % owners.length < odd;
      this.#account(owner).granted += share + (isFavoured ? 1 : 0);
    });
    this.#turn++;
    return true;
  }

  #account(owner: Incarnation): Account {
    let account = this.#accounts.get(owner);
    if (account === undefined) {
      account = new Account();
      this.#accounts.set(owner, account);
    }
    return account;
  }
}
