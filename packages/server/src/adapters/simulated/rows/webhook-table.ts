import type { EpochMs, ShardId } from "../../../domain/ids.ts";
import { idTimeMs } from "../../../domain/occurrence-id.ts";
import { type NewDelivery, originOf, type WebhookId } from "../../../domain/webhook.ts";
import {
  DELIVERIES_KEPT_DAYS,
  type Delivery,
  type DeliveryQuery,
  type DeliveryResult,
  type DuePage,
  type DueQuery,
  failingReason,
  GONE_REASON,
  REPLAY_MAX,
  type ReplayQuery,
  SUBSCRIPTIONS_MAX,
  type Subscription,
  type Webhook,
} from "../../../ports/store-webhooks.ts";
import { byText } from "../sorted-list.ts";

interface StoredDelivery extends Delivery {
  tenant: string;
  shard: ShardId;
}

interface StoredWebhook extends Webhook {
  /** Secrets of a subscription; null: the webhook is a receiver of ends. */
  secret: string | null;
  former: { secret: string; until: EpochMs } | null;
}

const DAY_MS = 86_400_000;

/** Webhooks and their deliveries; see StoreWebhooks. */
export class WebhookTable {
  readonly #webhooks = new Map<WebhookId, StoredWebhook>();
  readonly #deliveries = new Map<string, StoredDelivery>();

