import type { EpochMs } from "../../../domain/ids.ts";
import type { LifecycleEvent } from "../../../domain/lifecycle-event.ts";
import { originOf } from "../../../domain/webhook.ts";
import {
  type Delivery,
  type DeliveryQuery,
  type DeliveryResult,
  type DueDelivery,
  type DuePage,
  type DueQuery,
  failingReason,
  GONE_REASON,
  REPLAY_MAX,
  type ReplayQuery,
  type StoreWebhooks,
  type Webhook,
} from "../../../ports/store-webhooks.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { bools, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { DELIVERY_STATE_CODES, deliveryStateOf } from "../connection/codes.ts";
import type { Connections, Row, Statement } from "../connection/connections.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import { newDeliveryValues, WEBHOOK_COLUMNS, webhookFrom } from "./webhook-rows.ts";

const { PENDING, FAILED } = DELIVERY_STATE_CODES;
const NIL = "00000000-0000-0000-0000-000000000000";
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Webhooks with PENDING deliveries. Each costs one descent of the index, however many deliveries wait for it. */
const WAITING = `
  WITH RECURSIVE w (webhook, n) AS (
    (SELECT webhook, 1 FROM webhook_deliveries WHERE state = ${PENDING} AND webhook > $1 ORDER BY webhook LIMIT 1)
    UNION ALL
    SELECT d.webhook, w.n + 1 FROM w CROSS JOIN LATERAL (
      SELECT webhook FROM webhook_deliveries WHERE state = ${PENDING} AND webhook > w.webhook ORDER BY webhook LIMIT 1
    ) d WHERE w.n < $2
  )
  SELECT webhook FROM w ORDER BY webhook`;

const DUE = `
  SELECT d.id, d.webhook, d.tenant, d.url, d.event, d.tries, w.filter IS NOT NULL, w.secret,
    CASE WHEN w.former_until > $3 THEN w.former_secret END
  FROM unnest($1::uuid[]) AS a (webhook) LEFT JOIN webhooks w ON w.id = a.webhook
  CROSS JOIN LATERAL (
    SELECT * FROM webhook_deliveries d
    WHERE d.state = ${PENDING} AND d.webhook = a.webhook AND d.next_at <= $3 AND ${ofShards("d.shard", "$2")}
    ORDER BY d.next_at LIMIT $4
  ) d
  WHERE w.disabled_at IS NULL`;

const SETTLE = `
  UPDATE webhook_deliveries d SET state = r.state, tries = d.tries + 1, next_at = r.next_at, tried_at = $7, status = r.status,
    error = r.error
  FROM unnest($1::uuid[], $2::int4[], $3::int2[], $4::int8[], $5::int4[], $6::text[])
    AS r (id, tries, state, next_at, status, error)
  WHERE d.id = r.id AND d.tries = r.tries AND d.state = ${PENDING}`;

const REMEMBER = `
  INSERT INTO webhooks (id, tenant, url, created_at)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::int8[]) AS r (id, tenant, url, created_at) ORDER BY id
  ON CONFLICT DO NOTHING`;

/** The order of the rows keeps two nodes from a deadlock. */
const JUDGE = `
  WITH r AS MATERIALIZED (
    SELECT r.*, w.failing_since AS since, w.disabled_at AS was FROM unnest($1::uuid[], $2::bool[], $3::text[], $4::bool[])
      AS r (id, delivered, error, gone)
    JOIN webhooks w ON w.id = r.id ORDER BY w.id FOR UPDATE OF w
  ), judged AS (
    SELECT *, CASE WHEN delivered OR was IS NOT NULL THEN NULL WHEN gone THEN $7
      WHEN $5 - coalesce(since, $5) >= $6 THEN $8 END AS reason FROM r
  )
  UPDATE webhooks w SET failing_since = CASE WHEN NOT j.delivered THEN coalesce(j.since, $5) END,
    last_error = CASE WHEN NOT j.delivered THEN j.error END,
    last_delivered_at = CASE WHEN j.delivered THEN $5 ELSE w.last_delivered_at END,
    disabled_at = CASE WHEN j.reason IS NULL THEN w.disabled_at ELSE $5 END,
    disabled_reason = coalesce(j.reason, w.disabled_reason)
  FROM judged j WHERE w.id = j.id
  RETURNING j.reason IS NOT NULL, ${WEBHOOK_COLUMNS}`;

const LIST = `
  SELECT id, webhook, url, event, state, tries, next_at, created_at, tried_at, status, error FROM webhook_deliveries
  WHERE webhook = $1 AND tenant = $2 AND id < $3 AND ($4::int2 IS NULL OR state = $4) ORDER BY id DESC LIMIT $5`;

const AGAIN = `UPDATE webhook_deliveries SET state = ${PENDING}, tries = 0, next_at = $3
  WHERE webhook = $1 AND tenant = $2`;
const REPLAY_THESE = `${AGAIN} AND state <> ${PENDING} AND id = ANY($4::uuid[]) RETURNING id`;
const REPLAY_FAILED = `${AGAIN} AND id = ANY(ARRAY(
    SELECT id FROM webhook_deliveries WHERE webhook = $1 AND state = ${FAILED} AND created_at >= $4 AND created_at < $5
    ORDER BY id LIMIT ${REPLAY_MAX})) RETURNING id`;

type Deliveries = Pick<StoreWebhooks, "readDue" | "settle" | "addDeliveries" | "deliveries" | "replay">;

