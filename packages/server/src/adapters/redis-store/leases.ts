import type { Incarnation } from "../../domain/ids.ts";
import {
  type KnownNode,
  type Leases,
  LeasesUnavailable,
  type NodeLease,
  type NodeProfile,
} from "../../ports/leases.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Leases in the store's own Redis, judged by the clock of Redis. */
export function redisLeases(db: RedisConnection): Leases {
  return {
    renew: (node, ttlMs) => orUnavailable(() => renew(db, node, ttlMs)),
    release: (node) => orUnavailable(async () => void (await db.call([["HDEL", db.key("no"), node]]))),
    list: () => orUnavailable(() => list(db)),
    drain: (node, isDraining) => orUnavailable(() => drain(db, node, isDraining)),
  };
}

async function renew(db: RedisConnection, profile: NodeProfile, ttlMs: number): Promise<NodeLease[]> {
  const { wasDraining = false, ...told } = profile;
  const args = [told.incarnation, `${ttlMs}`, wasDraining ? "1" : "0", JSON.stringify(told)];
  const texts = ((await db.fcall("ms_renew", args)) as Buffer[]).map(String);
  return Array.from({ length: texts.length / 3 }, (_, i) => leaseOf(texts.slice(3 * i, 3 * i + 3)));
}

async function list(db: RedisConnection): Promise<KnownNode[]> {
  const texts = ((await db.fcall("ms_leases", [])) as Buffer[]).map(String);
  const known = Array.from({ length: texts.length / 4 }, (_, i) => {
    const [lasts, ...lease] = texts.slice(4 * i, 4 * i + 4);
    return { ...leaseOf(lease), isLiving: lasts === "1" };
  });
  return known.sort((a, b) => (a.name === b.name ? a.startedAt - b.startedAt : a.name < b.name ? -1 : 1));
}

async function drain(db: RedisConnection, node: Incarnation, isDraining: boolean): Promise<boolean> {
  return (await db.durably("ms_drain", [node, isDraining ? "1" : "0"])) === 1;
}

function leaseOf([ageMs, draining, text = ""]: readonly string[]): NodeLease {
  const { reaches = null, hasSecret = false, ...profile } = JSON.parse(text) as NodeProfile;
  return { ...profile, hasSecret, reaches, renewedAgoMs: Number(ageMs), draining: draining === "1" };
}

async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw new LeasesUnavailable("Redis did not answer about the nodes' leases", { cause });
  }
}
