import type { ApiKeyKind, Scope } from "@mainspring/contract/enums";
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
import type { AuditTrail } from "../audit/audit-trail.ts";
import { RAISE_WORKER_CERTIFICATES, type RaisedLevels } from "../commit/raised-levels.ts";
import { int8s, uuids } from "../connection/arrays.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";

const COLUMNS = `id, tenant, kind, array_to_json(scopes)::text, array_to_json(pools)::text, name, hint, created_at, created_by, expires_at,
  revoked_at, last_used_at, replaces, certificate_id`;

/** Keys that the caller may see: $1 is its tenant, $2 whether it is an operator. */
const SEEN = "(tenant = $1 OR ($2::boolean AND tenant IS NULL))";

const VERSION = "SELECT version FROM api_keys_version";

/** The row of the version is locked until the end of the transaction, so changes become visible in the order of their versions. */
const RAISE = "v AS (UPDATE api_keys_version SET version = version + 1 RETURNING version)";

const CHANGED = `SELECT id, tenant, kind, array_to_json(scopes)::text, array_to_json(pools)::text, expires_at, encode(hash, 'base64'),
  revoked_at, version, replaces, certificate_id FROM api_keys WHERE version > $1 ORDER BY version LIMIT $2`;

const CREATE = `
  WITH ${RAISE}
  INSERT INTO api_keys (id, tenant, kind, scopes, pools, name, hint, created_at, created_by, expires_at, replaces, hash, certificate_id, version)
  SELECT $1, $2, $3, ARRAY(SELECT json_array_elements_text($4::json)), ARRAY(SELECT json_array_elements_text($5::json)),
    $6, $7, $8, $9, $10, $11::uuid, decode($12, 'base64'), $13::uuid, v.version
  FROM v WHERE (SELECT count(*) FROM api_keys) < ${API_KEYS_MAX} RETURNING id`;

const LIST = `SELECT ${COLUMNS} FROM api_keys WHERE ${SEEN} AND ($3::uuid IS NULL OR id > $3) ORDER BY id LIMIT $4`;
const GET = `SELECT ${COLUMNS} FROM api_keys WHERE ${SEEN} AND id = $3`;

const REVOKE = `
  WITH ${RAISE}
  UPDATE api_keys k SET revoked_at = $4, version = v.version FROM v WHERE ${SEEN} AND id = $3 AND revoked_at IS NULL RETURNING id`;

const OUTDATE = `
  WITH ${RAISE}
  UPDATE api_keys k SET expires_at = least(coalesce(expires_at, $2), $2), version = v.version FROM v
  WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3) RETURNING id`;

const USED = `
  UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
  FROM unnest($1::uuid[], $2::bigint[]) u (id, at) WHERE k.id = u.id`;

const FORGET = "DELETE FROM api_keys WHERE revoked_at < $1 OR expires_at < $1";
const DAY_MS = 86_400_000;

/** See StoreKeys. */
export function keys(db: Connections, levels: RaisedLevels, trail: AuditTrail): StoreKeys {
  return {
    version: async () => Number((await db.run("read", { name: "keys_version", text: VERSION }))[0]?.[0]),
    changedSince: async (version, limit) =>
      (await db.run("query", { text: CHANGED, values: [version, limit] })).map(changedFrom),
    create: async (key, note) => {
      await levels.raise("API_KEYS");
      return await trail.transaction("query", note, (session) => insert(session, key), isTrue);
    },
    list: async ({ tenant, isOperator }, after, limit) =>
      (await db.run("query", { text: LIST, values: [tenant, isOperator, after, limit] })).map(keyFrom),
    get: async (owner, id) => await read(db, owner, id),
    revoke: async (owner, id, now, note) => {
      await trail.run("query", note, { text: REVOKE, values: [owner.tenant, owner.isOperator, id, now] });
      return await read(db, owner, id);
    },
    rotate: async (successor, expiresAt, now, note) => {
      await levels.raise("API_KEYS");
      const replace = async (session: Session) => {
        const values = [successor.replaces, expiresAt, now];
        if ((await session.run({ text: OUTDATE, values })).length === 0) return false;
        if (await insert(session, successor)) return true;
        throw new NoRoom();
      };
      return await trail.transaction("query", note, replace, isTrue).catch(falseIfNoRoom);
    },
    used: async (uses) => {
      if (uses.length === 0) return;
      const values = [uuids(uses, ({ id }) => id), int8s(uses, ({ at }) => at)];
      await db.run("query", { text: USED, values });
    },
  };
}

