import type { ShardId } from "../../../domain/ids.ts";
import type { NewDelivery } from "../../../domain/webhook.ts";
import type { Webhook, WebhookFilter } from "../../../ports/store-webhooks.ts";
import { int2s, texts, uuids } from "../connection/arrays.ts";
import type { Row } from "../connection/connections.ts";

/** Columns of a webhook in the table `webhooks w`, without its secrets. */
export const WEBHOOK_COLUMNS = `w.id, w.tenant, w.url, w.filter, w.created_at, w.failing_since, w.last_error, w.last_delivered_at,
    w.disabled_at, w.disabled_reason`;

type WebhookRow = [
  ...[id: string, tenant: string, url: string, filter: string | null, createdAt: number, failingSince: number | null],
  ...[
    lastError: string | null,
    lastDeliveredAt: number | null,
    disabledAt: number | null,
    disabledReason: string | null,
  ],
];

/** @param row values of WEBHOOK_COLUMNS */
export function webhookFrom(row: Row): Webhook {
  const [id, tenant, url, text, createdAt, failingSince, lastError, lastDeliveredAt, disabledAt, disabledReason] =
    row as WebhookRow;
  const filter = text === null ? null : (JSON.parse(text) as WebhookFilter);
  const kind = filter === null ? "ON_FINISH" : "SUBSCRIPTION";
  const disabled = { disabledAt, disabledReason };
  return { id, tenant, kind, url, filter, createdAt, failingSince, lastError, lastDeliveredAt, ...disabled };
}

/** Values of the columns id, webhook, tenant, shard, url and event of deliveries to be written, as arrays. */
export function newDeliveryValues(added: readonly (NewDelivery & { shard: ShardId })[]): unknown[] {
  return [
    uuids(added, (d) => d.id),
    uuids(added, (d) => d.webhook),
    texts(added, (d) => d.event.tenant),
    int2s(added, (d) => d.shard),
    texts(added, (d) => d.url),
    texts(added, (d) => JSON.stringify(d.event)),
  ];
}
