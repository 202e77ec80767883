import { AHEAD_MAX, AHEAD_MS, AHEAD_QUIET_MS, AHEAD_SAMPLE_MS } from "../limits.ts";

/**
 * Weight of a new measurement, as a divisor: 8 means that the last eight or so attempts decide about the mean run time.
 */
const RUNS = 8;

/**
 * Measures how much work a worker with automatic prefetch can use ahead of its free slots: as many attempts as it ended
 * in `AHEAD_MS` of late. A worker whose handlers take longer than that gets nothing ahead, so no attempt waits behind a
 * slow one.
 */
export class Ahead {
  /** Ended attempts per millisecond; 0: not measured. */
  #rate = 0;
  #meanRunMs = 0;
  #ended = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #lastEndMs = Number.NEGATIVE_INFINITY;

  /** Notes the end of an attempt. @param runMs time between its start and its end */
  ended(runMs: number, nowMs: number): void {
    this.#meanRunMs += (Math.max(0, runMs) - this.#meanRunMs) / RUNS;
    if (nowMs - this.#lastEndMs > AHEAD_QUIET_MS) this.#begin(nowMs);
    this.#lastEndMs = nowMs;
    this.#ended++;
    const sampledMs = nowMs - this.#sinceMs;
    if (sampledMs < AHEAD_SAMPLE_MS) return;
    const rate = this.#ended / sampledMs;
    this.#rate = this.#rate === 0 ? rate : (this.#rate + rate) / 2;
    this.#begin(nowMs);
  }

  /** Number of attempts that may wait at the worker now. */
  allowed(nowMs: number): number {
    if (this.#meanRunMs >= AHEAD_MS || nowMs - this.#lastEndMs > AHEAD_QUIET_MS) return 0;
    return Math.min(Math.floor(this.#rate * AHEAD_MS), AHEAD_MAX);
  }

  /** Forgets the rate, because attempts have waited for too long. */
  reset(): void {
    this.#rate = 0;
    this.#lastEndMs = Number.NEGATIVE_INFINITY;
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#ended = 0;
  }
}
