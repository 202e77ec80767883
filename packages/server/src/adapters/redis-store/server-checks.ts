import { StoreUnusable } from "../../ports/store-errors.ts";
import type { RedisAnswer, RedisCommand } from "./redis-connection.ts";

type Send = (command: RedisCommand) => Promise<RedisAnswer>;

/** Oldest Redis that has functions. */
const OLDEST_MAJOR = 7;

/** A setting of Redis, whether its value keeps what the store promises, and the sentence behind the value if not. */
const SETTINGS: readonly (readonly [string, (value: string) => boolean, string])[] = [
  ["appendonly", (value) => value === "yes", "must be yes, because memory alone loses every job with the process"],
  [
    "appendfsync",
    (value) => value === "always",
    "must be always, because anything else loses accepted jobs in a crash",
  ],
  ["maxmemory-policy", (value) => value === "noeviction", "must be noeviction, because any other policy drops jobs"],
  ["maxmemory", (value) => value !== "0", "must be a size, because the store keeps a tenth of it for the ends of jobs"],
  [
    "min-replicas-to-write",
    (value) => value === "0",
    "must be 0, because Redis then refuses the ends of jobs while replicas are away",
  ],
];

/**
 * Refuses a server on which the store would not keep its promises.
 * @throws {StoreUnusable} the message names the setting and its value
 */
export async function refuseUnfit(send: Send): Promise<void> {
  const [server, cluster] = await Promise.all([send(["INFO", "server"]), send(["INFO", "cluster"])]);
  const version = /^redis_version:(\S+)/m.exec(String(server))?.[1];
  if (version === undefined) throw new StoreUnusable("MAINSPRING_STORE leads to a server that is no Redis");
  if (Number(version.split(".")[0]) < OLDEST_MAJOR)
    throw new StoreUnusable(`MAINSPRING_STORE leads to a Redis of version ${version}: it must be 7.0 or newer`);
  if (/^cluster_enabled:1/m.test(String(cluster)))
    throw new StoreUnusable(
      "MAINSPRING_STORE leads to a node of a Redis Cluster: it must be a Redis without cluster mode, because a submission is all or nothing over keys of all shards",
    );
  await Promise.all(SETTINGS.map((setting) => refuseSetting(send, ...setting)));
}

async function refuseSetting(send: Send, ...[name, isFit, demand]: (typeof SETTINGS)[number]): Promise<void> {
  const [, answer] = (await send(["CONFIG", "GET", name])) as RedisAnswer[];
  const value = answer === undefined ? "" : String(answer);
  if (!isFit(value))
    throw new StoreUnusable(`MAINSPRING_STORE leads to a Redis with ${name} ${value}: ${name} ${demand}`);
}
