import type pg from "pg";

/**
 * Idle connections of a pool that callers get at once. The pool itself hands a connection out one turn of the event
 * loop later, after all other work of an answer: statements would then leave after the HTTP answers that were written
 * meanwhile.
 */
export class SpareConnections {
  readonly #pool: pg.Pool;
  readonly #spare: pg.PoolClient[] = [];
  readonly #broken = new WeakSet<pg.PoolClient>();

  /** @param pool pool that has opened no connection yet */
  constructor(pool: pg.Pool) {
    this.#pool = pool;
    pool.on("connect", (client) => client.on("error", () => this.#broke(client)));
  }

  /** Number of spare connections, which the pool counts as busy. */
  get count(): number {
    return this.#spare.length;
  }

  /** A spare connection; undefined: there is none, so the caller asks the pool. */
  take(): pg.PoolClient | undefined {
    return this.#spare.pop();
  }

  /** Keeps a connection as spare, unless a caller waits at the pool or the connection is broken. */
  giveBack(client: pg.PoolClient): void {
    const { waitingCount, ending } = this.#pool;
    if (waitingCount > 0 || ending || this.#broken.has(client)) client.release();
    else this.#spare.push(client);
  }

  /** Returns all spare connections to the pool, because a pool that ends waits for them. */
  releaseAll(): void {
    for (const client of this.#spare.splice(0)) client.release();
  }

  /** Drops a broken connection. Its user learns of the failure by the error of the statement. */
  #broke(client: pg.PoolClient): void {
    this.#broken.add(client);
    const at = this.#spare.indexOf(client);
    if (at < 0) return;
    this.#spare.splice(at, 1);
    client.release(true);
  }
}
