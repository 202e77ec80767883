import type { ChangedPool, Pool, PoolSettings } from "./operator-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/** Pools: the order and placement of their work. Every method throws `MainspringError`. */
export class Pools {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Lists pools that have settings or workers, ordered by name. */
  list(): AsyncGenerator<Pool, void, undefined> {
    return this.#requests.pages<Pool>("/v1/pools", {});
  }

  /** Reads a pool. A pool without settings has the defaults. */
  get(name: string, options: ReadOptions = {}): Promise<Pool> {
    return this.#requests.get(pathOf(name), options);
  }

  /**
   * Changes settings of a pool. Absent fields keep their value. When the promise resolves, every server applies the
   * change, except those in `unconfirmedBy`.
   */
  set(name: string, settings: PoolSettings, options: ReadOptions = {}): Promise<ChangedPool> {
    return this.#requests.send("PUT", pathOf(name), settings, true, options);
  }

  /**
   * Pauses a pool. When the promise resolves, no server assigns anything more of the pool, except those in
   * `unconfirmedBy`. Executions that were assigned before run on, including those that have not started.
   */
  pause(name: string, options: ReadOptions = {}): Promise<ChangedPool> {
    return this.set(name, { paused: true }, options);
  }

  resume(name: string, options: ReadOptions = {}): Promise<ChangedPool> {
    return this.set(name, { paused: false }, options);
  }
}

function pathOf(name: string): string {
  return `/v1/pools/${encodeURIComponent(name)}`;
}
