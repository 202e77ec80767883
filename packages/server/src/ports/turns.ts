import { atEndOfTurn, type Runtime } from "./runtime.ts";

/** Time that long works take together in one turn of the event loop. */
const TURN_MS = 5;

/** Ticks of the microtask queue within which a work that was resumed has had its part of the turn. */
const WORK_TICKS = 8;

/**
 * Divides work whose length a client chose into turns of the event loop. All works share the time of a turn, so that many
 * requests at once hold the loop for no longer than one.
 */
export class Turns {
  readonly #runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">;
  /** First work of this turn, on the monotonic clock; null: this turn had none yet. */
  #beganMs: number | null = null;
  /** Works that go on in a later turn, FIFO. */
  readonly #waiting: (() => void)[] = [];

  constructor(runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">) {
    this.#runtime = runtime;
  }

  /** Whether this turn has had its time; then `next` is to be awaited. */
  get isOver(): boolean {
    this.#begin();
    return this.#runtime.monotonicMs() - (this.#beganMs ?? 0) > TURN_MS;
  }

  /** Resolves in a later turn that has time left, after all works that wait. */
  next(): Promise<void> {
    this.#begin();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Does a piece of work that cannot be divided in a turn that has time left. */
  async run<R>(work: () => R): Promise<R> {
    if (this.isOver) await this.next();
    return work();
  }

  /** Array.map in turns; one item alone needs none. */
  async map<T, R>(items: readonly T[], make: (item: T, index: number) => R): Promise<R[]> {
    if (items.length <= 1) return items.map(make);
    const made: R[] = [];
    for (const [index, item] of items.entries()) {
      if (this.isOver) await this.next();
      made.push(make(item, index));
    }
    return made;
  }

  #begin(): void {
    if (this.#beganMs !== null) return;
    this.#beganMs = this.#runtime.monotonicMs();
    atEndOfTurn(this.#runtime, () => void this.#end());
  }

  async #end(): Promise<void> {
    this.#beganMs = null;
    while (this.#waiting.length > 0 && !this.isOver) {
      this.#waiting.shift()?.();
      // The work has gone on by then, and has ended or waits again.
      for (let tick = 0; tick < WORK_TICKS; tick++) await null;
    }
  }
}
