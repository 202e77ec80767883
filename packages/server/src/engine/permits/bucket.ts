import type { EpochMs } from "../../domain/ids.ts";

/** Full after it has been idle for so long. */
const BURST_MS = 1_000;

/** Starts that a rate allows. Begins empty: what a bucket before it has given out is not given out once more. */
export class Bucket {
  #level = 0;
  #at: EpochMs;

  constructor(now: EpochMs) {
    this.#at = now;
  }

  /** Whole starts that there are now: a second's worth at most, and one at least where the rate is lower. */
  available(ratePerSec: number, now: EpochMs): number {
    // A clock that was set back has brought nothing.
    const passedMs = Math.max(0, now - this.#at);
    this.#at = now;
    const burst = Math.max(1, (ratePerSec * BURST_MS) / 1_000);
    this.#level = Math.min(burst, this.#level + (passedMs * ratePerSec) / 1_000);
    return Math.floor(this.#level + ROUNDING);
  }

  /** The clock has leapt. */
  leap(byMs: number): void {
    this.#at += byMs;
  }

  take(starts: number): void {
    this.#level -= starts;
  }

  /** How long it is until there is a whole one, as of the last look. */
  waitMs(ratePerSec: number): number {
    return Math.max(0, Math.ceil(((1 - this.#level) * 1_000) / ratePerSec));
  }
}

/** Sums of small shares miss the whole by a trifle. */
const ROUNDING = 1e-9;
