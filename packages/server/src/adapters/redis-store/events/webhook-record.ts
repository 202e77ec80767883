import type { EpochMs } from "../../../domain/ids.ts";
import { originOf, type WebhookId } from "../../../domain/webhook.ts";
import {
  type DeliveryResult,
  failingReason,
  GONE_REASON,
  type Subscription,
  type Webhook,
} from "../../../ports/store-webhooks.ts";

/** A webhook as its record has it. A receiver of ends has no secrets. */
export interface StoredWebhook extends Omit<Webhook, "kind"> {
  secret: string | null;
  former: string | null;
  /** Instant until which the former secret is valid. */
  formerUntil: EpochMs;
}

/** Record of a webhook: whether it is disabled, which functions read, and the rest. */
export function recordText(webhook: StoredWebhook): string {
  return (webhook.disabledAt === null ? "A" : "D") + JSON.stringify(webhook);
}

/** @param record null or empty: there is none */
export function webhookOf(record: Buffer | null): StoredWebhook | null {
  return record === null || record.length === 0 ? null : (JSON.parse(record.toString("utf8", 1)) as StoredWebhook);
}

const UNTRIED = {
  ...{ failingSince: null, lastError: null, lastDeliveredAt: null, disabledAt: null, disabledReason: null },
  ...{ former: null, formerUntil: 0 },
} as const;

export function newSubscription(subscription: Subscription, createdAt: EpochMs): StoredWebhook {
  const { id, tenant, url, filter, secret } = subscription;
  return { id, tenant, url, filter, secret, createdAt, ...UNTRIED };
}

/** Receiver of ends, which gets a record with its first result. */
export function newReceiver(result: DeliveryResult, createdAt: EpochMs): StoredWebhook {
  const { webhook: id, tenant, url } = result.delivery;
  return { id, tenant, url: originOf(url), filter: null, secret: null, createdAt, ...UNTRIED };
}

/** The webhook without its secrets. */
export function shownWebhook(stored: StoredWebhook): Webhook {
  const { secret: _, former: __, formerUntil: ___, ...webhook } = stored;
  return { ...webhook, kind: webhook.filter === null ? "ON_FINISH" : "SUBSCRIPTION" };
}

/** Secrets by which a delivery is signed. */
export function secretsOf(webhook: StoredWebhook | null, now: EpochMs): string[] {
  if (webhook === null || webhook.secret === null) return [];
  const { secret, former, formerUntil } = webhook;
  return former !== null && formerUntil > now ? [secret, former] : [secret];
}

/** One result for each webhook: a success if there is one, else the last. */
export function latestByWebhook(results: readonly DeliveryResult[]): Map<WebhookId, DeliveryResult> {
  const latest = new Map<WebhookId, DeliveryResult>();
  for (const result of results) {
    const { webhook } = result.delivery;
    if (latest.get(webhook)?.state !== "DELIVERED") latest.set(webhook, result);
  }
  return latest;
}

/** The webhook after the result of a try. */
export function judged(
  webhook: StoredWebhook,
  { state, error, isGone, delivery }: DeliveryResult,
  now: EpochMs,
  disableAfterMs: number,
): StoredWebhook {
  if (state === "DELIVERED") return { ...webhook, failingSince: null, lastError: null, lastDeliveredAt: now };
  const failingSince = webhook.failingSince ?? now;
  const failing = { ...webhook, failingSince, lastError: error };
  if (webhook.disabledAt !== null) return failing;
  if (isGone && delivery.kind === "SUBSCRIPTION") return { ...failing, disabledAt: now, disabledReason: GONE_REASON };
  if (now - failingSince < disableAfterMs) return failing;
  return { ...failing, disabledAt: now, disabledReason: failingReason(disableAfterMs) };
}
