import type { Pool } from "../../domain/pool.ts";
import type { Store } from "../../ports/store.ts";
import { sharedRun } from "../shared-run.ts";

/**
 * The settings of all pools as this node's machine goes by them. Several reads may be under way at once: a result counts
 * only if no read that began later has ended before it, so the settings never go back.
 */
export class PoolReader {
  readonly #store: Pick<Store, "readPools">;
  readonly #changed: (pools: readonly Pool[]) => void;
  #begun = 0;
  /** The read that `known` is from. */
  #newest = 0;
  #known: readonly Pool[] = [];
  /**
   * Resolves when a read that began after this call has ended. Calls that come while a read is under way share the next one.
   * @throws {StoreUnavailable}
   */
  readonly refresh: () => Promise<void>;

  /** @param changed called with every result that counts */
  constructor(store: Pick<Store, "readPools">, changed: (pools: readonly Pool[]) => void) {
    this.#store = store;
    this.#changed = changed;
    this.refresh = sharedRun(() => this.read());
  }

  get known(): readonly Pool[] {
    return this.#known;
  }

  /** @returns takes the result of a read that begins now */
  begin(): (pools: readonly Pool[]) => void {
    const read = ++this.#begun;
    return (pools) => {
      if (read < this.#newest) return;
      this.#newest = read;
      this.#known = pools;
      this.#changed(pools);
    };
  }

  /** @throws {StoreUnavailable} */
  async read(): Promise<void> {
    const end = this.begin();
    end(await this.#store.readPools());
  }
}
