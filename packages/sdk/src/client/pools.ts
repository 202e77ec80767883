import type { ChangedPool, Pool, PoolSettings } from "./operator-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/** Queues, and how their work is ordered and placed. Every method throws `MainspringError`. */
export class Pools {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Pools that have settings or workers, by name. */
  list(): AsyncGenerator<Pool, void, undefined> {
    return this.#requests.pages<Pool>("/v1/pools", {});
  }

  /** One that nobody has set up has the defaults. */
  get(name: string, options: ReadOptions = {}): Promise<Pool> {
    return this.#requests.get(pathOf(name), options);
  }

  /**
   * A field that is left out keeps its value. Every server goes by the change when this resolves, but for those in
   * `unconfirmedBy`.
   */
  set(name: string, settings: PoolSettings, options: ReadOptions = {}): Promise<ChangedPool> {
    return this.#requests.send("PUT", pathOf(name), settings, true, options);
  }

  /**
   * Nothing more of it is assigned when this resolves, but by servers in `unconfirmedBy`. Executions that were assigned
   * before run on, including those that have not started.
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
