import type { EpochMs } from "../../../domain/ids.ts";
import {
  DELIVERIES_KEPT_DAYS,
  type StoreWebhooks,
  SUBSCRIPTIONS_MAX,
  type Subscription,
  type WebhookFilter,
} from "../../../ports/store-webhooks.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { uuidFloor } from "../schema/partitions.ts";
import { deliveries } from "./deliveries.ts";
import { WEBHOOK_COLUMNS, webhookFrom } from "./webhook-rows.ts";

const CREATE = `
  INSERT INTO webhooks (id, tenant, url, filter, secret, created_at) SELECT $1, $2, $3, $4, $5, $6
  WHERE (SELECT count(*) FROM webhooks WHERE filter IS NOT NULL) < ${SUBSCRIPTIONS_MAX} RETURNING id`;

const ROTATE = `
  UPDATE webhooks SET former_secret = secret, former_until = $4, secret = $3
  WHERE tenant = $1 AND id = $2 AND filter IS NOT NULL RETURNING id`;

const LIST = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks w
  WHERE w.tenant = $1 AND ($2::uuid IS NULL OR w.id > $2) ORDER BY w.id LIMIT $3`;

const GET = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks w WHERE w.tenant = $1 AND w.id = $2`;

const DISABLE = `
  UPDATE webhooks w SET disabled_at = coalesce(w.disabled_at, $4), disabled_reason = coalesce(w.disabled_reason, $3)
  WHERE w.tenant = $1 AND w.id = $2 RETURNING ${WEBHOOK_COLUMNS}`;

const ENABLE = `
  UPDATE webhooks w SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, last_error = NULL
  WHERE w.tenant = $1 AND w.id = $2 RETURNING ${WEBHOOK_COLUMNS}`;

const REMOVE = "DELETE FROM webhooks WHERE tenant = $1 AND id = $2 RETURNING id";
const REMOVE_DELIVERIES = "DELETE FROM webhook_deliveries WHERE webhook = $1";

const SUBSCRIPTIONS = `SELECT id, tenant, url, filter, secret FROM webhooks WHERE filter IS NOT NULL
  AND disabled_at IS NULL ORDER BY id`;

/** See StoreWebhooks. */
export function webhooks(db: Connections, trail: AuditTrail): StoreWebhooks {
  return {
    ...deliveries(db, trail),
    subscriptions: async () => {
      const rows = await db.run("query", { name: "subscriptions", text: SUBSCRIPTIONS });
      return rows.map(([id, tenant, url, filter, secret]) => {
        return { id, tenant, url, filter: JSON.parse(filter as string) as WebhookFilter, secret } as Subscription;
      });
    },
    create: async ({ id, tenant, url, filter, secret }, createdAt, note) => {
      const values = [id, tenant, url, JSON.stringify(filter), secret, createdAt];
      return (await trail.run("query", note, { text: CREATE, values })).length > 0;
    },
    rotate: async (tenant, id, secret, formerUntil, note) =>
      (await trail.run("query", note, { text: ROTATE, values: [tenant, id, secret, formerUntil] })).length > 0,
    list: async (tenant, after, limit) =>
      (await db.run("query", { text: LIST, values: [tenant, after, limit] })).map(webhookFrom),
    get: async (tenant, id) => firstOf(await db.run("query", { text: GET, values: [tenant, id] })),
    setDisabled: async (tenant, id, reason, now, note) => {
      const change =
        reason === null ? { text: ENABLE, values: [tenant, id] } : { text: DISABLE, values: [tenant, id, reason, now] };
      return firstOf(await trail.run("query", note, change));
    },
    remove: (tenant, id, note) => {
      const remove = async (session: Session) => {
        const removed = await session.run({ text: REMOVE, values: [tenant, id] });
        if (removed.length > 0) await session.run({ text: REMOVE_DELIVERIES, values: [id] });
        return removed.length > 0;
      };
      return trail.transaction("query", note, remove, (isRemoved) => isRemoved);
    },
  };
}

function firstOf(rows: readonly unknown[][]) {
  const [row] = rows;
  return row === undefined ? null : webhookFrom(row);
}

const DAY_MS = 86_400_000;
const PAGE = 1_000;

const RETIRE = `
  DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(
    SELECT id FROM webhook_deliveries WHERE id < $1 ORDER BY id LIMIT ${PAGE})) RETURNING 1`;

const FORGET = `
  DELETE FROM webhooks w WHERE w.filter IS NULL AND w.disabled_at IS NULL AND w.created_at < $1
    AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook = w.id)`;

/** Removes deliveries of events that are older than the retention, and receivers of ends that have none any more. */
export async function retireDeliveries(session: Session, now: EpochMs, days: number): Promise<void> {
  const keepFrom = now - Math.max(days, DELIVERIES_KEPT_DAYS) * DAY_MS;
  while ((await session.run({ text: RETIRE, values: [uuidFloor(keepFrom)] })).length === PAGE);
  await session.run({ text: FORGET, values: [keepFrom] });
}
