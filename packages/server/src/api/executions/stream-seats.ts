import { busy } from "../http/errors.ts";

/** Largest number of event streams at once, unless the configuration has another one. */
export const FOLLOWERS_MAX = 1_000;

/** Places for the event streams of a node, of executions, of runs and of lifecycle events together. */
export class StreamSeats {
  readonly #max: number;
  #taken = 0;

  /** @param max largest number of streams at once */
  constructor(max = FOLLOWERS_MAX) {
    this.#max = max;
  }

  /** Takes a place. @returns function that frees it once. @throws {ProblemError} 429 while there are too many streams */
  take(): () => void {
    if (this.#taken >= this.#max) throw busy("too-many-requests", "too many streams of events are open", 5);
    this.#taken++;
    let isFree = false;
    return () => {
      if (!isFree) this.#taken--;
      isFree = true;
    };
  }
}