function isTrue(answer: boolean): boolean {
  return answer;
}

/** Rolls a transaction back, because there is no room for another key. */
class NoRoom extends Error {}

function falseIfNoRoom(error: unknown): false {
  if (error instanceof NoRoom) return false;
  throw error;
}

async function insert(session: Session, key: NewApiKey): Promise<boolean> {
  const { id, tenant, kind, createdAt, createdBy, expiresAt, certificateId } = key;
  const rights = [JSON.stringify(key.scopes), JSON.stringify(key.pools)];
  const made = [createdAt, createdBy, expiresAt, key.replaces];
  const values = [id, tenant, kind, ...rights, key.name, key.hint, ...made, key.hash, certificateId];
  if (certificateId !== null) await session.run(RAISE_WORKER_CERTIFICATES);
  return (await session.run({ text: CREATE, values })).length > 0;
}

async function read(db: Connections, { tenant, isOperator }: KeyOwner, id: string): Promise<ApiKey | null> {
  const [row] = await db.run("query", { text: GET, values: [tenant, isOperator, id] });
  return row === undefined ? null : keyFrom(row);
}

type Lists = [scopes: string, pools: string];

function keyFrom(row: Row): ApiKey {
  type Start = [id: string, tenant: string | null, kind: ApiKeyKind, ...lists: Lists, name: string, hint: string];
  type Times = [createdAt: number, createdBy: string, ...rest: (number | null)[]];
  const [id, tenant, kind, scopes, pools, name, hint] = row as unknown as Start;
  const [createdAt, createdBy, expiresAt, revokedAt, lastUsedAt] = row.slice(7) as unknown as Times;
  const lists = { scopes: JSON.parse(scopes) as Scope[], pools: JSON.parse(pools) as string[] };
  const times = { createdAt, createdBy, expiresAt, revokedAt, lastUsedAt } as Pick<
    ApiKey,
    "createdAt" | "createdBy" | "expiresAt" | "revokedAt" | "lastUsedAt"
  >;
  const [replaces, certificateId] = row.slice(12) as unknown as [replaces: string | null, certificateId: string | null];
  return { id, tenant, kind, ...lists, certificateId, name, hint, ...times, replaces };
}

function changedFrom(row: Row): ChangedKey {
  type Start = [id: string, tenant: string | null, kind: ApiKeyKind, ...lists: Lists];
  type Rest = [
    expiresAt: number | null,
    hash: string,
    revokedAt: number | null,
    version: number,
    replaces: string | null,
    certificateId: string | null,
  ];
  const [id, tenant, kind, scopes, pools] = row as unknown as Start;
  const [expiresAt, hash, revokedAt, version, replaces, certificateId] = row.slice(5) as unknown as Rest;
  const lists = { scopes: JSON.parse(scopes) as Scope[], pools: JSON.parse(pools) as string[] };
  return { id, tenant, kind, ...lists, certificateId, expiresAt, hash, revokedAt, version, replaces };
}

/** Removes keys that were revoked or have expired long ago. The version stays, so the store still counts as one with keys. */
export async function retireKeys(session: Session, now: EpochMs): Promise<void> {
  await session.run({ text: FORGET, values: [now - DEAD_KEYS_KEPT_DAYS * DAY_MS] });
}
