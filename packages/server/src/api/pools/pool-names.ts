import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { type Problem, problem } from "../http/errors.ts";

/** Time without jobs after which a pool may be forgotten, in milliseconds, if its place is needed. */
const FORGOTTEN_MS = 3_600_000;

/**
 * Pools for which this node accepts jobs. A job creates its pool by naming it, and each pool costs the owners of its
 * work memory and reads of the store as long as work waits in it.
 */
export class PoolNames {
  readonly #max: number;
  readonly #allows: (tenant: Tenant, pool: string) => boolean;
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  /** Time of the last job by pool, the oldest first, in milliseconds. */
  readonly #usedMs = new Map<string, number>();
  /** Pool of the last job, which is the last key of the map. A further job of it leaves the order as it is. */
  #newest: string | null = null;

  /** @param allows whether jobs of a tenant may name a pool; default: they may name every pool */
  constructor(
    max: number,
    runtime: Pick<Runtime, "monotonicMs">,
    allows: (tenant: Tenant, pool: string) => boolean = () => true,
  ) {
    this.#allows = allows;
    this.#max = max;
    this.#runtime = runtime;
  }

  /** Records the pool of a job. @returns reason to refuse the job; null: none */
  use(tenant: Tenant, pool: string): Problem | null {
    if (!this.#allows(tenant, pool)) {
      const message = "is not among the pools of the tenant";
      return problem("pool-not-allowed", `target.pool ${message}`, [{ field: "target.pool", message }]);
    }
    const nowMs = this.#runtime.monotonicMs();
    if (
      pool !== this.#newest &&
      !this.#usedMs.delete(pool) &&
      this.#usedMs.size >= this.#max &&
      !this.#forgetOldest(nowMs)
    ) {
      const message = `is one more than the ${this.#max} pools that got jobs within the last hour: use one of them, or set MAINSPRING_POOLS_MAX`;
      return problem("wrong-state", `target.pool ${message}`, [{ field: "target.pool", message }]);
    }
    this.#usedMs.set(pool, nowMs);
    this.#newest = pool;
    return null;
  }

  #forgetOldest(nowMs: number): boolean {
    for (const [oldest, usedMs] of this.#usedMs) return nowMs - usedMs > FORGOTTEN_MS && this.#usedMs.delete(oldest);
    return false;
  }
}
