import type { WebhookId } from "../../../domain/webhook.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import {
  type StoreWebhooks,
  SUBSCRIPTIONS_MAX,
  type Subscription,
  type Webhook,
} from "../../../ports/store-webhooks.ts";
import type { AuditTrail } from "../audit-trail.ts";
import { behind, idBytes } from "../bytes.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { deliveries } from "./deliveries.ts";
import { newSubscription, recordText, type StoredWebhook, shownWebhook, webhookOf } from "./webhook-record.ts";

/** See StoreWebhooks. */
export function webhooks(db: RedisConnection, trail: AuditTrail): StoreWebhooks {
  const rows = new Webhooks(db, trail);
  return {
    ...deliveries(db, trail),
    subscriptions: () => rows.subscriptions(),
    create: async (subscription, createdAt, note) => {
      const record = recordText(newSubscription(subscription, createdAt));
      return (await rows.put(subscription, null, record, note)) === 1;
    },
    rotate: async (tenant, id, secret, formerUntil, note) => {
      const rotated = (webhook: StoredWebhook) =>
        webhook.filter === null ? null : { ...webhook, former: webhook.secret, formerUntil, secret };
      return (await rows.changed(tenant, id, rotated, note)) !== null;
    },
    list: (...asked) => rows.list(...asked),
    get: async (tenant, id) => {
      const [webhook] = await rows.read([id]);
      return webhook?.tenant === tenant ? shownWebhook(webhook) : null;
    },
    setDisabled: (tenant, id, reason, now, note) => {
      const enabled = { disabledAt: null, disabledReason: null, failingSince: null, lastError: null };
      const change = (webhook: StoredWebhook): StoredWebhook =>
        reason === null
          ? { ...webhook, ...enabled }
          : { ...webhook, disabledAt: webhook.disabledAt ?? now, disabledReason: webhook.disabledReason ?? reason };
      return rows.changed(tenant, id, change, note);
    },
    remove: (...asked) => rows.remove(...asked),
  };
}

/** Records of webhooks. A change compares the record that Node has read. */
class Webhooks {
  readonly #db: RedisConnection;
  readonly #trail: AuditTrail;

  constructor(db: RedisConnection, trail: AuditTrail) {
    this.#db = db;
    this.#trail = trail;
  }

  async subscriptions(): Promise<Subscription[]> {
    const [ids] = await this.#db.call([["SMEMBERS", this.#db.key("wku")]]);
    const found = await this.#records((ids as Buffer[]).sort(Buffer.compare));
    return found.map(webhookOf).flatMap((webhook) => {
      if (webhook === null || webhook.disabledAt !== null || webhook.filter === null) return [];
      const { id, tenant, url, filter, secret } = webhook;
      return [{ id, tenant, url, filter, secret: secret as string }];
    });
  }

  async list(tenant: string, after: WebhookId | null, limit: number): Promise<Webhook[]> {
    const from = after === null ? "-" : behind(idBytes(after));
    const key = this.#db.key(`wkt${tenant}`);
    const [ids] = await this.#db.call([["ZRANGE", key, from, "+", "BYLEX", "LIMIT", "0", `${limit}`]]);
    const found = (await this.#records(ids as Buffer[])).map(webhookOf);
    return found.filter((webhook) => webhook !== null).map(shownWebhook);
  }

  async read(ids: readonly WebhookId[]): Promise<(StoredWebhook | null)[]> {
    return (await this.#records(ids.map(idBytes))).map(webhookOf);
  }

  /** @param before record as read; null: there is none. @returns 1: it was written, 0: it is not as read, -1: there are too many */
  async put(
    { id, tenant }: Pick<Webhook, "id" | "tenant">,
    before: Buffer | null,
    after: string,
    note: AuditNote | undefined,
  ): Promise<number> {
    const args = [idBytes(id), tenant, before ?? "", after, `${SUBSCRIPTIONS_MAX}`];
    const notes = note === undefined ? [] : [note];
    return Number(await this.#trail.call("ms_put_webhook", args, notes, (answer) => answer === 1));
  }

  /** @param change the webhook afterwards; null: it stays. @returns null: there is none of the tenant, or it stays */
  async changed(
    tenant: string,
    id: WebhookId,
    change: (webhook: StoredWebhook) => StoredWebhook | null,
    note: AuditNote | undefined,
  ): Promise<Webhook | null> {
    for (;;) {
      const [before] = await this.#records([idBytes(id)]);
      const webhook = webhookOf(before ?? null);
      if (webhook === null || webhook.tenant !== tenant) return null;
      const after = change(webhook);
      if (after === null) return null;
      if ((await this.put(after, before as Buffer, recordText(after), note)) === 1) return shownWebhook(after);
    }
  }

  async remove(tenant: string, id: WebhookId, note: AuditNote | undefined): Promise<boolean> {
    const notes = note === undefined ? [] : [note];
    for (;;) {
      const [before] = await this.#records([idBytes(id)]);
      if (before == null || webhookOf(before)?.tenant !== tenant) return false;
      const args = [idBytes(id), tenant, before];
      if ((await this.#trail.call("ms_remove_webhook", args, notes, (answer) => answer === 1)) === 1) return true;
    }
  }

  async #records(ids: readonly Buffer[]): Promise<(Buffer | null)[]> {
    if (ids.length === 0) return [];
    const [records] = await this.#db.call([["HMGET", this.#db.key("wk"), ...ids]]);
    return records as (Buffer | null)[];
  }
}
