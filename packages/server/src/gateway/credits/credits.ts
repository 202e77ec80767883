import type { Incarnation } from "../../domain/ids.ts";

/** Missing numbers in one message. The next ones follow when these are settled. */
const MISSING_TOLD_MAX = 256;
const NOTHING: readonly number[] = [];

/**
 * Slots of one worker that were allocated to one owner. Assignments are numbered from 1, and `granted` is the highest
 * number allowed. All counters only grow, so a lost or repeated message changes nothing.
 */
export class Account {
  readonly number: number;
  granted = 0;
  /** Value of `granted` that was last sent to the owner. */
  told = 0;
  /** Start of the present period with unused credit, on the monotonic clock. */
  allocatedAtMs = 0;
  /** Time at which the owner last used a credit or gave one back, on the monotonic clock. */
  usedAtMs = Number.NEGATIVE_INFINITY;
  /** Time of the last request to give unused credit back. */
  revokedAtMs = Number.NEGATIVE_INFINITY;
  /** Time at which the owner last gave credit back on request: its work then needed another worker. */
  declinedAtMs = Number.NEGATIVE_INFINITY;
  /**
   * Time of the request that the owner answered with `declinedAtMs`. Work that has started to wait since may need this
   * worker.
   */
  declinedForMs = Number.NEGATIVE_INFINITY;
  #used = 0;
  #highest = 0;
  /**
   * Numbers below the highest that did not arrive, ascending: under way, lost or never sent. There are at most as many
   * as outstanding credits.
   */
  readonly #gaps = new Set<number>();

  constructor(number: number) {
    this.number = number;
  }

  /** Number of allocated credits that are not used. */
  get outstanding(): number {
    return this.granted - this.#used;
  }

  /** Highest number of an assignment that arrived, or was declared never to arrive. */
  get highest(): number {
    return this.#highest;
  }

  /** @returns the lower numbers that did not arrive */
  missing(): readonly number[] {
    if (this.#gaps.size === 0) return NOTHING;
    const missing: number[] = [];
    for (const gap of this.#gaps) if (missing.push(gap) === MISSING_TOLD_MAX) break;
    return missing;
  }

  allocate(count: number, nowMs: number): void {
    if (count === 0) return;
    if (this.outstanding === 0) this.allocatedAtMs = nowMs;
    this.granted += count;
  }

  /** Notes that the owner gave credit back on request. */
  decline(nowMs: number): void {
    this.declinedAtMs = nowMs;
    this.declinedForMs = this.revokedAtMs;
  }

  /** @returns false where the number was used before, or was never allocated */
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
 * Credits of one worker. Its attempts and its unused credits never exceed its capacity together, so no slot is
 * allocated twice and the worker never holds more attempts than it allows.
 */
export class Credits {
  readonly #accounts = new Map<Incarnation, Account>();
  /** Index of the owner that gets the odd slot. It advances with each allocation, so that no owner is favoured. */
  #turn = 0;

  account(owner: Incarnation): Account | undefined {
    return this.#accounts.get(owner);
  }

  accounts(): IterableIterator<[Incarnation, Account]> {
    return this.#accounts.entries();
  }

  /**
   * Opens a new account. The unused credits of the owner's former account become free.
   * @param number higher than any before
   */
  open(owner: Incarnation, number: number): void {
    this.#accounts.set(owner, new Account(number));
  }

  /**
   * Closes the owner's account: the gateway delivers no more of its assignments, and its unused credits become free.
   */
  close(owner: Incarnation): void {
    this.#accounts.delete(owner);
  }

  /** Number of allocated credits that are not used. */
  get outstanding(): number {
    let outstanding = 0;
    for (const account of this.#accounts.values()) outstanding += account.outstanding;
    return outstanding;
  }

  /**
   * Allocates every free slot, equally among the recipients.
   * @param recipients owners with open accounts
   * @param room number of attempts that the worker could get now, including those of unused credits
   * @returns whether any slot was allocated
   */
  allocate(recipients: readonly Incarnation[], room: number, nowMs: number): boolean {
    const free = room - this.outstanding;
    if (free <= 0 || recipients.length === 0) return false;
    const share = Math.floor(free / recipients.length);
    const odd = free % recipients.length;
    recipients.forEach((owner, index) => {
      const isFavoured = (index + this.#turn) % recipients.length < odd;
      this.#accounts.get(owner)?.allocate(share + (isFavoured ? 1 : 0), nowMs);
    });
    this.#turn++;
    return true;
  }
}
