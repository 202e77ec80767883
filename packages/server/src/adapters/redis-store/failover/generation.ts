import { lostAttempts } from "../../../domain/lost-attempts.ts";
import type { Recovered } from "../../../ports/store.ts";
import { StoreUnavailable } from "../../../ports/store-errors.ts";
import type { RedisConnection } from "../redis-connection.ts";

/**
 * Generation that the connections of a store share: the replication id of the server, the number of changes of it, and the time of the
 * last one in ms. A change may have lost writes, so all connections of before end, and with them the takeovers.
 */
export class Generation {
  #known = "";
  readonly #connections: RedisConnection[] = [];

  /** Newest generation that this process has known; empty: none. */
  get known(): string {
    return this.#known;
  }

  /** Adds the attempts that the store may have given out and lost. */
  tellLost(recovered: Recovered): Recovered {
    const { number, since } = fieldsOf(this.#known);
    const lost = lostAttempts(number, since);
    return lost === null ? recovered : { ...recovered, lostAttempts: lost };
  }

  add(connection: RedisConnection): RedisConnection {
    this.#connections.push(connection);
    return connection;
  }

  /**
   * Notes the generation under which a connection was opened.
   * @throws {StoreUnavailable} another connection has known a later one meanwhile
   */
  opened(generation: string): string {
    if (generation === this.#known) return generation;
    if (this.#known !== "" && fieldsOf(generation).number <= fieldsOf(this.#known).number)
      throw new StoreUnavailable("Redis leads to a server of an earlier generation", { isUnasked: true });
    this.#known = generation;
    for (const connection of this.#connections) connection.endUnless(generation);
    return generation;
  }
}

function fieldsOf(generation: string): { number: number; since: number } {
  const [, number = "0", since = "0"] = generation.split(" ");
  return { number: Number(number), since: Number(since) };
}
