import type { EpochMs } from "../../domain/ids.ts";
import type { Entry } from "../entry.ts";

interface UnpersistedAttempt {
  entry: Entry;
  attempt: number;
  at: EpochMs;
}

/**
 * Started attempts in the order in which the owner learned of their starts, until they have run for long enough for an
 * own row and a deadline. Most attempts end earlier, and a queue is cheaper than a timer for each.
 */
export class UnpersistedAttempts {
  #queue: UnpersistedAttempt[] = [];
  #first = 0;

  add(entry: Entry, attempt: number, at: EpochMs): void {
    this.#queue.push({ entry, attempt, at });
  }

  /**
   * Removes and returns the next attempt that was added at `until` or before and is still current; null: there is none.
   */
  take(until: EpochMs): Entry | null {
    for (;;) {
      const next = this.#queue[this.#first];
      if (next === undefined || next.at > until) return null;
      this.#first++;
      if (this.#first > 1_024 && this.#first * 2 > this.#queue.length) this.#compact();
      if (next.entry.place === "ASSIGNED" && next.entry.row.attempt === next.attempt) return next.entry;
    }
  }

  /** Adjusts the times after the store's clock was set. */
  leap(byMs: number): void {
    for (const next of this.#queue) next.at += byMs;
  }

  oldestAt(): EpochMs | null {
    return this.#queue[this.#first]?.at ?? null;
  }

  #compact(): void {
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
  }
}
