import type { Pool } from "../../domain/pool.ts";
import type { Store } from "../../ports/store.ts";
import { sharedRun } from "../shared-run.ts";

/**
 * The pool settings that this node's machine uses. Several reads may overlap: a result counts only if no read that
 * began later has ended before, so the settings never go back.
 */
export class PoolReader {
  readonly #store: Pick<Store, "readPools">;
  readonly #changed: (pools: readonly Pool[]) => void;
  #begun = 0;
  /** Number of the read that returned `known`. */
  #newest = 0;
  #known: readonly Pool[] = [];
  /**
   * Reads the settings. Resolves when a read that began after the call has ended; calls during a read share the next
   * one.
   * @throws {StoreUnavailable}
   */
  readonly refresh: () => Promise<void>;

  /** @param changed called with each result that counts */
  constructor(store: Pick<Store, "readPools">, changed: (pools: readonly Pool[]) => void) {
    this.#store = store;
    this.#changed = changed;
    this.refresh = sharedRun(() => this.read());
  }

  get known(): readonly Pool[] {
    return this.#known;
  }

  /** Registers a read that begins now. @returns a function that takes the result of the read */
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
