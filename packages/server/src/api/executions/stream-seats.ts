import { busy } from "../http/errors.ts";

/** Largest number of event streams at once. */
export const FOLLOWERS_MAX = 1_000;

/** Places for the event streams of a node, of executions and of runs together. */
export class StreamSeats {
  #taken = 0;

  /** Takes a place. @returns function that frees it once. @throws {ProblemError} 429 while there are too many streams */
  take(): () => void {
    if (this.#taken >= FOLLOWERS_MAX) throw busy("too-many-requests", "too many streams of events are open", 5);
    this.#taken++;
    let isFree = false;
    return () => {
      if (!isFree) this.#taken--;
      isFree = true;
    };
  }
}
