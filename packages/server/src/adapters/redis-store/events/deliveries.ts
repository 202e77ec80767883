import type { EpochMs } from "../../../domain/ids.ts";
import type { WebhookId } from "../../../domain/webhook.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import {
  type Delivery,
  type DeliveryQuery,
  type DeliveryResult,
  type DueDelivery,
  type DuePage,
  type DueQuery,
  REPLAY_MAX,
  type ReplayQuery,
  type StoreWebhooks,
  type Webhook,
} from "../../../ports/store-webhooks.ts";
import type { AuditTrail } from "../audit-trail.ts";
import { behind, idBytes, idOf } from "../bytes.ts";
import { maskOf } from "../owner-reads.ts";
import type { RedisAnswer, RedisArgument, RedisConnection } from "../redis-connection.ts";
import { codeOf, constantOf, constantText, deliveryOf, resultArguments, stateOf } from "./delivery-record.ts";
import {
  judged,
  latestByWebhook,
  newReceiver,
  recordText,
  type StoredWebhook,
  secretsOf,
  shownWebhook,
  webhookOf,
} from "./webhook-record.ts";

/** Deliveries of one call. */
const PER_CALL = 500;

type Deliveries = Pick<StoreWebhooks, "readDue" | "settle" | "addDeliveries" | "deliveries" | "replay">;

/** See StoreWebhooks. */
export function deliveries(db: RedisConnection, trail: AuditTrail): Deliveries {
  return {
    readDue: (asked) => readDue(db, asked),
    settle: (...asked) => settle(db, ...asked),
    addDeliveries: async (added, now) => {
      for (let from = 0; from < added.length; from += PER_CALL) {
        const args = added.slice(from, from + PER_CALL).flatMap((delivery): RedisArgument[] => {
          const { webhook, id, shard } = delivery;
          return [idBytes(webhook), idBytes(id), `${shard}`, constantText(delivery, now)];
        });
        await db.durably("ms_add_deliveries", [`${now}`, ...args]);
      }
    },
    deliveries: (...asked) => list(db, ...asked),
    replay: (...asked) => replay(db, trail, ...asked),
  };
}

async function readDue(db: RedisConnection, asked: DueQuery): Promise<DuePage> {
  const { shards, now, after, webhooks, each, without } = asked;
  const left = Buffer.concat([...without].map(idBytes));
  const cursor = after === null ? "" : idBytes(after);
  const args = [`${now}`, maskOf(shards), cursor, `${webhooks}`, `${each}`, left];
  const [next, ...found] = (await db.fcall("ms_due_deliveries", args)) as [Buffer, ...[Buffer, Buffer, Buffer[]][]];
  const due = found.flatMap(([id, record, texts]) => dueOf(idOf(id), webhookOf(record), texts, now));
  return { due, next: next.length === 0 ? null : idOf(next) };
}

/** @param texts id, unchanging part and state of each delivery */
function dueOf(id: WebhookId, webhook: StoredWebhook | null, texts: readonly Buffer[], now: EpochMs): DueDelivery[] {
  const secrets = secretsOf(webhook, now);
  const kind = webhook === null || webhook.filter === null ? "ON_FINISH" : "SUBSCRIPTION";
  return Array.from({ length: texts.length / 3 }, (_, i) => {
    const [own, constant, state] = texts.slice(3 * i, 3 * i + 3) as [Buffer, Buffer, Buffer];
    const { tenant, url, event } = constantOf(constant);
    return { id: idOf(own), webhook: id, kind, tenant, url, event, tries: stateOf(state).tries, secrets };
  });
}

async function settle(
  db: RedisConnection,
  results: readonly DeliveryResult[],
  now: EpochMs,
  disableAfterMs: number,
): Promise<Webhook[]> {
  const calls = Array.from({ length: Math.ceil(results.length / PER_CALL) }, (_, i) =>
    results.slice(i * PER_CALL, (i + 1) * PER_CALL).flatMap((result): RedisArgument[] => {
      const { webhook, id } = result.delivery;
      return [idBytes(webhook), idBytes(id), ...resultArguments(result, now)];
    }),
  );
  const last = calls.pop();
  if (last === undefined) return [];
  for (const args of calls) await db.durably("ms_settle_deliveries", ["0", ...args]);
  for (;;) {
    const changes = await changesOf(db, latestByWebhook(results), now, disableAfterMs);
    const args = changes.flatMap((change) => change.args);
    const answer = await db.durably("ms_settle_deliveries", [`${changes.length}`, ...args, ...last]);
    if (answer === 1) return changes.flatMap(({ disabled }) => disabled ?? []);
  }
}

interface Change {
  args: RedisArgument[];
  /** The webhook if the results have disabled it. */
  disabled: Webhook | null;
}