  /** A copy with the same content. */
  copy(): WebhookTable {
    const copy = new WebhookTable();
    for (const [id, webhook] of this.#webhooks) copy.#webhooks.set(id, webhook);
    for (const [id, delivery] of this.#deliveries) copy.#deliveries.set(id, delivery);
    return copy;
  }

  /** All deliveries, in any order. */
  all(): Iterable<Delivery> {
    return this.#deliveries.values();
  }

  add({ id, webhook, url, event }: NewDelivery, shard: ShardId, now: EpochMs): void {
    if (this.#deliveries.has(id)) return;
    const rest = { state: "PENDING", tries: 0, nextAt: now, createdAt: now, triedAt: null, status: null } as const;
    this.#deliveries.set(id, { id, webhook, url, event, tenant: event.tenant, shard, ...rest, error: null });
  }

  addOfSubscriptions(deliveries: readonly (NewDelivery & { shard: ShardId })[], now: EpochMs): void {
    for (const delivery of deliveries)
      if (this.#webhooks.has(delivery.webhook)) this.add(delivery, delivery.shard, now);
  }

  readDue({ shards, now, after, webhooks, each, without }: DueQuery): DuePage {
    const pending = [...this.#deliveries.values()].filter(({ state }) => state === "PENDING");
    const ids = [...new Set(pending.map(({ webhook }) => webhook))].sort(byText).filter((id) => id > (after ?? ""));
    const read = ids.slice(0, webhooks);
    const owned = new Set(shards);
    const due = read.flatMap((id) => {
      const webhook = this.#webhooks.get(id);
      if (without.has(id) || (webhook !== undefined && webhook.disabledAt !== null)) return [];
      const own = pending.filter((one) => one.webhook === id && owned.has(one.shard) && (one.nextAt ?? now + 1) <= now);
      const first = own.sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0)).slice(0, each);
      const former = webhook?.former ?? null;
      const secrets = [webhook?.secret ?? [], former !== null && former.until > now ? former.secret : []].flat();
      const kind = webhook?.kind ?? "ON_FINISH";
      return first.map(({ tenant, url, event, tries, id: delivery }) => {
        return { id: delivery, webhook: id, kind, tenant, url, event, tries, secrets };
      });
    });
    return { due, next: read.length < webhooks ? null : (read.at(-1) ?? null) };
  }

  settle(results: readonly DeliveryResult[], now: EpochMs, disableAfterMs: number): Webhook[] {
    const latest = new Map<WebhookId, DeliveryResult>();
    for (const result of results) {
      const { delivery, state, nextAt, status, error } = result;
      const row = this.#deliveries.get(delivery.id);
      if (row?.state === "PENDING" && row.tries === delivery.tries)
        this.#deliveries.set(row.id, { ...row, state, nextAt, status, error, tries: row.tries + 1, triedAt: now });
      if (latest.get(delivery.webhook)?.state !== "DELIVERED") latest.set(delivery.webhook, result);
    }
    return [...latest.values()].flatMap((result) => this.#judge(result, now, disableAfterMs) ?? []);
  }

  /** @returns the webhook, if the result disables it */
  #judge({ delivery, state, error, isGone }: DeliveryResult, now: EpochMs, disableAfterMs: number): Webhook | null {
    const { webhook: id, kind } = delivery;
    const before = this.#webhooks.get(id) ?? (kind === "ON_FINISH" ? receiver(delivery, now) : undefined);
    if (before === undefined) return null;
    const isDelivered = state === "DELIVERED";
    const failingSince = isDelivered ? null : (before.failingSince ?? now);
    const after = { ...before, failingSince, lastError: isDelivered ? null : error };
    if (isDelivered) after.lastDeliveredAt = now;
    const isLong = failingSince !== null && now - failingSince >= disableAfterMs;
    const reason = isGone && kind === "SUBSCRIPTION" ? GONE_REASON : isLong ? failingReason(disableAfterMs) : null;
    const isDisabled = before.disabledAt === null && !isDelivered && reason !== null;
    if (isDisabled) Object.assign(after, { disabledAt: now, disabledReason: reason });
    this.#webhooks.set(id, after);
    return isDisabled ? shown(after) : null;
  }

  subscriptions(): Subscription[] {
    return [...this.#webhooks.values()]
      .filter(({ disabledAt }) => disabledAt === null)
      .flatMap(({ id, tenant, url, filter, secret }) => {
        return filter === null || secret === null ? [] : [{ id, tenant, url, filter, secret }];
      })
      .sort((a, b) => byText(a.id, b.id));
  }

  create({ id, tenant, url, filter, secret }: Subscription, createdAt: EpochMs): boolean {
    const others = [...this.#webhooks.values()].filter(({ filter }) => filter !== null);
    if (others.length >= SUBSCRIPTIONS_MAX) return false;
    const kind = "SUBSCRIPTION" as const;
    this.#webhooks.set(id, { ...UNTRIED, id, tenant, kind, url, filter, secret, createdAt });
    return true;
  }

  rotate(tenant: string, id: WebhookId, secret: string, until: EpochMs): boolean {
    const before = this.#of(tenant, id);
    if (before === undefined || before.secret === null) return false;
    this.#webhooks.set(id, { ...before, secret, former: { secret: before.secret, until } });
    return true;
  }

  list(tenant: string, after: WebhookId | null, limit: number): Webhook[] {
    const own = [...this.#webhooks.values()].filter((one) => one.tenant === tenant && one.id > (after ?? ""));
    return own
      .sort((a, b) => byText(a.id, b.id))
      .slice(0, limit)
      .map(shown);
  }

  get(tenant: string, id: WebhookId): Webhook | null {
    const found = this.#of(tenant, id);
    return found === undefined ? null : shown(found);
  }

  setDisabled(tenant: string, id: WebhookId, reason: string | null, now: EpochMs): Webhook | null {
    const before = this.#of(tenant, id);
    if (before === undefined) return null;
    const enabled = { disabledAt: null, disabledReason: null, failingSince: null, lastError: null };
    const disabled = { disabledAt: before.disabledAt ?? now, disabledReason: before.disabledReason ?? reason };
    const after = { ...before, ...(reason === null ? enabled : disabled) };
    this.#webhooks.set(id, after);
    return shown(after);
  }

  remove(tenant: string, id: WebhookId): boolean {
    if (this.#of(tenant, id) === undefined) return false;
    this.#webhooks.delete(id);
    for (const { id: delivery, webhook } of this.#deliveries.values())
      if (webhook === id) this.#deliveries.delete(delivery);
    return true;
  }

  deliveries(tenant: string, id: WebhookId, { state, before, limit }: DeliveryQuery): Delivery[] {
    const own = this.#ofWebhook(tenant, id).filter((one) => state === null || one.state === state);
    const page = own.filter((one) => before === null || one.id < before).sort((a, b) => byText(b.id, a.id));
    return page.slice(0, limit).map(shownDelivery);
  }

  replay(tenant: string, id: WebhookId, which: ReplayQuery, now: EpochMs): number {
    const isAsked = (one: StoredDelivery) =>
      "ids" in which
        ? one.state !== "PENDING" && which.ids.includes(one.id)
        : one.state === "FAILED" && one.createdAt >= which.since && one.createdAt < which.until;
    const asked = this.#ofWebhook(tenant, id).filter(isAsked);
    const chosen = asked.sort((a, b) => byText(a.id, b.id)).slice(0, REPLAY_MAX);
    for (const one of chosen) this.#deliveries.set(one.id, { ...one, state: "PENDING", tries: 0, nextAt: now });
    return chosen.length;
  }

  forget(now: EpochMs, days: number): void {
    const keepFrom = now - Math.max(days, DELIVERIES_KEPT_DAYS) * DAY_MS;
    for (const { id } of this.#deliveries.values()) if (idTimeMs(id) < keepFrom) this.#deliveries.delete(id);
    const used = new Set(Array.from(this.#deliveries.values(), ({ webhook }) => webhook));
    for (const { id, filter, disabledAt, createdAt } of this.#webhooks.values())
      if (filter === null && disabledAt === null && createdAt < keepFrom && !used.has(id)) this.#webhooks.delete(id);
  }

  #of(tenant: string, id: WebhookId): StoredWebhook | undefined {
    const found = this.#webhooks.get(id);
    return found?.tenant === tenant ? found : undefined;
  }

  #ofWebhook(tenant: string, id: WebhookId): StoredDelivery[] {
    return [...this.#deliveries.values()].filter((one) => one.webhook === id && one.tenant === tenant);
  }
}

const UNTRIED = {
  ...{ failingSince: null, lastError: null, lastDeliveredAt: null, disabledAt: null, disabledReason: null },
  former: null,
};

function receiver({ webhook: id, tenant, url }: DeliveryResult["delivery"], createdAt: EpochMs): StoredWebhook {
  const rest = { url: originOf(url), filter: null, secret: null, createdAt };
  return { ...UNTRIED, id, tenant, kind: "ON_FINISH", ...rest };
}

function shown(webhook: StoredWebhook): Webhook {
  const { id, tenant, kind, url, filter, createdAt, failingSince, lastError, lastDeliveredAt } = webhook;
  const { disabledAt, disabledReason } = webhook;
  const past = { createdAt, failingSince, lastError, lastDeliveredAt };
  return { id, tenant, kind, url, filter, ...past, disabledAt, disabledReason };
}

function shownDelivery(delivery: StoredDelivery): Delivery {
  const { id, webhook, url, event, state, tries, nextAt, createdAt, triedAt, status, error } = delivery;
  return { id, webhook, url, event, state, tries, nextAt, createdAt, triedAt, status, error };
}
