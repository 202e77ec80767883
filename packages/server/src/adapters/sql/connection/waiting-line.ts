import { atEndOfTurn, type Runtime, type Timer } from "../../../ports/runtime.ts";
import { StoreUnavailable } from "../../../ports/store.ts";

interface Waiting {
  pass(): void;
  refuse(error: StoreUnavailable): void;
  /** Time at which the work is refused, in milliseconds of the monotonic clock. */
  untilMs: number;
}

export interface LineLimits {
  /** Largest number of pieces of work in progress at once. */
  inside: number;
  /** Longest wait of a piece of work, in milliseconds. */
  waitMs: number;
  /** Number of pieces of work that start, and number that are refused, in one turn of the event loop. */
  perTurn: number;
}

/**
 * A queue in front of a pool of connections. A pool of pg has a timer for each waiting request, so thousands that wait
 * would all be refused in one turn of the event loop.
 */
export class WaitingLine {
  readonly #runtime: Runtime;
  readonly #limits: LineLimits;
  /** Queue (FIFO) from index `#head` on. */
  #waiting: Waiting[] = [];
  #head = 0;
  #inside = 0;
  /** Number of pieces of work that started in this turn. */
  #passed = 0;
  #timer: Timer | null = null;

  constructor(runtime: Runtime, limits: LineLimits) {
    this.#runtime = runtime;
    this.#limits = limits;
  }

  get length(): number {
    return this.#waiting.length - this.#head;
  }

  /** @throws {StoreUnavailable} the wait was too long; the work was not started */
  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.length > 0 || this.#inside >= this.#limits.inside) await this.#wait();
    else this.#inside++;
    try {
      return await work();
    } finally {
      this.#inside--;
      this.#admit();
    }
  }

  #wait(): Promise<void> {
    const untilMs = this.#runtime.monotonicMs() + this.#limits.waitMs;
    return new Promise((pass, refuse) => {
      this.#waiting.push({ pass, refuse, untilMs });
      this.#watch();
    });
  }

  #admit(): void {
    while (this.length > 0 && this.#inside < this.#limits.inside && this.#passed < this.#limits.perTurn) {
      if (this.#passed++ === 0) atEndOfTurn(this.#runtime, () => this.#turnEnded());
      this.#inside++;
      this.#next().pass();
    }
  }

  #turnEnded(): void {
    this.#passed = 0;
    this.#admit();
  }

  #next(): Waiting {
    const next = this.#waiting[this.#head++] as Waiting;
    if (this.length === 0) {
      this.#waiting = [];
      this.#head = 0;
    }
    return next;
  }

  #watch(): void {
    const oldest = this.#waiting[this.#head];
    if (this.#timer !== null || oldest === undefined) return;
    const delayMs = Math.max(0, oldest.untilMs - this.#runtime.monotonicMs());
    this.#timer = this.#runtime.setTimer(delayMs, () => {
      this.#timer = null;
      this.#refuseOverdue();
      this.#watch();
    });
  }

  #refuseOverdue(): void {
    const nowMs = this.#runtime.monotonicMs();
    for (let left = this.#limits.perTurn; left > 0; left--) {
      const oldest = this.#waiting[this.#head];
      if (oldest === undefined || oldest.untilMs > nowMs) return;
      const message = `too many requests wait for PostgreSQL: this one was not served within ${this.#limits.waitMs} ms`;
      this.#next().refuse(new StoreUnavailable(message, { isUnasked: true }));
    }
  }
}
