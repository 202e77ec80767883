import { Heap } from "@mainspring/server/parts";

// The function is read here once, because a user's test may replace the global for the code under test.
const { setImmediate } = globalThis;

/** Number of events without any progress of the clock after which the run fails as an endless loop. */
const STANDING_MAX = 100_000;

/**
 * Simulated clock with its events. Only planned events happen, in the order of their times; between two events no time
 * passes.
 */
export class VirtualClock {
  readonly #events = new Heap<() => void>();
  readonly #batch: number;
  /** Callers that wait until promises have settled, in order. */
  readonly #settling: (() => void)[] = [];
  #immediates = 0;
  #nowMs = 0;
  /**
   * Number of events planned so far. The count starts with ten digits, so that its text sorts in the order of planning.
   */
  #planned = 1_000_000_000;
  #ran = 0;
  /** Planned time of the last event, and number of events since the time changed. */
  #lastMs = 0;
  #standing = 0;

  /**
   * @param batch number of events in one turn of the platform's event loop: 1 if the program waits for the platform
   * itself,
   * many if it does not. Promises settle between events in both cases, and a turn of the loop costs more than most events.
   */
  constructor(batch = 1) {
    this.#batch = batch;
  }

  /** Milliseconds since the start of the simulation. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Number of events so far. */
  get ran(): number {
    return this.#ran;
  }

  /** Time of the next event; null: none is planned. Lies before `nowMs` after a skip. */
  get nextMs(): number | null {
    return this.#events.peek()?.key ?? null;
  }

  /** Moves the time without running events. Skipped events run late, with the next run. */
  skipTo(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs, ms);
  }

  /** @returns function that cancels the event, and does nothing once the event has run */
  plan(delayMs: number, run: () => void): () => void {
    const node = this.#events.push(this.#nowMs + Math.max(0, delayMs), String(this.#planned++), run);
    return () => this.#events.remove(node);
  }

  /**
   * Runs all events that are planned up to a time, including those that other events plan meanwhile. Calls `after` when
   * the promises of each event have settled.
   */
  async runUntil(untilMs: number, after: () => void = () => undefined): Promise<void> {
    for (;;) {
      const next = this.#events.peek();
      if (next === undefined || next.key > untilMs) break;
      this.#events.pop();
      // The planned time of the events counts, because after a skip many late events run at the same `nowMs`.
      this.#standing = next.key > this.#lastMs ? 0 : this.#standing + 1;
      this.#lastMs = next.key;
      if (this.#standing > STANDING_MAX) throw new Error(`time stands still at ${this.#nowMs} ms`);
      this.#nowMs = Math.max(this.#nowMs, next.key);
      this.#ran++;
      next.item();
      // All promises that can settle have settled before the next event.
      await this.#settled();
      after();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /**
   * Resolves when promises have settled. The platform settles all promises between two immediates of one turn. Each
   * caller needs an immediate of its own, because two runs may be active at once.
   */
  #settled(): Promise<void> {
    const settled = new Promise<void>((resolve) => this.#settling.push(resolve));
    if (this.#settling.length <= this.#immediates) return settled;
    this.#immediates += this.#batch;
    for (let i = 0; i < this.#batch; i++) setImmediate(this.#next);
    return settled;
  }

  readonly #next = (): void => {
    this.#immediates--;
    this.#settling.shift()?.();
  };
}
