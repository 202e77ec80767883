/** Lifetime in ms below which a machine probably died of a cause that persists. */
const SHORT_LIFE_MS = 1_000;
/**
 * First and longest wait in ms. They are well below the duration of a lease, which is renewed when the next machine is
 * built.
 */
const WAIT_MS = { first: 100, last: 1_000 };

/**
 * Delays the next machine after machines that died soon after their start. Each takeover writes to the store, which may
 * be what they die of, for example when it is out of space.
 */
export class ShortLives {
  #startedMs = Number.NEGATIVE_INFINITY;
  #row = 0;

  /** @param nowMs time on the monotonic clock */
  started(nowMs: number): void {
    this.#startedMs = nowMs;
  }

  /** @returns milliseconds to wait before the next machine is built; 0 after a machine that lived long enough */
  died(nowMs: number): number {
    this.#row = nowMs - this.#startedMs < SHORT_LIFE_MS ? this.#row + 1 : 0;
    return this.#row === 0 ? 0 : Math.min(WAIT_MS.last, WAIT_MS.first * 2 ** (this.#row - 1));
  }
}
