import { atEndOfTurn, type Runtime } from "../ports/runtime.ts";

/** A turn of the event loop that works through a long list ends after this time, and others have theirs. */
const TURN_MS = 5;

type Clock = Pick<Runtime, "defer" | "setTimer" | "monotonicMs">;

/** Divides work whose length a client chose into turns of the event loop. */
export class Turns {
  readonly #runtime: Clock;
  #beganMs: number;

  constructor(runtime: Clock) {
    this.#runtime = runtime;
    this.#beganMs = runtime.monotonicMs();
  }

  /** Whether this turn has had its time; then `next` is to be awaited. */
  get isOver(): boolean {
    return this.#runtime.monotonicMs() - this.#beganMs > TURN_MS;
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve) => atEndOfTurn(this.#runtime, resolve));
    this.#beganMs = this.#runtime.monotonicMs();
  }
}

/** Array.map in turns. */
export async function mapInTurns<T, R>(
  runtime: Clock,
  items: readonly T[],
  make: (item: T, index: number) => R,
): Promise<R[]> {
  const turns = new Turns(runtime);
  const made: R[] = [];
  for (const [index, item] of items.entries()) {
    if (turns.isOver) await turns.next();
    made.push(make(item, index));
  }
  return made;
}
