import { levelOf } from "../../../domain/cluster/feature-level.ts";
import type { EpochMs } from "../../../domain/ids.ts";
import {
  API_KEYS_MAX,
  type ApiKey,
  type ChangedKey,
  DEAD_KEYS_KEPT_DAYS,
  type KeyOwner,
  type NewApiKey,
  type StoreKeys,
} from "../../../ports/store-keys.ts";
import type { AuditTrail } from "../audit-trail.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { type Change, changeArguments, Versioned, type Write } from "./versioned.ts";

/** Rows of one call. */
const PER_CALL = 500;
const DAY_MS = 86_400_000;
/** Counter of the versions of all keys. */
const COUNTER = "akv";

/** Row of the hash `ak`. The last use is in the hash `aku`. */
interface StoredKey extends NewApiKey {
  revokedAt: EpochMs | null;
  version: number;
}

/** See StoreKeys. */
export function keys(db: RedisConnection, trail: AuditTrail): StoreKeys {
  const versioned = new Versioned(db, trail, COUNTER);
  const own = async (owner: KeyOwner, id: string) => {
    const [key] = await readKeys(db, [id]);
    return key != null && sees(owner, key) ? key : null;
  };
  return {
    version: () => versioned.version(),
    changedSince: (version, limit) => changedSince(db, version, Math.min(limit, PER_CALL)),
    create: (key, note) =>
      versioned.change(async (version) => {
        if (await isFull(db)) return { answer: false, writes: [] };
        return { answer: true, writes: writesOf(created(key, version + 1)), level: levelFor(key) };
      }, note),
    list: async (owner, after, limit) => shownKeys(db, await idsOf(db, owner, after, limit)),
    get: async (owner, id) => ((await own(owner, id)) === null ? null : ((await shownKeys(db, [id]))[0] ?? null)),
    revoke: async (owner, id, now, note) => {
      const revoke = async (version: number): Promise<Change<boolean>> => {
        const key = await own(owner, id);
        if (key === null) return { answer: false, writes: [] };
        const revoked = { ...key, revokedAt: now, version: version + 1 };
        return { answer: true, writes: key.revokedAt === null ? writesOf(revoked) : [] };
      };
      const isThere = await versioned.change(revoke, note, { isEnd: true });
      return isThere ? ((await shownKeys(db, [id]))[0] ?? null) : null;
    },
    rotate: (successor, expiresAt, now, note) =>
      versioned.change(async (version) => {
        const [key] = await readKeys(db, [successor.replaces ?? ""]);
        const isGood = key != null && key.revokedAt === null && (key.expiresAt ?? now + 1) > now;
        if (!isGood || (await isFull(db))) return { answer: false, writes: [] };
        const expiring = { ...key, expiresAt: Math.min(key.expiresAt ?? expiresAt, expiresAt), version: version + 2 };
        const writes = [...writesOf(created(successor, version + 1)), ...writesOf(expiring)];
        return { answer: true, writes, next: version + 2, level: levelFor(successor) };
      }, note),
    used: async (uses) => {
      for (let from = 0; from < uses.length; from += PER_CALL) {
        const part = uses.slice(from, from + PER_CALL);
        await db.fcall(
          "ms_keys_used",
          part.flatMap(({ id, at }) => [id, `${at}`]),
        );
      }
    },
  };
}

/** Revokes every key of a tenant, each with a version of its own. */
export async function revokeKeysOf(
  db: RedisConnection,
  trail: AuditTrail,
  tenant: string,
  now: EpochMs,
): Promise<void> {
  const versioned = new Versioned(db, trail, COUNTER);
  const owner = { tenant, isOperator: false };
  for (let after: string | null = null; ; ) {
    const ids: string[] = await idsOf(db, owner, after, PER_CALL);
    const revoke = async (version: number): Promise<Change<null>> => {
      const living = (await readKeys(db, ids)).filter((key) => key !== null && key.revokedAt === null) as StoredKey[];
      const revoked = living.map((key, i) => ({ ...key, revokedAt: now, version: version + 1 + i }));
      const writes = revoked.flatMap((key): Write[] => [
        ["HSET", "ak", key.id, JSON.stringify(key)],
        ["ZADD", "akc", key.id, `${key.version}`],
      ]);
      return { answer: null, writes, next: version + revoked.length };
    };
    await versioned.change(revoke, undefined, { isEnd: true });
    if (ids.length < PER_CALL) return;
    after = ids.at(-1) as string;
  }
}

