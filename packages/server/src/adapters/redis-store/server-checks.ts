import { StoreUnavailable, StoreUnusable } from "../../ports/store-errors.ts";
import { LIBRARY } from "./library.ts";
import { type RedisAnswer, type RedisCommand, RIGHTS } from "./redis-connection.ts";

type Send = (command: RedisCommand) => Promise<RedisAnswer>;

/** Largest number of commands that a message names. */
const LACKING_NAMED = 10;
/** Oldest Redis that has functions. */
const OLDEST_MAJOR = 7;

/** Setting that a relaxed durability leaves free. */
const RELAXABLE = "appendfsync";

/** A setting of Redis, whether its value keeps what the store promises, and the sentence behind the value if not. */
const SETTINGS: readonly (readonly [string, (value: string) => boolean, string])[] = [
  ["appendonly", (value) => value === "yes", "must be yes, because memory alone loses every job with the process"],
  [
    "appendfsync",
    (value) => value === "always",
    "must be always, because anything else loses accepted jobs in a crash, unless MAINSPRING_REDIS_DURABILITY is relaxed",
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
 * @param isRelaxed whether Redis may write its file later than it answers
 * @throws {StoreUnusable} the message names the setting and its value
 * @throws {StoreUnavailable} a failover is under way, or Redis loads its file
 */
export async function refuseUnfit(send: Send, isRelaxed: boolean): Promise<void> {
  const sections = ["server", "cluster", "replication", "persistence"] as const;
  const infos = await Promise.all(sections.map(async (section) => String(await send(["INFO", section]))));
  const info = infos.join("\n");
  const fault = serverFault(info);
  if (fault !== null) throw new StoreUnusable(`MAINSPRING_STORE leads to ${fault}`);
  const wait = reasonToWait(info);
  if (wait !== null) throw new StoreUnavailable(wait, { isUnasked: true });
  const settings = SETTINGS.filter(([name]) => !isRelaxed || name !== RELAXABLE);
  await Promise.all(settings.map((setting) => refuseSetting(send, ...setting)));
}

/**
 * Reason why a server cannot be the store, by its version, mode and role.
 * @param info answer of Redis to INFO
 * @returns continues "MAINSPRING_STORE leads to"; null: there is none
 */
export function serverFault(info: string): string | null {
  const version = /^redis_version:(\S+)/m.exec(info)?.[1];
  if (version === undefined) return "a server that is no Redis";
  if (Number(version.split(".")[0]) < OLDEST_MAJOR) return `a Redis of version ${version}: it must be 7.0 or newer`;
  if (/^cluster_enabled:1/m.test(info))
    return "a node of a Redis Cluster: it must be a Redis without cluster mode, because a submission is all or nothing over keys of all shards";
  return /^role:slave/m.test(info) && reasonToWait(info) === null
    ? "a replica of Redis: name the primary, which alone takes writes"
    : null;
}

/**
 * Reason why a server may become the store soon: it loads its file, or is a replica that may be promoted.
 * @param info answer of Redis to INFO
 * @returns null: there is none
 */
function reasonToWait(info: string): string | null {
  if (/^loading:1/m.test(info)) return "Redis still loads its data";
  return /^master_link_status:down/m.test(info) ? "Redis is a replica without its primary" : null;
}

/** Commands that the library calls, and those that the adapter alone calls on keys. */
const COMMANDS = new Set([
  ...Array.from(LIBRARY.matchAll(/\bcall\('([A-Z]+)'/g), ([, command = ""]) => command),
  ...["HSCAN", "ZLEXCOUNT", "ZMSCORE"],
]);

/**
 * Refuses a user that lacks commands or keys, which would fail long after the start.
 * @throws {StoreUnusable} the message names the commands
 */
export async function refuseRightless(send: Send, prefix: string): Promise<void> {
  const lacking = (await send(["FCALL", "ms_rights", "1", `${prefix}:`, ...COMMANDS])) as RedisAnswer[];
  if (lacking.length === 0) return;
  const named = lacking.map(String).slice(0, LACKING_NAMED).join(", ");
  throw new StoreUnusable(`MAINSPRING_STORE ${RIGHTS}: it may not call ${named} on keys that begin with ${prefix}:`);
}

async function refuseSetting(send: Send, ...[name, isFit, demand]: (typeof SETTINGS)[number]): Promise<void> {
  const [, answer] = (await send(["CONFIG", "GET", name])) as RedisAnswer[];
  const value = answer === undefined ? "" : String(answer);
  if (!isFit(value))
    throw new StoreUnusable(`MAINSPRING_STORE leads to a Redis with ${name} ${value}: ${name} ${demand}`);
}
