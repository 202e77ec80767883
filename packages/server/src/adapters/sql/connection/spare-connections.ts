import type pg from "pg";

/**
 * Connections of a pool that nobody uses, within reach. A pool hands its own out a turn later, when all else that came of an
 * answer is done: statements would leave after the HTTP answers that were written meanwhile.
 */
export class SpareConnections {
  readonly #pool: pg.Pool;
  readonly #spare: pg.PoolClient[] = [];
  readonly #broken = new WeakSet<pg.PoolClient>();

  /** @param pool has opened no connection yet */
  constructor(pool: pg.Pool) {
    this.#pool = pool;
    pool.on("connect", (client) => client.on("error", () => this.#broke(client)));
  }

  /** The pool takes them for busy. */
  get count(): number {
    return this.#spare.length;
  }

  /** Undefined where there is none: the pool has to be asked. */
  take(): pg.PoolClient | undefined {
    return this.#spare.pop();
  }

  /** Keeps it, unless somebody waits for one at the pool, or it is of no more use. */
  giveBack(client: pg.PoolClient): void {
    const { waitingCount, ending } = this.#pool;
    if (waitingCount > 0 || ending || this.#broken.has(client)) client.release();
    else this.#spare.push(client);
  }

  /** A pool that ends waits for them. */
  releaseAll(): void {
    for (const client of this.#spare.splice(0)) client.release();
  }

  /** The user of the connection hears of the failure by the error of the statement. */
  #broke(client: pg.PoolClient): void {
    this.#broken.add(client);
    const at = this.#spare.indexOf(client);
    if (at < 0) return;
    this.#spare.splice(at, 1);
    client.release(true);
  }
}
