/** A machine that lived shorter than this probably died of something that is still there. */
const SHORT_LIFE_MS = 1_000;
/** Well below the time that a lease stands: it is renewed when the next machine is built. */
const WAIT_MS = { first: 100, last: 1_000 };

/**
 * Keeps machines that die at once from following each other as fast as they can: each takeover writes to the store, which
 * may be what they die of, as when it is out of space.
 */
export class ShortLives {
  #bornMs = Number.NEGATIVE_INFINITY;
  #row = 0;

  /** @param nowMs monotonic */
  born(nowMs: number): void {
    this.#bornMs = nowMs;
  }

  /** @returns how long to wait before the next one is built, in milliseconds; 0 after one that had lived */
  died(nowMs: number): number {
    this.#row = nowMs - this.#bornMs < SHORT_LIFE_MS ? this.#row + 1 : 0;
    return this.#row === 0 ? 0 : Math.min(WAIT_MS.last, WAIT_MS.first * 2 ** (this.#row - 1));
  }
}
