import { type Deferred, deferred } from "../deferred.ts";
import type { Runtime, Timer } from "../runtime.ts";
import type { WaitReport } from "../session/work.ts";
import { StepError } from "./step-error.ts";

/** Sleeps below this length, in milliseconds, wait in place: a suspension costs two commits and a new attempt. */
export const SHORT_MS = 5_000;
/** Longest timer, in milliseconds. For a longer wait, which the platform cannot hold, the timer is set again. */
const TIMER_MAX_MS = 3_600_000;
/** Largest total of the names of steps and signals of the waits that are pending, in bytes: they travel as one message. */
export const WAITS_MAX_BYTES = 256 * 1024;

/** A step that waits. */
export interface Wait {
  name: string;
  /** Names of the signals that end the wait; empty: the step sleeps. */
  signals: readonly string[];
  /** End of the wait, in milliseconds of the monotonic clock. */
  untilMs: number;
  /** Whether an earlier attempt suspended for the wait. */
  isRecorded: boolean;
}

/** Attempt whose steps wait. */
interface Surroundings {
  readonly runtime: Runtime;
  /** Whether nothing of the attempt's steps is under way, so that the attempt may suspend. */
  isIdle(): boolean;
  suspend(): void;
}

/**
 * Steps of one attempt that wait, and the decision to suspend it. The attempt suspends when a turn of the event loop has
 * passed in which all that its steps did was to wait, and no sleep is about to end.
 */
export class Waits {
  readonly #within: Surroundings;
  readonly #pending = new Map<string, { wait: Wait; over: Deferred<void> }>();
  #namesBytes = 0;
  /** Waits for which the attempt suspends; empty: it does not. */
  #suspended: readonly Wait[] = [];
  #timer: Timer | null = null;
  #decision: Timer | null = null;

  constructor(within: Surroundings) {
    this.#within = within;
  }

  /**
   * @returns a promise that resolves when the time of a sleep is over while the attempt runs; a wait for signals only rejects
   * @throws {StepError} StepTooLarge
   */
  async add(wait: Wait): Promise<void> {
    const bytes = Buffer.byteLength(JSON.stringify([wait.name, ...wait.signals]));
    if (this.#namesBytes + bytes > WAITS_MAX_BYTES) {
      const sum = `${this.#namesBytes + bytes} bytes of names of steps and signals`;
      throw new StepError("StepTooLarge", `the steps that wait at once have ${sum}; ${WAITS_MAX_BYTES} may be`);
    }
    this.#namesBytes += bytes;
    const over = deferred<void>();
    this.#pending.set(wait.name, { wait, over });
    this.#setTimer();
    this.look();
    try {
      await over.promise;
    } finally {
      this.#namesBytes -= bytes;
    }
  }

  /** Called whenever something of the attempt's steps has come to an end. */
  look(): void {
    if (this.#decision !== null || this.#pending.size === 0 || !this.#within.isIdle()) return;
    // The handler goes on first with what has come to an end, and may begin another step.
    this.#decision = this.#within.runtime.setTimer(0, () => {
      this.#decision = null;
      if (this.#pending.size > 0 && this.#within.isIdle() && !this.#isSleepShort()) this.#within.suspend();
    });
  }

  /** Rejects all waits. @param errorOf called only if there are any @param isSuspended whether the attempt suspends for them */
  reject(errorOf: () => Error, isSuspended: boolean): void {
    const pending = [...this.#pending.values()];
    if (isSuspended) this.#suspended = pending.map(({ wait }) => wait);
    this.#pending.clear();
    this.#timer?.cancel();
    this.#decision?.cancel();
    this.#timer = null;
    this.#decision = null;
    if (pending.length === 0) return;
    const error = errorOf();
    for (const { over } of pending) over.reject(error);
  }

  /** Waits for which the attempt suspends, measured from now on. */
  report(): WaitReport[] {
    const nowMs = this.#within.runtime.monotonicMs();
    return this.#suspended.map(({ name, signals, untilMs, isRecorded }) => {
      return { name, signals, isRecorded, delayMs: Math.max(0, Math.ceil(untilMs - nowMs)) };
    });
  }

  /** The end of such a sleep is nearer than that of a suspension. */
  #isSleepShort(): boolean {
    const nowMs = this.#within.runtime.monotonicMs();
    return this.#sleeps().some(({ wait }) => wait.untilMs - nowMs < SHORT_MS);
  }

  #sleeps() {
    return [...this.#pending.values()].filter(({ wait }) => wait.signals.length === 0);
  }

  #setTimer(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const { runtime } = this.#within;
    const nextMs = Math.min(...this.#sleeps().map(({ wait }) => wait.untilMs));
    if (nextMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(0, nextMs - runtime.monotonicMs()), TIMER_MAX_MS);
    this.#timer = runtime.setTimer(Math.ceil(delayMs), () => this.#end());
  }

  /** Ends the sleeps whose time is over. */
  #end(): void {
    const nowMs = this.#within.runtime.monotonicMs();
    for (const { wait, over } of this.#sleeps()) {
      if (wait.untilMs > nowMs) continue;
      this.#pending.delete(wait.name);
      over.resolve();
    }
    this.#setTimer();
    this.look();
  }
}
