import type { Attempt } from "./attempt.ts";
import type { Runtime, Timer } from "./runtime.ts";

/** Timeouts may be late by this: it bounds how often all running attempts are looked at. */
const STEP_MS = 20;
/** Longer timers than the platform can hold are set anew. */
const TIMER_MAX_MS = 3_600_000;

/**
 * One timer for the deadlines of all running attempts. Most end long before theirs, so nothing is done for them when
 * they start or end; when the earliest deadline that was ever set passes, whatever runs then is looked through.
 */
export class Deadlines {
  readonly #runtime: Runtime;
  readonly #check: (nowMs: number) => number;
  #timer: Timer | null = null;
  #checkAtMs = Number.POSITIVE_INFINITY;

  /** @param check deals with what is due at that time (monotonic) and returns when the next is due */
  constructor(runtime: Runtime, check: (nowMs: number) => number) {
    this.#runtime = runtime;
    this.#check = check;
  }

  watch(attempt: Attempt, nowMs: number): void {
    if (attempt.dueMs < this.#checkAtMs) this.#setTimer(attempt.dueMs, nowMs);
  }

  #setTimer(dueMs: number, nowMs: number): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#checkAtMs = dueMs;
    if (dueMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(dueMs - nowMs, STEP_MS), TIMER_MAX_MS);
    this.#timer = this.#runtime.setTimer(Math.ceil(delayMs), () => this.#wake());
  }

  #wake(): void {
    const nowMs = this.#runtime.monotonicMs();
    this.#checkAtMs = Number.POSITIVE_INFINITY;
    this.#setTimer(this.#check(nowMs), nowMs);
  }
}
