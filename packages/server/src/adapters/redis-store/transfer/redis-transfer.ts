import { FEATURE_LEVEL } from "../../../domain/cluster/feature-level.ts";
import type { Epoch } from "../../../domain/ids.ts";
import { StoreUnusable } from "../../../ports/store-errors.ts";
import {
  markOf,
  markText,
  type StoreTransfer,
  type TransferCounters,
  type TransferKind,
  type TransferMark,
  type TransferRows,
} from "../../../ports/store-transfer.ts";
import { Kinds } from "../kinds.ts";
import { redisLeases } from "../leases.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { readShards } from "../shards.ts";
import { executions, signals, steps } from "./execution-kinds.ts";
import { jobs, payloads, plans, skips } from "./job-kinds.ts";
import type { KindInRedis, Place } from "./kind.ts";
import { PLAIN_KINDS } from "./plain-kinds.ts";
import { graphs, parts, runs } from "./run-kinds.ts";
import { namesOf } from "./scan.ts";
import { deliveries, webhooks } from "./webhook-kinds.ts";

const KINDS: { readonly [K in TransferKind]: KindInRedis<K> } = {
  ...{ ...PLAIN_KINDS, jobs, payloads, plans, skips, executions, steps, signals, graphs, runs, parts },
  ...{ webhooks, deliveries },
};

/** Names of keys that a store has before the first row. */
const OPENING: ReadonlySet<string> = new Set([
  "format",
  "needs_level",
  "tv",
  "generation",
  "sh",
  "cl",
  "no",
  "mark",
  "mark:level",
]);
/** Keys that hold what has no place in another store, each with the command that counts it. */
const UNMOVABLE = [
  ["runs over dead letters that have not ended: wait for their end", "ZCARD", "dro"],
  ["runs over executions that have not ended: wait for their end, or stop them", "ZCARD", "ero"],
] as const;
/** Level that no program has, so that also programs that know no mark refuse the store. */
export const BEYOND_LEVEL = 1_000_000;

/** A store on Redis as one side of a transfer. See StoreTransfer. */
export class RedisTransfer implements StoreTransfer {
  readonly name: string;
  readonly #place: Place;
  readonly #close: () => Promise<void>;

  constructor(name: string, db: RedisConnection, close: () => Promise<void>) {
    this.name = name;
    this.#place = { db, kinds: new Kinds(db) };
    this.#close = close;
  }

  get #db(): RedisConnection {
    return this.#place.db;
  }

  async mark(): Promise<TransferMark | null> {
    const [text] = await this.#db.call([["GET", this.#db.key("mark")]]);
    return text == null ? null : markOf(String(text));
  }

  async setMark(mark: TransferMark | null): Promise<void> {
    const { level } = await this.counters();
    const former = this.#db.key("mark:level");
    // The level of before comes back with the end of the mark.
    if (mark !== null) await this.#db.call([["SET", former, `${level}`]]);
    const needed = mark === null ? level : BEYOND_LEVEL;
    await this.#db.durably("ms_mark", [mark === null ? "" : markText(mark), `${needed}`]);
    if (mark === null) await this.#db.call([["DEL", former]]);
  }

  async isEmpty(): Promise<boolean> {
    for await (const names of namesOf(this.#db, "*", null)) if (names.some(isRow)) return false;
    return true;
  }

  async empty(): Promise<void> {
    for await (const names of namesOf(this.#db, "*", null)) {
      const rows = names.filter(isRow).map((name) => this.#db.key(name));
      if (rows.length > 0) await this.#db.call([["UNLINK", ...rows]]);
    }
  }

  async unmovable() {
    for (const [what, command, name] of UNMOVABLE) {
      const [count] = await this.#db.call([[command, this.#db.key(name)]]);
      if (Number(count) > 0) return { what, count: Number(count) };
    }
    return null;
  }

  async leftBehind(): Promise<Readonly<Record<string, number>>> {
    const shards = (await readShards(this.#db)).map(({ shard }) => this.#db.key(`ev${shard}`));
    const counts = await this.#db.call(shards.map((key) => ["XLEN", key]));
    return { "commits with lifecycle events": counts.reduce((sum: number, count) => sum + Number(count), 0) };
  }

  rows<K extends TransferKind>(kind: K): AsyncIterable<TransferRows[K][]> {
    return KINDS[kind].rows(this.#place);
  }

  unfit<K extends TransferKind>(kind: K, row: TransferRows[K]): string | null {
    return KINDS[kind].unfit?.(row) ?? null;
  }

  async write<K extends TransferKind>(kind: K, rows: readonly TransferRows[K][]): Promise<void> {
    await this.#db.refuseUnwritable();
    await KINDS[kind].write(this.#place, rows);
  }

  async counters(): Promise<TransferCounters> {
    const [values] = await this.#db.call([
      ["MGET", ...["tv", "akv", "mark:level", "needs_level"].map((name) => this.#db.key(name))],
    ]);
    const [tenants, keys, former, level] = values as (Buffer | null)[];
    return { tenants: Number(tenants ?? 1), keys: Number(keys ?? 0), level: Number(former ?? level ?? FEATURE_LEVEL) };
  }

  async setCounters({ tenants, keys, level }: TransferCounters): Promise<void> {
    const needed = Math.max(level, (await this.counters()).level);
    await this.#db.call([
      ["SET", this.#db.key("tv"), `${tenants}`],
      ["SET", this.#db.key("akv"), `${keys}`],
      ["SET", this.#db.key("mark:level"), `${needed}`],
    ]);
  }

  async epochs(): Promise<Epoch[]> {
    return (await readShards(this.#db)).map(({ epoch }) => epoch);
  }

  async raiseEpochs(above: readonly Epoch[]): Promise<void> {
    await this.#db.durably("ms_raise_epochs", above.map(String));
  }

  async close(): Promise<void> {
    await this.#close();
  }
}

function isRow(name: Buffer): boolean {
  return !OPENING.has(name.toString("latin1"));
}

/** @throws {StoreUnusable} a node has a lease */
export async function refuseLiving(db: RedisConnection): Promise<void> {
  const living = (await redisLeases(db).list()).find(({ isLiving }) => isLiving);
  if (living !== undefined)
    throw new StoreUnusable(
      `The node ${living.name} has a lease in the Redis: stop all servers of the store, and run this again. Nothing was changed.`,
    );
}
