import { SHARD_COUNT, type ShardId } from "../../../domain/ids.ts";
import { eventsOfRow } from "../../../ports/event-blocks.ts";
import type { EventPosition, EventRow, InboxRef, StoreEvents } from "../../../ports/store-events.ts";
import { int2s, int8s, uuids } from "../connection/arrays.ts";
import type { Connections, Row } from "../connection/connections.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import type { EventInbox } from "./inbox.ts";

/** Bytes of rows from which on a read returns no further row: some thousands of events, which are decoded in one turn. */
const READ_BYTES = 128 * 1024;

/**
 * Keys and sizes of the rows behind a position, some of each shard, and whether retention has removed rows behind it. A shard
 * without a row has one line without a number.
 */
const READ_KEYS = `
  SELECT a.shard, o.epoch, o.seq, o.bytes, f.shard IS NOT NULL
  FROM unnest($1::int2[], $2::int8[], $3::int8[]) AS a (shard, epoch, seq)
  LEFT JOIN event_floors f ON f.shard = a.shard AND (f.epoch, f.seq) > (a.epoch, a.seq)
  LEFT JOIN LATERAL (
    SELECT epoch, seq, octet_length(events) AS bytes FROM outbox
    WHERE shard = a.shard AND (epoch, seq) > (a.epoch, a.seq) ORDER BY epoch, seq LIMIT $4
  ) o ON true
  ORDER BY a.shard, o.epoch, o.seq`;

const READ_ROWS = `
  SELECT o.shard, o.epoch, o.seq, o.events, o.missed::text, o.held::text, array_to_json(o.unrecorded)::text
  FROM unnest($1::int2[], $2::int8[], $3::int8[]) AS a (shard, epoch, seq)
  JOIN outbox o ON o.shard = a.shard AND o.epoch = a.epoch AND o.seq = a.seq
  ORDER BY o.shard, o.epoch, o.seq`;

const READ_NEWEST = `
  SELECT a.shard, coalesce(o.epoch, f.epoch), coalesce(o.seq, f.seq)
  FROM unnest($1::int2[]) AS a (shard)
  LEFT JOIN event_floors f ON f.shard = a.shard
  LEFT JOIN LATERAL (
    SELECT epoch, seq FROM outbox WHERE shard = a.shard ORDER BY epoch DESC, seq DESC LIMIT 1
  ) o ON true
  WHERE coalesce(o.epoch, f.epoch) IS NOT NULL`;

const READ_OLDEST = "SELECT shard, epoch, seq FROM event_floors";

/** EXCEPT costs the sum of both sides on every version of PostgreSQL. An inbox is emptied every second, so a scan of it is fine. */
const READ_INBOX = `
  SELECT id, shard FROM event_inbox WHERE id IN (
    SELECT id FROM event_inbox i WHERE ${ofShards("i.shard", "$1")} EXCEPT SELECT unnest($2::uuid[]) ORDER BY id LIMIT $3
  ) ORDER BY id`;

const ALL_SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

interface Key {
  shard: ShardId;
  epoch: number;
  seq: number;
  bytes: number;
}

export function events(db: Connections, inbox: EventInbox): StoreEvents {
  let turn = 0;
  return {
    read: (after, limit, shards = ALL_SHARDS) => read(db, { after, limit, shards }, turn++),
    newest: async () =>
      positionOf(
        await db.run("query", { name: "newest_events", text: READ_NEWEST, values: [int2s(ALL_SHARDS, same)] }),
      ),
    oldest: async () => positionOf(await db.run("query", { text: READ_OLDEST })),
    leave: (members) => inbox.leaveAlone(db, members),
    readInbox: async (shards, known, limit) => {
      const values = [shardMask(shards), uuids([...known], same), limit];
      const rows = await db.run("read", { name: "event_inbox", text: READ_INBOX, values });
      return rows.map(([id, shard]) => ({ id, shard }) as InboxRef);
    },
  };
}

interface Asked {
  after: EventPosition;
  limit: number;
  shards: readonly ShardId[];
}

/** @param turn number of the read, by which another shard is the first one each time */
async function read(db: Connections, { after, limit, shards }: Asked, turn: number): Promise<EventRow[] | null> {
  const perShard = Math.ceil(limit / Math.max(1, shards.length));
  const values = [
    int2s(shards, same),
    int8s(shards, (shard) => after.get(shard)?.epoch ?? 0),
    int8s(shards, (shard) => after.get(shard)?.seq ?? 0),
    perShard,
  ];
  const lines = await db.run("query", { name: "event_keys", text: READ_KEYS, values });
  if (lines.some(([, , , , isRemoved]) => isRemoved === true)) return null;
  const keys = lines.filter(([, epoch]) => epoch !== null) as unknown[] as [ShardId, number, number, number][];
  const chosen = choose(
    keys.map(([shard, epoch, seq, bytes]) => ({ shard, epoch, seq, bytes })),
    limit,
    turn,
  );
  if (chosen.length === 0) return [];
  const text = { name: "event_rows", text: READ_ROWS };
  const asked = [int2s(chosen, (k) => k.shard), int8s(chosen, (k) => k.epoch), int8s(chosen, (k) => k.seq)];
  const rows = (await db.run("query", { ...text, values: asked })).map(rowFrom);
  // Retention has removed some of them since.
  return rows.length < chosen.length ? null : rows;
}

/** The first rows of each shard, as far as the limits allow; the shards take turns. @param keys in the order of shards and rows */
function choose(keys: readonly Key[], limit: number, turn: number): Key[] {
  const byShard = new Map<ShardId, Key[]>();
  for (const key of keys) byShard.set(key.shard, [...(byShard.get(key.shard) ?? []), key]);
  const lists = [...byShard.values()];
  const first = lists.length === 0 ? 0 : turn % lists.length;
  const inTurn = [...lists.slice(first), ...lists.slice(0, first)];
  const chosen: Key[] = [];
  let bytes = 0;
  for (let place = 0; inTurn.some((list) => place < list.length); place++) {
    for (const list of inTurn) {
      const key = list[place];
      if (key === undefined) continue;
      if (chosen.length >= limit || bytes >= READ_BYTES) return chosen;
      chosen.push(key);
      bytes += key.bytes;
    }
  }
  return chosen;
}

function rowFrom(row: Row): EventRow {
  const [shard, epoch, seq, bytes, missed, held, unrecorded] = row as [
    ShardId,
    number,
    number,
    Buffer,
    string | null,
    string | null,
    string | null,
  ];
  const steps = new Set<string>(unrecorded === null ? [] : JSON.parse(unrecorded));
  const exceptions = { missed: idsIn(missed), held: idsIn(held), unrecorded: steps };
  return { shard, epoch, seq, events: eventsOfRow(bytes, exceptions) };
}

/** Elements of the literal of an array of uuids. */
function idsIn(literal: string | null): ReadonlySet<string> {
  return new Set(literal === null || literal === "{}" ? [] : literal.slice(1, -1).split(","));
}

function positionOf(rows: readonly Row[]): EventPosition {
  return new Map(rows.map(([shard, epoch, seq]) => [shard as ShardId, { epoch: epoch as number, seq: seq as number }]));
}

function same<T>(value: T): T {
  return value;
}
