import type { Runtime } from "../ports/runtime.ts";
import { type Problem, problem } from "./errors.ts";

/** A pool that got no job for this time is forgotten, if its place is wanted. */
const FORGOTTEN_MS = 3_600_000;

/**
 * The pools that this node takes jobs for. A job makes its pool by naming it, and each pool costs the owners of its work memory and reads
 * of the store for as long as work of it waits.
 */
export class PoolNames {
  readonly #max: number;
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  /** When each got a job last; the one that waits longest first. */
  readonly #usedMs = new Map<string, number>();

  constructor(max: number, runtime: Pick<Runtime, "monotonicMs">) {
    this.#max = max;
    this.#runtime = runtime;
  }

  /** Takes note of a job's pool. @returns why there can be no job in it; null: there can */
  use(pool: string): Problem | null {
    const nowMs = this.#runtime.monotonicMs();
    if (!this.#usedMs.delete(pool) && this.#usedMs.size >= this.#max && !this.#forgetOldest(nowMs)) {
      const message = `is one more than the ${this.#max} pools that got jobs within the last hour: use one of them, or set MAINSPRING_POOLS_MAX`;
      return problem("wrong-state", `target.pool ${message}`, [{ field: "target.pool", message }]);
    }
    this.#usedMs.set(pool, nowMs);
    return null;
  }

  #forgetOldest(nowMs: number): boolean {
    for (const [oldest, usedMs] of this.#usedMs) return nowMs - usedMs > FORGOTTEN_MS && this.#usedMs.delete(oldest);
    return false;
  }
}
