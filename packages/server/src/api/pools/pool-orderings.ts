import { defaultPool } from "../../domain/pool.ts";
import type { Ordering } from "../../domain/rank.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";

/** Time until a change of a pool's strategy is seen here, in milliseconds. */
const FRESH_MS = 1_000;

/** Ordering of each pool's work, read from the store at most once a second. */
export class PoolOrderings {
  readonly #store: Pick<Store, "readPools">;
  readonly #runtime: Runtime;
  #orderings: Promise<ReadonlyMap<string, Ordering>> | null = null;
  #readAtMs = 0;

  constructor(store: Pick<Store, "readPools">, runtime: Runtime) {
    this.#store = store;
    this.#runtime = runtime;
  }

  /** @throws {StoreUnavailable} */
  async read(): Promise<(pool: string) => Ordering> {
    const nowMs = this.#runtime.monotonicMs();
    if (this.#orderings === null || nowMs - this.#readAtMs > FRESH_MS) {
      this.#readAtMs = nowMs;
      this.#orderings = this.#fetch();
    }
    const orderings = await this.#orderings;
    return (pool) => orderings.get(pool) ?? defaultPool(pool);
  }

  /** Drops the cached orderings, because this node has changed them. */
  forget(): void {
    this.#orderings = null;
  }

  async #fetch(): Promise<ReadonlyMap<string, Ordering>> {
    try {
      const pools = await this.#store.readPools();
      return new Map(pools.map((pool) => [pool.name, pool]));
    } catch (error) {
      // The next submit reads again, so that it does not fail for the rest of the second.
      this.#orderings = null;
      throw error;
    }
  }
}
