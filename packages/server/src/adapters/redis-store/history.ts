import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import { chunked } from "../../ports/chunks.ts";
import { INSTANT_MAX, instantBytes } from "./bytes.ts";
import type { PausedCall } from "./events/event-sinks.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { forgetNodes } from "./runs/run-upkeep.ts";

/** Seconds of ids that are removed together, so that tenants lose rows of the same time. */
const WINDOW_SEC = 10;
/** Rows that one call looks at, as the library has it. */
export const PER_CALL = 500;
/** Commands of one read. */
const COMMANDS = { count: 500, bytes: Number.POSITIVE_INFINITY };
/** Time in ms for which one node removes rows after its last call. */
const TURN_MS = 60_000;

/** Ids of the executions of a tenant by the second in them, and the function that removes rows among them. */
interface Ids {
  key: string;
  name: string;
  tenant: string;
}

/** Bound of the final executions in the memory of Redis. Dead letters are no part of it. */
export class History {
  readonly #db: RedisConnection;
  readonly #call: PausedCall;
  readonly #node: Incarnation;
  /** Second up to which nothing was left to remove. */
  #from = 0;

  constructor(db: RedisConnection, call: PausedCall, node: Incarnation) {
    this.#db = db;
    this.#call = call;
    this.#node = node;
  }

  /** Looks at all rows again, because some of those that were open have ended. */
  beginAgain(): void {
    this.#from = 0;
  }

  /**
   * Removes the oldest final executions by their ids until there are `most`, unless another node does. Runs go with their nodes.
   * @param keepDeadFrom dead letters that ended before this instant go, too
   * @throws {StoreUnavailable}
   */
  async trim(now: EpochMs, most: number, keepDeadFrom: EpochMs): Promise<void> {
    if ((await this.#excess(most)) <= 0 || !(await this.#takeTurn("NX"))) return;
    try {
      await this.#walk(now, most, keepDeadFrom);
    } finally {
      await this.#db.call([["UNLINK", this.#db.key("hl")]]);
    }
  }

  async #walk(now: EpochMs, most: number, keepDeadFrom: EpochMs): Promise<void> {
    const untilSec = Math.floor(now / 1_000);
    const [tenants] = await this.#db.call([["SMEMBERS", this.#db.key("xt")]]);
    const all = (tenants as Buffer[]).map(String).flatMap((tenant): Ids[] => [
      { key: `xb${tenant}`, name: "ms_retire", tenant },
      { key: `yb${tenant}`, name: "ms_retire_later", tenant },
    ]);
    while (this.#from < untilSec) {
      const heads = await this.#heads(all);
      const first = Math.min(...heads);
      const next = first + WINDOW_SEC;
      for (const [i, ids] of all.entries())
        if ((heads[i] as number) < next && (await this.#remove(ids, next, { most, keepDeadFrom })) <= 0) return;
      this.#from = Math.min(next, untilSec);
    }
  }

  /** Removes rows of a tenant with ids before a second. @returns rows beyond the bound that are left */
  async #remove(
    { key, name, tenant }: Ids,
    beforeSec: number,
    { most, keepDeadFrom }: { most: number; keepDeadFrom: EpochMs },
  ): Promise<number> {
    const [seconds] = await this.#db.call([["ZRANGE", this.#db.key(key), `${this.#from}`, `(${beforeSec}`, "BYSCORE"]]);
    const instants = [instantBytes(INSTANT_MAX), instantBytes(keepDeadFrom)];
    let excess = await this.#excess(most);
    for (const second of (seconds as Buffer[]).map(String))
      for (let ids: number | null = null, seen = 0; excess > 0 && seen < (ids ?? 1); seen += PER_CALL) {
        const before = Number(await this.#call(name, [tenant, second, ...instants, `${excess}`]));
        // Later calls see the ids that this one has not seen.
        ids ??= before;
        await this.#takeTurn("XX");
        await forgetNodes(this.#db, this.#call);
        excess = await this.#excess(most);
      }
    return excess;
  }

  /** Oldest seconds that the lists have from `#from` on; infinite: a list has none. */
  async #heads(all: readonly Ids[]): Promise<number[]> {
    const heads: number[] = [];
    for (const part of chunked(all, COMMANDS, () => ({ count: 1, bytes: 0 }))) {
      const answers = await this.#db.call(
        part.map(({ key }) => ["ZRANGE", this.#db.key(key), `${this.#from}`, "+inf", "BYSCORE", "LIMIT", "0", "1"]),
      );
      for (const answer of answers) heads.push(Number((answer as Buffer[])[0] ?? Number.POSITIVE_INFINITY));
    }
    return heads;
  }

  async #excess(most: number): Promise<number> {
    const [count] = await this.#db.call([["GET", this.#db.key("hn")]]);
    return Number(count ?? 0) - most;
  }

  /** Takes the turn to remove rows (NX), or keeps it (XX). @returns whether the node has it */
  async #takeTurn(condition: "NX" | "XX"): Promise<boolean> {
    const [answer] = await this.#db.call([["SET", this.#db.key("hl"), this.#node, condition, "PX", `${TURN_MS}`]]);
    return answer !== null;
  }
}
