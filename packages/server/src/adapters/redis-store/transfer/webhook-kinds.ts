import type { TransferRows } from "../../../ports/store-transfer.ts";
import { ID_BYTES, idBytes, idOf } from "../bytes.ts";
import { codeOf, constantText, deliveryOf, stateOf } from "../events/delivery-record.ts";
import { recordText, type StoredWebhook, webhookOf } from "../events/webhook-record.ts";
import { keyOf } from "../recurring/job-rows.ts";
import type { RedisCommand, RedisConnection } from "../redis-connection.ts";
import { type KindInRedis, send } from "./kind.ts";
import { fieldsIn, membersIn } from "./scan.ts";

export const webhooks: KindInRedis<"webhooks"> = {
  rows: async function* ({ db }) {
    for await (const pairs of fieldsIn(db, "wk")) yield pairs.map(([, record]) => webhookOf(record) as StoredWebhook);
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap((row): RedisCommand[] => {
        const id = idBytes(row.id);
        return [
          ["HSET", db.key("wk"), id, recordText(row)],
          ["ZADD", db.key(`wkt${row.tenant}`), "0", id],
          row.filter === null ? ["ZADD", db.key("wkf"), `${row.createdAt}`, id] : ["SADD", db.key("wku"), id],
        ];
      }),
    ),
};

export const deliveries: KindInRedis<"deliveries"> = {
  rows: async function* ({ db }) {
    for await (const members of membersIn(db, "wki")) {
      const rows: TransferRows["deliveries"][] = [];
      for (const member of members) rows.push(...(await readDelivery(db, member)));
      if (rows.length > 0) yield rows;
    }
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap((row) => deliveryCommands(db, row)),
    ),
};

/** The delivery of a member of the order of all; none: it was removed. */
async function readDelivery(db: RedisConnection, member: Buffer): Promise<TransferRows["deliveries"][]> {
  const [field, webhook] = [member.subarray(0, ID_BYTES), idOf(member, ID_BYTES)];
  const [constant, state] = (await db.call([
    ["HGET", db.key(keyOf("wkc", webhook)), field],
    ["HGET", db.key(keyOf("wks", webhook)), field],
  ])) as (Buffer | null)[];
  if (constant == null || state == null) return [];
  const delivery = deliveryOf(webhook, idOf(field), constant, state);
  return [{ ...delivery, tenant: delivery.event.tenant, shard: stateOf(state).shard }];
}

function deliveryCommands(db: RedisConnection, row: TransferRows["deliveries"]): RedisCommand[] {
  const { webhook, shard, state, tries, nextAt, triedAt, status, error, createdAt } = row;
  const [id, owner] = [idBytes(row.id), idBytes(webhook)];
  const key = (letters: string) => db.key(keyOf(letters, webhook));
  const rest = `${triedAt ?? "-"} ${status ?? "-"} ${error ?? ""}`;
  const own: RedisCommand[] = [
    ["HSET", key("wkc"), id, constantText(row, createdAt)],
    ["HSET", key("wks"), id, `${codeOf(state)} ${tries} ${shard} ${nextAt ?? "-"} ${rest}`],
    ["ZADD", key("wkl"), "0", id],
    ["ZADD", db.key("wki"), "0", Buffer.concat([id, owner])],
  ];
  if (state === "FAILED") own.push(["ZADD", key("wkx"), "0", id]);
  if (state !== "PENDING") return own;
  const due = Buffer.concat([id, Buffer.from([shard])]);
  return [...own, ["ZADD", key("wkp"), `${nextAt ?? createdAt}`, due], ["ZADD", db.key("wkd"), "0", owner]];
}
