import { atEndOfTurn, type Runtime } from "./runtime.ts";

/** Time that long works take together in one turn of the event loop. */
const TURN_MS = 5;

/**
 * Divides work whose length a client chose into turns of the event loop. All works share the time of a turn, so that many
 * requests at once hold the loop for no longer than one.
 */
export class Turns {
  readonly #runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">;
  /** First work of this turn, on the monotonic clock; null: this turn had none yet. */
  #beganMs: number | null = null;
  /** Works that go on in a later turn, one in each, FIFO. */
  readonly #waiting: (() => void)[] = [];

  constructor(runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">) {
    this.#runtime = runtime;
  }

  /** Whether this turn has had its time; then `next` is to be awaited. */
  get isOver(): boolean {
    this.#begin();
    return this.#runtime.monotonicMs() - (this.#beganMs ?? 0) > TURN_MS;
  }

  /** Resolves in the next turn that no earlier work waits for. */
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
    atEndOfTurn(this.#runtime, () => this.#end());
  }

  #end(): void {
    this.#beganMs = null;
    const resume = this.#waiting.shift();
    if (resume === undefined) return;
    this.#begin();
    resume();
  }
}