/** See StoreWebhooks. */
export function deliveries(db: Connections, trail: AuditTrail): Deliveries {
  return {
    readDue: (asked) => readDue(db, asked),
    settle: (results, now, disableAfterMs) => settle(db, results, now, disableAfterMs),
    addDeliveries: async (added, now) => {
      const values = [...newDeliveryValues(added), now];
      await db.run("query", { name: "add_deliveries", text: ADD, values });
    },
    deliveries: async (tenant, id, { state, before, limit }: DeliveryQuery) => {
      const code = state === null ? null : DELIVERY_STATE_CODES[state];
      const rows = await db.run("query", { text: LIST, values: [id, tenant, before ?? LAST, code, limit] });
      return rows.map(deliveryFrom);
    },
    replay: async (tenant, id, which, now, note) =>
      (await trail.run("query", note, replayOf([id, tenant, now], which))).length,
  };
}

const ADD = `
  INSERT INTO webhook_deliveries (id, webhook, tenant, shard, url, event, state, tries, next_at, created_at)
  SELECT d.id, d.webhook, d.tenant, d.shard, d.url, d.event, ${PENDING}, 0, $7, $7
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int2[], $5::text[], $6::text[])
    AS d (id, webhook, tenant, shard, url, event)
  JOIN webhooks w ON w.id = d.webhook ORDER BY d.id
  ON CONFLICT DO NOTHING`;

function replayOf(first: readonly unknown[], which: ReplayQuery): Statement {
  if ("ids" in which) return { text: REPLAY_THESE, values: [...first, uuids(which.ids, (id) => id)] };
  return { text: REPLAY_FAILED, values: [...first, which.since, which.until] };
}

async function readDue(db: Connections, asked: DueQuery): Promise<DuePage> {
  const { shards, now, after, webhooks, each, without } = asked;
  const values = [after ?? NIL, webhooks];
  const waiting = (await db.run("query", { name: "waiting_webhooks", text: WAITING, values })).map(
    ([id]) => id as string,
  );
  const next = waiting.length < webhooks ? null : (waiting.at(-1) ?? null);
  const wanted = waiting.filter((id) => !without.has(id));
  if (wanted.length === 0) return { due: [], next };
  const chosen = [uuids(wanted, (id) => id), shardMask(shards), now, each];
  const rows = await db.run("query", { name: "due_deliveries", text: DUE, values: chosen });
  return { due: rows.map(dueFrom), next };
}

async function settle(
  db: Connections,
  results: readonly DeliveryResult[],
  now: EpochMs,
  disableAfterMs: number,
): Promise<Webhook[]> {
  await db.run("query", { name: "settle_deliveries", text: SETTLE, values: resultValues(results, now) });
  const latest = latestByWebhook(results);
  const ofEnds = latest.filter(({ delivery }) => delivery.kind === "ON_FINISH").map(({ delivery }) => delivery);
  const receivers = [
    uuids(ofEnds, (d) => d.webhook),
    texts(ofEnds, (d) => d.tenant),
    texts(ofEnds, (d) => originOf(d.url)),
    int8s(ofEnds, () => now),
  ];
  if (ofEnds.length > 0) await db.run("query", { name: "remember_receivers", text: REMEMBER, values: receivers });
  const values = [
    uuids(latest, ({ delivery }) => delivery.webhook),
    bools(latest, ({ state }) => state === "DELIVERED"),
    texts(latest, ({ error }) => error),
    bools(latest, ({ isGone, delivery }) => isGone && delivery.kind === "SUBSCRIPTION"),
    ...[now, disableAfterMs, GONE_REASON, failingReason(disableAfterMs)],
  ];
  const rows = await db.run("query", { name: "judge_webhooks", text: JUDGE, values });
  return rows.filter(([isDisabled]) => isDisabled).map(([, ...row]) => webhookFrom(row));
}

/** One result for each webhook: a success if there is one, else the last. */
function latestByWebhook(results: readonly DeliveryResult[]): DeliveryResult[] {
  const latest = new Map<string, DeliveryResult>();
  for (const result of results) {
    const { webhook } = result.delivery;
    if (latest.get(webhook)?.state !== "DELIVERED") latest.set(webhook, result);
  }
  return [...latest.values()];
}

function resultValues(results: readonly DeliveryResult[], now: EpochMs): unknown[] {
  return [
    uuids(results, ({ delivery }) => delivery.id),
    int4s(results, ({ delivery }) => delivery.tries),
    int2s(results, ({ state }) => DELIVERY_STATE_CODES[state]),
    int8s(results, ({ nextAt }) => nextAt),
    int4s(results, ({ status }) => status),
    texts(results, ({ error }) => error),
    now,
  ];
}

type DueRow = [
  ...[id: string, webhook: string, tenant: string, url: string, event: string, tries: number],
  ...[isSubscription: boolean | null, secret: string | null, former: string | null],
];

function dueFrom(row: Row): DueDelivery {
  const [id, webhook, tenant, url, event, tries, isSubscription, secret, former] = row as DueRow;
  const secrets = [secret, former].filter((one) => one !== null);
  const kind = isSubscription === true ? "SUBSCRIPTION" : "ON_FINISH";
  return { id, webhook, kind, tenant, url, event: JSON.parse(event) as LifecycleEvent, tries, secrets };
}

type DeliveryRow = [
  ...[id: string, webhook: string, url: string, event: string, state: number, tries: number, nextAt: number | null],
  ...[createdAt: number, triedAt: number | null, status: number | null, error: string | null],
];

function deliveryFrom(row: Row): Delivery {
  const [id, webhook, url, event, code, tries, nextAt, createdAt, triedAt, status, error] = row as DeliveryRow;
  const state = deliveryStateOf(code);
  const times = { nextAt, createdAt, triedAt };
  return { id, webhook, url, event: JSON.parse(event) as LifecycleEvent, state, tries, ...times, status, error };
}
