import { defaultPool } from "../domain/pool.ts";
import type { Ordering } from "../domain/rank.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";

/** How long a change of a pool's strategy may take to be seen here. */
const FRESH_MS = 1_000;

/** How each pool orders its work, read from the store at most once a second. */
export class PoolOrders {
  readonly #store: Store;
  readonly #runtime: Runtime;
  #orders: Promise<ReadonlyMap<string, Ordering>> | null = null;
  #readAtMs = 0;

  constructor(store: Store, runtime: Runtime) {
    this.#store = store;
    this.#runtime = runtime;
  }

  /** @throws {StoreUnavailable} */
  async read(): Promise<(pool: string) => Ordering> {
    const nowMs = this.#runtime.monotonicMs();
    if (this.#orders === null || nowMs - this.#readAtMs > FRESH_MS) {
      this.#readAtMs = nowMs;
      this.#orders = this.#fetch();
    }
    const orders = await this.#orders;
    return (pool) => orders.get(pool) ?? defaultPool(pool);
  }

  /** The next one who asks reads them anew: they were changed here. */
  forget(): void {
    this.#orders = null;
  }

  async #fetch(): Promise<ReadonlyMap<string, Ordering>> {
    try {
      const pools = await this.#store.readPools();
      return new Map(pools.map((pool) => [pool.name, pool]));
    } catch (error) {
      // The next submit asks again, rather than fail for the rest of the second.
      this.#orders = null;
      throw error;
    }
  }
}
