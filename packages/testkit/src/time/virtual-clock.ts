import { Heap } from "@mainspring/server/testing";

// As it is now: a user's test may put another one into its place, for the code that it tests.
const { setImmediate } = globalThis;

/** A program that goes on for ever without time passing is broken. */
const STANDING_MAX = 100_000;

/** Nothing happens but what was planned here, in the order of its time; between two events no time passes. */
export class VirtualClock {
  readonly #events = new Heap<() => void>();
  readonly #batch: number;
  /** Callers that wait until promises have settled, in order. */
  readonly #settling: (() => void)[] = [];
  #immediates = 0;
  #nowMs = 0;
  /** As text in the order of its planning: of ten figures from the first on. */
  #planned = 1_000_000_000;
  #ran = 0;
  /** When the last event was planned for, and how many there were since time passed. */
  #lastMs = 0;
  #standing = 0;

  /**
   * @param batch events to a turn of the platform's loop. 1 where something waits for the platform itself; many where
   * nothing does: promises are kept between them all the same, and going round the loop costs more than most events
   */
  constructor(batch = 1) {
    this.#batch = batch;
  }

  /** Milliseconds since the beginning. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events so far. */
  get ran(): number {
    return this.#ran;
  }

  /** When the next event is planned for; null: none is. Behind `nowMs` where time was skipped. */
  get nextMs(): number | null {
    return this.#events.peek()?.key ?? null;
  }

  /** Time passes and nothing happens; what was planned for it happens late, with the next run. */
  skipTo(ms: number): void {
    this.#nowMs = Math.max(this.#nowMs, ms);
  }

  /** @returns takes it back; does nothing once it has run */
  plan(delayMs: number, run: () => void): () => void {
    const node = this.#events.push(this.#nowMs + Math.max(0, delayMs), String(this.#planned++), run);
    return () => this.#events.remove(node);
  }

  /** Runs all that is planned up to then, and what comes of it. `after` is called when each event has worked itself out. */
  async runUntil(untilMs: number, after: () => void = () => undefined): Promise<void> {
    for (;;) {
      const next = this.#events.peek();
      if (next === undefined || next.key > untilMs) break;
      this.#events.pop();
      // Events are ordered by their planned time: after a skip many are late together, and yet come one after the
      // other.
      this.#standing = next.key > this.#lastMs ? 0 : this.#standing + 1;
      this.#lastMs = next.key;
      if (this.#standing > STANDING_MAX) throw new Error(`time stands still at ${this.#nowMs} ms`);
      this.#nowMs = Math.max(this.#nowMs, next.key);
      this.#ran++;
      next.item();
      // Everything that was promised and can be kept is kept before the next event.
      await this.#settled();
      after();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** The platform keeps all promises between two immediates of one turn. Each who waits has one: there may be two runs at once. */
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
