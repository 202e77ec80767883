/** Bounds in ms of the time after which a caller is told to try again, and the time while no rate is known. */
const WAIT_MS = { min: 1_000, max: 30_000, unknown: 5_000 };

/** Rate at which places of a tenant become free, measured between the counts of the store. */
export class DrainRate {
  #last: { used: number; taken: number; atMs: number } | null = null;
  /** Places a second; null: not known yet. */
  #perSec: number | null = null;

  /** Notes a count. @returns time in ms after which so many more places are free */
  waitMs(used: number, taken: number, atMs: number, missing: number): number {
    const last = this.#last;
    if (last === null || atMs - last.atMs >= 1_000) {
      if (last !== null) {
        const freed = Math.max(0, last.used + last.taken - used);
        const measured = freed / ((atMs - last.atMs) / 1_000);
        this.#perSec = this.#perSec === null ? measured : (this.#perSec + measured) / 2;
      }
      this.#last = { used, taken, atMs };
    } else last.taken += taken;
    if (this.#perSec === null) return WAIT_MS.unknown;
    return Math.min(WAIT_MS.max, Math.max(WAIT_MS.min, (Math.max(1, missing) / this.#perSec) * 1_000));
  }
}
