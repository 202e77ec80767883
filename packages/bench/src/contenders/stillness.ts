/** Time without a write after which a store counts as still, in milliseconds: longer than any pause between batches of finishes. */
const STILL_MS = 30;
/** Interval of recounts of a store that never becomes still, in milliseconds. */
const RECOUNT_EVERY_MS = 1_000;

/**
 * Decides from the number of writes of a store when a recount of its jobs is worth its cost: once after each burst of
 * writes, and every second of a store that goes on writing.
 */
export class Stillness {
  #writes = -1;
  #changedAtMs = 0;
  #recountedAtMs: number;
  #isRecounted = false;

  constructor(nowMs: number) {
    this.#recountedAtMs = nowMs;
  }

  /** Time of the question that first saw the latest write, in milliseconds since 1970. */
  get changedAtMs(): number {
    return this.#changedAtMs;
  }

  /** @param askedAtMs time of the question about the number of writes @returns whether to recount now */
  seen(writes: number, askedAtMs: number): boolean {
    if (writes !== this.#writes) {
      this.#writes = writes;
      this.#changedAtMs = askedAtMs;
      this.#isRecounted = false;
    }
    const isStill = !this.#isRecounted && askedAtMs - this.#changedAtMs >= STILL_MS;
    if (!isStill && askedAtMs - this.#recountedAtMs < RECOUNT_EVERY_MS) return false;
    this.#isRecounted = true;
    this.#recountedAtMs = askedAtMs;
    return true;
  }
}
