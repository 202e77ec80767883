import type { Runtime, Timer } from "../runtime.ts";
import type { Attempt } from "./attempt.ts";

/**
 * Largest delay of a timeout, in milliseconds. The delay bounds how often the executor looks at all running attempts.
 */
const STEP_MS = 20;
/** Longest timer, in milliseconds. For a longer wait, which the platform cannot hold, the timer is set again. */
const TIMER_MAX_MS = 3_600_000;

/**
 * One timer for the deadlines of all running attempts. Most attempts end long before their deadline, so the start and
 * end of an attempt do no work here. When the earliest deadline that was ever set passes, `check` looks at every
 * attempt that runs then.
 */
export class Deadlines {
  readonly #runtime: Runtime;
  readonly #check: (nowMs: number) => number;
  #timer: Timer | null = null;
  #checkAtMs = Number.POSITIVE_INFINITY;

  /**
   * @param check handles attempts that are due at that time (monotonic, in milliseconds) and returns when the next one
   * is due
   */
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
