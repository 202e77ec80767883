import type { EpochMs } from "../../domain/ids.ts";

/** Time in ms after which an unused bucket is full. */
const BURST_MS = 1_000;

/**
 * Token bucket of the starts that a rate allows. It begins empty, so that starts which an earlier bucket has granted
 * are not granted again.
 */
export class Bucket {
  #level = 0;
  #at: EpochMs;

  constructor(now: EpochMs) {
    this.#at = now;
  }

  /**
   * Number of whole starts available now: at most those of one second, or one start if the rate is below one per
   * second.
   */
  available(ratePerSec: number, now: EpochMs): number {
    // A clock that was set back adds no starts.
    const passedMs = Math.max(0, now - this.#at);
    this.#at = now;
    const burst = Math.max(1, (ratePerSec * BURST_MS) / 1_000);
    this.#level = Math.min(burst, this.#level + (passedMs * ratePerSec) / 1_000);
    return Math.floor(this.#level + ROUNDING);
  }

  /** Adjusts the time of the last refill after the store's clock was set. */
  leap(byMs: number): void {
    this.#at += byMs;
  }

  take(starts: number): void {
    this.#level -= starts;
  }

  /** Milliseconds until a whole start is available, counted from the last call of `available`. */
  waitMs(ratePerSec: number): number {
    return Math.max(0, Math.ceil(((1 - this.#level) * 1_000) / ratePerSec));
  }
}

/** Tolerance for rounding: sums of small fractions may fall slightly short of a whole start. */
const ROUNDING = 1e-9;
