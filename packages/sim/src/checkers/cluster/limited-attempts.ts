import { Violation } from "../checker.ts";

/**
 * Time after which a lowered or new limit holds, in milliseconds: every owner has heard of it by then, or has lost its
 * shards.
 */
export const HEARD_AFTER_MS = 60_000;

/** Current attempts of a pool or tenant, beside its limit, which changes. All times are milliseconds of the simulation. */
export class LimitedAttempts {
  /** Time at which the number of current attempts was last at the limit. */
  fullAtMs = Number.NEGATIVE_INFINITY;
  readonly #current = new Set<string>();
  #maxRunning: number;
  /** Former limit, and the time until which it counts too. */
  #before: { maxRunning: number; untilMs: number };

  /** @param holdsFromMs time from which the limit holds */
  constructor(maxRunning: number, holdsFromMs: number) {
    this.#maxRunning = maxRunning;
    this.#before = { maxRunning: Number.POSITIVE_INFINITY, untilMs: holdsFromMs };
  }

  /** Changes the limit. */
  limit(maxRunning: number, atMs: number): void {
    if (maxRunning === this.#maxRunning) return;
    this.#before = { maxRunning: this.#allowedAt(atMs), untilMs: atMs + HEARD_AFTER_MS };
    this.#maxRunning = maxRunning;
  }

  /** @param whose what the limit belongs to, and how it allows, for people */
  begun(id: string, atMs: number, whose: string): void {
    this.#current.add(id);
    this.looked(atMs);
    const allowed = this.#allowedAt(atMs);
    if (this.#current.size <= allowed) return;
    throw new Violation(`${this.#current.size} of ${whose} ${allowed} are current: ${[...this.#current].join(", ")}`);
  }

  ended(id: string): void {
    this.#current.delete(id);
  }

  looked(nowMs: number): void {
    if (this.#current.size >= this.#maxRunning) this.fullAtMs = nowMs;
  }

  #allowedAt(atMs: number): number {
    return Math.max(this.#maxRunning, this.#before.untilMs > atMs ? this.#before.maxRunning : 0);
  }
}
