import type { RedisFigures } from "../../ports/redis-figures.ts";
import { MEMORY_SHARE, type RedisConnection } from "./redis-connection.ts";

/**
 * Reads the figures of a server, which may be a replica.
 * @throws {StoreUnavailable}
 */
export async function readFigures(db: RedisConnection): Promise<RedisFigures> {
  const answers = await db.call([
    ["INFO", "memory"],
    ["INFO", "replication"],
    ["GET", db.key("generation")],
    ["GET", db.key("hn")],
  ]);
  const [memory, replication, generation = null, rows] = answers.map((one) => (one === null ? null : String(one)));
  return { ...figuresOf(`${memory}\n${replication}`, generation), historyRows: Number(rows ?? 0) };
}

/**
 * @param info answer of Redis to INFO, with its sections memory and replication
 * @param generation as the store keeps it: an id, a number and a time; null: none
 */
export function figuresOf(info: string, generation: string | null): Omit<RedisFigures, "historyRows"> {
  const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  const offset = figure("master_repl_offset");
  const lags = Array.from(info.matchAll(/^slave\d+:.*\bstate=online,offset=(\d+)/gm), ([, at]) => offset - Number(at));
  return {
    usedBytes: figure("used_memory"),
    maxBytes: figure("maxmemory"),
    refusalShare: MEMORY_SHARE,
    role: /^role:slave/m.test(info) ? "replica" : "primary",
    replicas: lags.length,
    lagBytes: lags.length === 0 ? null : Math.max(0, ...lags),
    generation: generation === null ? null : Number(generation.split(" ")[1]),
  };
}
