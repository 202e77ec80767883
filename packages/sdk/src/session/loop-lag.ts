import type { Runtime, Timer } from "../runtime.ts";

const PING_EVERY_MS = 1_000;

/** Measures the delay of another thread's event loop by pings that the other thread answers. */
export class LoopLag {
  readonly #runtime: Runtime;
  readonly #ping: () => void;
  /** Time of the ping that has no answer yet, in milliseconds; null: the last ping was answered. */
  #askedMs: number | null = null;
  #lastMs = 0;
  #timer: Timer | null = null;

  constructor(runtime: Runtime, ping: () => void) {
    this.#runtime = runtime;
    this.#ping = ping;
  }

  start(): void {
    this.#timer = this.#runtime.setTimer(PING_EVERY_MS, () => this.start());
    if (this.#askedMs !== null) return;
    this.#askedMs = this.#runtime.monotonicMs();
    this.#ping();
  }

  answered(): void {
    if (this.#askedMs !== null) this.#lastMs = this.#runtime.monotonicMs() - this.#askedMs;
    this.#askedMs = null;
  }

  /** Delay of the loop in whole milliseconds. A ping without an answer counts with the time that it has waited. */
  get lagMs(): number {
    const waitedMs = this.#askedMs === null ? 0 : this.#runtime.monotonicMs() - this.#askedMs;
    return Math.round(Math.max(waitedMs, this.#lastMs));
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