/** Changes of webhooks by the results of tries. */
async function changesOf(
  db: RedisConnection,
  latest: ReadonlyMap<WebhookId, DeliveryResult>,
  now: EpochMs,
  disableAfterMs: number,
): Promise<Change[]> {
  const ids = [...latest.keys()].map(idBytes);
  const [records] = (await db.call([["HMGET", db.key("wk"), ...ids]])) as [(Buffer | null)[]];
  return [...latest.values()].flatMap((result, i): Change[] => {
    const record = records[i] ?? null;
    const known = webhookOf(record);
    // A subscription that was removed meanwhile stays removed.
    if (known === null && result.delivery.kind === "SUBSCRIPTION") return [];
    const after = judged(known ?? newReceiver(result, now), result, now, disableAfterMs);
    const since = known === null ? `${now}` : "";
    const isDisabled = after.disabledAt !== null && (known?.disabledAt ?? null) === null;
    const args = [ids[i] as Buffer, after.tenant, record ?? "", recordText(after), since];
    return [{ args, disabled: isDisabled ? shownWebhook(after) : null }];
  });
}

/** Deliveries of a webhook from a position on, newest first or oldest first. */
async function* walk(
  db: RedisConnection,
  webhook: WebhookId,
  index: string,
  { from, isNewestFirst }: { from: string | Buffer; isNewestFirst: boolean },
): AsyncGenerator<{ tenant: string; delivery: Delivery }> {
  const named = (letters: string) => db.key(Buffer.concat([Buffer.from(letters), idBytes(webhook)]));
  const order = isNewestFirst ? ["-", "BYLEX", "REV"] : ["+", "BYLEX"];
  for (let cursor = from; ; ) {
    const [answer] = await db.call([["ZRANGE", named(index), cursor, ...order, "LIMIT", "0", `${PER_CALL}`]]);
    const ids = answer as Buffer[];
    if (ids.length === 0) return;
    const [constants, states] = (await db.call([
      ["HMGET", named("wkc"), ...ids],
      ["HMGET", named("wks"), ...ids],
    ])) as (Buffer | null)[][];
    for (const [i, id] of ids.entries()) {
      const [constant, state] = [constants?.[i] ?? null, states?.[i] ?? null];
      if (constant === null || state === null) continue;
      yield { tenant: constantOf(constant).tenant, delivery: deliveryOf(webhook, idOf(id), constant, state) };
    }
    if (ids.length < PER_CALL) return;
    cursor = behind(ids.at(-1) as Buffer);
  }
}

async function list(
  db: RedisConnection,
  tenant: string,
  webhook: WebhookId,
  { state, before, limit }: DeliveryQuery,
): Promise<Delivery[]> {
  const from = before === null ? "+" : behind(idBytes(before));
  const found: Delivery[] = [];
  if (limit < 1) return found;
  for await (const { tenant: owner, delivery } of walk(db, webhook, "wkl", { from, isNewestFirst: true })) {
    if (owner === tenant && (state === null || delivery.state === state)) found.push(delivery);
    if (found.length >= limit) break;
  }
  return found;
}

async function replay(
  db: RedisConnection,
  trail: AuditTrail,
  tenant: string,
  webhook: WebhookId,
  which: ReplayQuery,
  now: EpochMs,
  note?: AuditNote,
): Promise<number> {
  const isOnlyFailed = !("ids" in which);
  const ids = isOnlyFailed ? await failedIds(db, tenant, webhook, which) : await ownIds(db, tenant, webhook, which.ids);
  let replayed = 0;
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const part = Buffer.concat(ids.slice(from, from + PER_CALL));
    const args = [idBytes(webhook), `${now}`, isOnlyFailed ? codeOf("FAILED") : "", part];
    // One record of the audit log tells the whole replay.
    const notes = note === undefined || replayed > 0 ? [] : [note];
    const isDone = (answer: RedisAnswer) => Number(answer) > 0;
    replayed += Number(await trail.call("ms_replay_deliveries", args, notes, isDone));
  }
  return replayed;
}

async function failedIds(
  db: RedisConnection,
  tenant: string,
  webhook: WebhookId,
  { since, until }: { since: EpochMs; until: EpochMs },
): Promise<Buffer[]> {
  const found: Buffer[] = [];
  for await (const { tenant: owner, delivery } of walk(db, webhook, "wkx", { from: "-", isNewestFirst: false })) {
    const { id, createdAt } = delivery;
    if (owner === tenant && createdAt >= since && createdAt < until) found.push(idBytes(id));
    if (found.length >= REPLAY_MAX) break;
  }
  return found;
}

/** Deliveries among these ids that belong to the webhook and the tenant. */
async function ownIds(
  db: RedisConnection,
  tenant: string,
  webhook: WebhookId,
  ids: readonly string[],
): Promise<Buffer[]> {
  const key = db.key(Buffer.concat([Buffer.from("wkc"), idBytes(webhook)]));
  const found: Buffer[] = [];
  for (let from = 0; from < ids.length; from += PER_CALL) {
    const part = ids.slice(from, from + PER_CALL).map(idBytes);
    const [texts] = (await db.call([["HMGET", key, ...part]])) as [(Buffer | null)[]];
    found.push(...part.filter((_, i) => texts[i] != null && constantOf(texts[i] as Buffer).tenant === tenant));
  }
  return found;
}
