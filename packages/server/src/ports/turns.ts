import { atEndOfTurn, type Runtime } from "./runtime.ts";

/** Time in ms that all long work together takes in one turn of the event loop. */
const TURN_MS = 5;

/** Ticks of the microtask queue that resumed work gets before the next waiting work is resumed. */
const WORK_TICKS = 8;

/**
 * Divides work whose length a client chose into turns of the event loop. All work shares the time of a turn, so many
 * concurrent requests hold the loop for no longer than one request.
 */
export class Turns {
  readonly #runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">;
  /** Start of the first work in this turn, on the monotonic clock; null: this turn has done no work yet. */
  #beganMs: number | null = null;
  /** Work that continues in a later turn, FIFO. */
  readonly #waiting: (() => void)[] = [];

  constructor(runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">) {
    this.#runtime = runtime;
  }

  /** Whether this turn has used its time. The caller then awaits `next`. */
  get isOver(): boolean {
    this.#begin();
    return this.#runtime.monotonicMs() - (this.#beganMs ?? 0) > TURN_MS;
  }

  /** Resolves in a later turn that has time left, after all work that waits already. */
  next(): Promise<void> {
    this.#begin();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Runs work that cannot be divided, in a turn that has time left. */
  async run<R>(work: () => R): Promise<R> {
    if (this.isOver) await this.next();
    return work();
  }

  /** Runs work that a generator divides into steps. @returns result of the last step */
  async steps<R>(work: Generator<undefined, R>): Promise<R> {
    for (;;) {
      if (this.isOver) await this.next();
      const { done, value } = work.next();
      if (done === true) return value;
    }
  }

  /** Array.map, divided into turns. A single item is mapped immediately. */
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
      // The resumed work has ended or waits again after these ticks.
      for (let tick = 0; tick < WORK_TICKS; tick++) await null;
    }
  }
}