/** Removes the keys that died long ago; part of the upkeep. */
export async function forgetKeys(db: RedisConnection, now: EpochMs): Promise<void> {
  const before = now - DEAD_KEYS_KEPT_DAYS * DAY_MS;
  const isOld = ({ revokedAt, expiresAt }: StoredKey) => (revokedAt ?? now) < before || (expiresAt ?? now) < before;
  for (let cursor = "0"; ; ) {
    const [known] = await db.call([["GET", db.key(COUNTER)]]);
    const [page] = await db.call([["HSCAN", db.key("ak"), cursor, "COUNT", `${PER_CALL}`]]);
    const [next, fields] = page as [Buffer, Buffer[]];
    const old = fields.filter((_, i) => i % 2 === 1).map((text) => JSON.parse(String(text)) as StoredKey);
    const writes = old.filter(isOld).flatMap(removalOf);
    const version = Number(known ?? 0);
    const args = changeArguments(COUNTER, version, { answer: null, writes, next: version });
    // Another change came between: the page is read again.
    if (writes.length > 0 && (await db.durably("ms_change_end", [...args, "0"])) !== 1) continue;
    cursor = String(next);
    if (cursor === "0") return;
  }
}

function removalOf({ id, tenant }: StoredKey): Write[] {
  return [
    ["HDEL", "ak", id, ""],
    ["HDEL", "aku", id, ""],
    ["ZREM", "akc", id, ""],
    ["ZREM", listName(tenant), id, ""],
  ];
}

function created(key: NewApiKey, version: number): StoredKey {
  return { ...key, revokedAt: null, version };
}

export function writesOf(key: StoredKey): Write[] {
  return [
    ["HSET", "ak", key.id, JSON.stringify(key)],
    ["ZADD", "akc", key.id, `${key.version}`],
    ["ZADD", listName(key.tenant), key.id, "0"],
  ];
}

/** Programs without API keys would let everybody in, and those without certificates of workers would ask for none. */
function levelFor({ certificateId }: NewApiKey): number {
  return levelOf(certificateId === null ? "API_KEYS" : "WORKER_CERTIFICATES");
}

/** Name of the ordered ids of a tenant's keys. The keys of operators have the name without a tenant. */
function listName(tenant: string | null): string {
  return `ako${tenant ?? ""}`;
}

function sees({ tenant, isOperator }: KeyOwner, key: StoredKey): boolean {
  return key.tenant === tenant || (isOperator && key.tenant === null);
}

async function isFull(db: RedisConnection): Promise<boolean> {
  const [count] = await db.call([["HLEN", db.key("ak")]]);
  return Number(count) >= API_KEYS_MAX;
}

async function idsOf(db: RedisConnection, owner: KeyOwner, after: string | null, limit: number): Promise<string[]> {
  const lists = [listName(owner.tenant), ...(owner.isOperator ? [listName(null)] : [])];
  const from = after === null ? "-" : `(${after}`;
  const found = await db.call(
    lists.map((list) => ["ZRANGE", db.key(list), from, "+", "BYLEX", "LIMIT", "0", `${limit}`]),
  );
  const ids = found.flatMap((members) => (members as Buffer[]).map(String));
  return ids.sort().slice(0, limit);
}

async function readKeys(db: RedisConnection, ids: readonly string[]): Promise<(StoredKey | null)[]> {
  const texts = await textsOf(db, "ak", ids);
  return texts.map((text) => (text === null ? null : (JSON.parse(text) as StoredKey)));
}

async function shownKeys(db: RedisConnection, ids: readonly string[]): Promise<ApiKey[]> {
  const [found, uses] = await Promise.all([readKeys(db, ids), textsOf(db, "aku", ids)]);
  return found.flatMap((key, i) => {
    if (key === null) return [];
    const { hash: _hash, version: _version, ...shown } = key;
    return [{ ...shown, lastUsedAt: uses[i] == null ? null : Number(uses[i]) }];
  });
}

async function textsOf(db: RedisConnection, hash: string, ids: readonly string[]): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const [part] = await db.call([["HMGET", db.key(hash), ...ids.slice(from, from + PER_CALL)]]);
    found.push(...(part as (Buffer | null)[]).map((text) => (text === null ? null : String(text))));
  }
  return found;
}

/** A key that changes between the two reads would hide those of the versions before it, so the page is then read again. */
async function changedSince(db: RedisConnection, version: number, limit: number): Promise<ChangedKey[]> {
  for (;;) {
    const asked: RedisArgument[] = [`(${version}`, "+inf", "BYSCORE", "LIMIT", "0", `${limit}`, "WITHSCORES"];
    const [answer] = await db.call([["ZRANGE", db.key("akc"), ...asked]]);
    const texts = (answer as Buffer[]).map(String);
    const ids = texts.filter((_, i) => i % 2 === 0);
    const found = await readKeys(db, ids);
    const isSame = found.every((key, i) => key === null || key.version === Number(texts[2 * i + 1]));
    if (isSame) return found.flatMap((key) => (key === null ? [] : [changedKey(key)]));
  }
}

function changedKey(key: StoredKey): ChangedKey {
  const { id, tenant, kind, scopes, pools, certificateId, expiresAt, hash, replaces, revokedAt, version } = key;
  return { id, tenant, kind, scopes, pools, certificateId, expiresAt, hash, replaces, revokedAt, version };
}
