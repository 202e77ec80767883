import type { EpochMs, ShardId } from "./ids.ts";

/** Time in ms that a sweep of the store looks further ahead than a look at the window, and so the interval of the sweeps. */
export const SWEEP_AHEAD_MS = 30_000;

/**
 * Decides whether the window beside the store can say what is due. It can for the shards and the time that the last sweep of the store has
 * covered, and as long as the window has its mark and no call has failed since. The window is never the truth: a sweep corrects it.
 */
export class WindowCoverage {
  #until: EpochMs = Number.NEGATIVE_INFINITY;
  #mark: string | null = null;
  #shards: ReadonlySet<ShardId> = new Set();

  /** Whether the store must be asked for rows of these shards that are due until then. */
  asksStore(shards: readonly ShardId[], dueUntil: EpochMs): boolean {
    return this.#mark === null || dueUntil > this.#until || !shards.every((shard) => this.#shards.has(shard));
  }

  /** The store was swept: rows that are due until then are in memory or in the window, under this mark. */
  swept(shards: readonly ShardId[], until: EpochMs, mark: string): void {
    this.#shards = new Set(shards);
    this.#until = until;
    this.#mark = mark;
  }

  /** Whether the window still has what was put into it. */
  isWhole(mark: string | null): boolean {
    return mark !== null && mark === this.#mark;
  }

  /** The window may lack rows from now on, until the next sweep. */
  lost(): void {
    this.#mark = null;
  }
}
