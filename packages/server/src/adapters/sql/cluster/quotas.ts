import { DEFAULT_TENANT } from "../../../domain/ids.ts";
import { filledBucket, PLACES_KEPT_MS, type PlaceQuota, portionOf } from "../../../domain/quota.ts";
import type { PlaceAnswer, PlaceAsk, StoreQuotas, TokenAnswer, TokenAsk } from "../../../ports/store-quotas.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections, Session } from "../connection/connections.ts";

const NOW = "extract(epoch FROM clock_timestamp())::float8 * 1000";

/** Locks the row of a quota until the end of the transaction. A new bucket is as full as it can be: $3 says more than any bucket takes. */
const LOCK = {
  name: "quota_lock",
  text: `INSERT INTO quota_levels AS l (tenant, quota, tokens, at) VALUES ($1, $2, 1e12, ${NOW})
    ON CONFLICT (tenant, quota) DO UPDATE SET tenant = excluded.tenant RETURNING l.tokens, l.at, ${NOW}`,
};
const FILL = {
  name: "quota_fill",
  text: "UPDATE quota_levels SET tokens = $3, at = $4 WHERE tenant = $1 AND quota = $2",
};

/** Counts rows of an index up to a limit. */
const upTo = (rows: string) => `(SELECT count(*) FROM (SELECT FROM ${rows} LIMIT $2) s)`;
const ready = (owner: string) =>
  upTo(`executions e WHERE e.tenant = $1 AND e.queue = ${QUEUE_CODES.READY} AND e.tenant ${owner} 'default'`);
const waiting = upTo(`executions e WHERE e.tenant = $1 AND e.queue = ${QUEUE_CODES.WAITING} AND e.shard >= 0`);
const recurring = (owner: string) =>
  upTo(`jobs j WHERE j.tenant = $1 AND j.id >= '80000000-0000-0000-0000-000000000000' AND j.deleted_at IS NULL
    AND j.tenant ${owner} 'default'`);

/** The indexes of tenants have no rows of the tenant default, so its statements are others. */
const COUNTS: Record<PlaceQuota, (owner: string) => string> = {
  maxWaiting: (owner) => `${waiting} + ${ready(owner)}`,
  maxRecurring: (owner) => recurring(owner),
};
const OTHERS = `(SELECT coalesce(sum(places), 0) FROM quota_places WHERE tenant = $1 AND quota = $3 AND node <> $4 AND until > $5)`;
const countOf = (quota: PlaceQuota, isDefault: boolean) => ({
  name: `quota_count_${quota.toLowerCase()}${isDefault ? "_default" : ""}`,
  text: `SELECT ${COUNTS[quota](isDefault ? "=" : "<>")}, ${OTHERS}`,
});

const KEEP = {
  name: "quota_keep",
  text: `INSERT INTO quota_places AS p (tenant, quota, node, places, until) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant, quota, node) DO UPDATE SET places = excluded.places, until = excluded.until`,
};
/** Rows of nodes that are gone leave with the next taker. */
const LEAVE = {
  name: "quota_leave",
  text: "DELETE FROM quota_places WHERE tenant = $1 AND quota = $2 AND (until <= $3 OR (node = $4 AND $5))",
};

/** See StoreQuotas. */
export function quotas(db: Connections): StoreQuotas {
  return {
    takeTokens: (ask) => db.transaction("submit", (session) => takeTokens(session, ask)),
    takePlaces: (ask) => db.transaction("submit", (session) => takePlaces(session, ask)),
  };
}

async function lock(
  session: Session,
  tenant: string,
  quota: string,
): Promise<[tokens: number, at: number, now: number]> {
  const [row] = await session.run({ ...LOCK, values: [tenant, quota] });
  return row as unknown as [number, number, number];
}

async function takeTokens(session: Session, { tenant, quota, perSec, needed, wanted }: TokenAsk): Promise<TokenAnswer> {
  const [tokens, at, now] = await lock(session, tenant, quota);
  const bucket = filledBucket({ tokens, at }, perSec, now);
  const taken = portionOf(bucket.tokens, needed, wanted);
  const left = bucket.tokens - taken;
  await session.run({ ...FILL, values: [tenant, quota, left, bucket.at] });
  return { taken, left };
}

async function takePlaces(
  session: Session,
  { tenant, quota, limit, node, held, needed, wanted }: PlaceAsk,
): Promise<PlaceAnswer> {
  const [, , now] = await lock(session, tenant, quota);
  // A statement after the lock sees the rows of everybody who had the lock before.
  const counting = countOf(quota, tenant === DEFAULT_TENANT);
  const [row] = await session.run({ ...counting, values: [tenant, limit, quota, node, now] });
  const [counted, others] = row as unknown as [number | string, number | string];
  const [used, heldByOthers] = [Math.min(limit, Number(counted)), Number(others)];
  const free = limit - used - heldByOthers - held;
  const taken = needed === 0 ? 0 : portionOf(free, needed, wanted);
  await session.run({ ...LEAVE, values: [tenant, quota, now, node, held + taken === 0] });
  if (held + taken > 0)
    await session.run({ ...KEEP, values: [tenant, quota, node, held + taken, now + PLACES_KEPT_MS] });
  return { taken, used, heldByOthers };
}
