import type { EpochMs, ShardId } from "../domain/ids.ts";
import type { LifecycleEvent } from "../domain/lifecycle-event.ts";
import type { DeliveryId, DeliveryState, EventKind, NewDelivery, WebhookId, WebhookKind } from "../domain/webhook.ts";
import type { AuditNote } from "./store-audit.ts";

/**
 * Webhooks and their deliveries. `Store.commit` writes the deliveries of ends with the ends, and `addDeliveries` those of
 * subscriptions. The owner of a delivery's shard sends it. Two owners may send one delivery, but only the result of one is kept.
 */
export interface StoreWebhooks {
  /** Deliveries that are due, of webhooks that are not disabled: of each webhook the earliest ones. */
  readDue(asked: DueQuery): Promise<DuePage>;
  /**
   * Keeps the results of tries, and what they say about their webhooks. A result counts only if the delivery is PENDING with
   * the number of tries that the result names.
   * @returns webhooks that this call has disabled, because nothing was delivered for `disableAfterMs`
   */
  settle(results: readonly DeliveryResult[], now: EpochMs, disableAfterMs: number): Promise<Webhook[]>;
  /** Adds deliveries of subscriptions that still exist. A repeat changes nothing. */
  addDeliveries(deliveries: readonly (NewDelivery & { shard: ShardId })[], now: EpochMs): Promise<void>;
  /** Subscriptions that are not disabled, in order of their ids. Their number is at most `SUBSCRIPTIONS_MAX`. */
  subscriptions(): Promise<Subscription[]>;

  /** @returns false: there are `SUBSCRIPTIONS_MAX` already */
  create(subscription: Subscription, createdAt: EpochMs, note?: AuditNote): Promise<boolean>;
  /**
   * Gives a subscription a new secret. The one before stays valid, too, until an instant.
   * @returns false: there is no such subscription
   */
  rotate(tenant: string, id: WebhookId, secret: string, formerUntil: EpochMs, note?: AuditNote): Promise<boolean>;
  /** Webhooks in order of their ids, behind `after`. */
  list(tenant: string, after: WebhookId | null, limit: number): Promise<Webhook[]>;
  get(tenant: string, id: WebhookId): Promise<Webhook | null>;
  /** Disables a webhook, or enables it, which also forgets its failures. @param reason null: enables it */
  setDisabled(
    tenant: string,
    id: WebhookId,
    reason: string | null,
    now: EpochMs,
    note?: AuditNote,
  ): Promise<Webhook | null>;
  /** Removes a webhook with its deliveries. @returns false: there is none */
  remove(tenant: string, id: WebhookId, note?: AuditNote): Promise<boolean>;
  /** Deliveries of a webhook, newest first, older than `before`. */
  deliveries(tenant: string, id: WebhookId, page: DeliveryQuery): Promise<Delivery[]>;
  /** Has deliveries of a webhook that are not PENDING sent again from the first try on. @returns number of deliveries */
  replay(tenant: string, id: WebhookId, which: ReplayQuery, now: EpochMs, note?: AuditNote): Promise<number>;
}

/** Largest number of subscriptions of a store. */
export const SUBSCRIPTIONS_MAX = 100;
/** Largest number of deliveries in one replay. */
export const REPLAY_MAX = 10_000;
/** Least number of days for which deliveries are kept: the tries of one take three. */
export const DELIVERIES_KEPT_DAYS = 7;

export interface DueQuery {
  shards: readonly ShardId[];
  now: EpochMs;
  /** Webhooks behind this id, because one call reads a limited number; null: from the first one on. */
  after: WebhookId | null;
  /** Largest number of webhooks. */
  webhooks: number;
  /** Largest number of deliveries of each. */
  each: number;
  /** Webhooks to leave out. */
  without: ReadonlySet<WebhookId>;
}

export interface DuePage {
  due: DueDelivery[];
  /** Value of `after` that reads on; null: these were the last webhooks. */
  next: WebhookId | null;
}

export interface DueDelivery {
  id: DeliveryId;
  webhook: WebhookId;
  kind: WebhookKind;
  tenant: string;
  url: string;
  event: LifecycleEvent;
  /** Tries so far. */
  tries: number;
  /** Secrets of the subscription that are valid; none for an end, which the secret of the server signs. */
  secrets: readonly string[];
}

/** Result of a try. */
export interface DeliveryResult {
  delivery: Pick<DueDelivery, "id" | "webhook" | "kind" | "tenant" | "url" | "tries">;
  /** PENDING: it failed, and is tried again. */
  state: DeliveryState;
  /** Time of the next try; null: there is none. */
  nextAt: EpochMs | null;
  /** Status of the answer; null: there was none. */
  status: number | null;
  /** Reason of the failure, for people, without path and query of the URL; null: it was delivered. */
  error: string | null;
  /** Whether the receiver wants no more deliveries of this webhook. */
  isGone: boolean;
}

export interface WebhookFilter {
  /** Kinds of events; empty: all. */
  kinds: readonly EventKind[];
  /** null: all. */
  handler: string | null;
  /** null: all. */
  pool: string | null;
}

export interface Subscription {
  id: WebhookId;
  tenant: string;
  url: string;
  filter: WebhookFilter;
  /** Secret of Standard Webhooks; the store keeps it as text, and no answer has it again. */
  secret: string;
}

export interface Webhook {
  id: WebhookId;
  tenant: string;
  kind: WebhookKind;
  /** URL of a subscription; scheme, host and port of the receiver of ends. */
  url: string;
  /** null: the webhook is the receiver of ends. */
  filter: WebhookFilter | null;
  createdAt: EpochMs;
  /** First failure since the last success; null: the last try was a success. */
  failingSince: EpochMs | null;
  /** Last failure since the last success; null: none. */
  lastError: string | null;
  lastDeliveredAt: EpochMs | null;
  /** null: the webhook is active. */
  disabledAt: EpochMs | null;
  disabledReason: string | null;
}

export interface DeliveryQuery {
  /** null: all. */
  state: DeliveryState | null;
  before: DeliveryId | null;
  limit: number;
}

export interface Delivery {
  id: DeliveryId;
  webhook: WebhookId;
  url: string;
  event: LifecycleEvent;
  state: DeliveryState;
  tries: number;
  /** Time of the next try; null: there is none. */
  nextAt: EpochMs | null;
  createdAt: EpochMs;
  /** Time of the last result; null: none was tried yet. */
  triedAt: EpochMs | null;
  status: number | null;
  error: string | null;
}

/** Deliveries to replay: these, or all FAILED ones that were created in an interval. */
export type ReplayQuery = { ids: readonly DeliveryId[] } | { since: EpochMs; until: EpochMs };

/** Reason for disabling a webhook to which nothing was delivered for long. */
export function failingReason(disableAfterMs: number): string {
  const days = disableAfterMs / 86_400_000;
  return `nothing was delivered for ${days} ${days === 1 ? "day" : "days"}`;
}

/** Reason for disabling a subscription whose receiver answered 410. */
export const GONE_REASON = "the receiver answered 410: it wants no more deliveries";
