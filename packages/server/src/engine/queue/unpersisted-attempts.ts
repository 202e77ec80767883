import type { EpochMs } from "../../domain/ids.ts";
import type { Entry } from "../entry.ts";

interface Young {
  entry: Entry;
  attempt: number;
  at: EpochMs;
}

/**
 * Attempts in the order in which they were assigned, until they are old enough for a row and a deadline of their own.
 * Most are over before; a queue costs them nothing where a timer each would.
 */
export class YoungAttempts {
  #queue: Young[] = [];
  #first = 0;

  add(entry: Entry, attempt: number, at: EpochMs): void {
    this.#queue.push({ entry, attempt, at });
  }

  /** The next attempt that was assigned at `until` or before and is still the current one. */
  take(until: EpochMs): Entry | null {
    for (;;) {
      const young = this.#queue[this.#first];
      if (young === undefined || young.at > until) return null;
      this.#first++;
      if (this.#first > 1_024 && this.#first * 2 > this.#queue.length) this.#compact();
      if (young.entry.place === "ASSIGNED" && young.entry.row.attempt === young.attempt) return young.entry;
    }
  }

  /** The clock by which `at` was read has leapt. */
  leap(byMs: number): void {
    for (const young of this.#queue) young.at += byMs;
  }

  oldestAt(): EpochMs | null {
    return this.#queue[this.#first]?.at ?? null;
  }

  #compact(): void {
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
  }
}
