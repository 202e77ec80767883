export type { DeliveryState, EventKind, WebhookKind } from "@mainspring/contract/enums";

import type { EpochMs, ExecutionId } from "./ids.ts";
import type { OnFinish } from "./job.ts";
import { eventId, type LifecycleEvent } from "./lifecycle-event.ts";
import { derivedId } from "./occurrence-id.ts";

/** UUID: of a receiver, derived from its tenant and origin; of a subscription, its own. */
export type WebhookId = string;
/** UUIDv7, derived from the webhook and the event. */
export type DeliveryId = string;

/** A lifecycle event on its way to the receiver of a webhook. */
export interface NewDelivery {
  id: DeliveryId;
  webhook: WebhookId;
  /** An http or https URL. */
  url: string;
  event: LifecycleEvent;
}

/** Delivery of the end of an execution to its `onFinish`. */
export interface EndDelivery extends NewDelivery {
  event: LifecycleEvent & { executionId: ExecutionId };
}

/** A delivery has the same id in every repeat of the event, so that a second insert changes nothing. */
export function deliveryOf(webhook: WebhookId, url: string, event: LifecycleEvent): NewDelivery {
  const key = eventId(event);
  return { id: derivedId(`${webhook}@${key}`, `${key}@${webhook}`, event.at), webhook, url, event };
}

export function endDelivery({ url }: OnFinish, event: EndDelivery["event"]): EndDelivery {
  return { ...deliveryOf(receiverId(event.tenant, originOf(url)), url, event), event };
}

/**
 * Id of the webhook of a receiver: all URLs of `onFinish` that have one origin. It exists without a row, so that the end of an
 * execution needs no other row.
 */
function receiverId(tenant: string, origin: string): WebhookId {
  return derivedId(`${tenant} ${origin}`, `${origin} ${tenant}`, 0);
}

/** Scheme, host and port of a URL. */
export function originOf(url: string): string {
  return /^https?:\/\/[^/?#]*/.exec(url)?.[0] ?? url;
}

/** Delays in ms between the tries of a delivery: those that Standard Webhooks recommends, about three days in all. */
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const RETRY_DELAYS_MS: readonly number[] = [
  ...[5_000, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];

/** Part of a delay by which it may be longer, so that receivers that come back are not met by all deliveries at once. */
const JITTER = 0.1;

/**
 * Time of the next try of a delivery that failed.
 * @param tries tries so far, 1 or more
 * @param random 0 to 1
 * @param notBefore time that the receiver asked for; null: it asked for none
 * @returns null: it was the last try
 */
export function nextTryAt(tries: number, now: EpochMs, random: number, notBefore: EpochMs | null): EpochMs | null {
  const delayMs = RETRY_DELAYS_MS[tries - 1];
  if (delayMs === undefined) return null;
  return Math.max(now + Math.round(delayMs * (1 + JITTER * random)), notBefore ?? 0);
}
