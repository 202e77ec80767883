import { Heap } from "@mainspring/server/testing";

// As it is now: a user's test may put another one into its place, for the code that it tests.
const { setImmediate } = globalThis;

/** A program that goes on for ever without time passing is broken. */
const STANDING_MAX = 100_000;

/** Nothing happens but what was planned here, in the order of its time; between two events no time passes. */
export class VirtualClock {
  readonly #events = new Heap<() => void>();
  #nowMs = 0;
  #planned = 0;
  #ran = 0;
  /** When the last event was planned for, and how many there were since time passed. */
  #lastMs = 0;
  #standing = 0;

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
    const tie = String(this.#planned++).padStart(12, "0");
    const node = this.#events.push(this.#nowMs + Math.max(0, delayMs), tie, run);
    return () => this.#events.remove(node);
  }

  /** Runs all that is planned up to then, and what comes of it. `after` is called when each event has worked itself out. */
  async runUntil(untilMs: number, after: () => void = () => undefined): Promise<void> {
    for (;;) {
      const next = this.#events.peek();
      if (next === undefined || next.key > untilMs) break;
      this.#events.pop();
      // By when they were planned for: after a skip many are late together, and yet come one after the other.
      this.#standing = next.key > this.#lastMs ? 0 : this.#standing + 1;
      this.#lastMs = next.key;
      if (this.#standing > STANDING_MAX) throw new Error(`time stands still at ${this.#nowMs} ms`);
      this.#nowMs = Math.max(this.#nowMs, next.key);
      this.#ran++;
      next.item();
      // Everything that was promised and can be kept is kept before the next event.
      await new Promise<void>((resolve) => setImmediate(resolve));
      after();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }
}
