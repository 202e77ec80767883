import { SHARD_COUNT, type ShardId } from "../../../domain/ids.ts";
import { eventsOfRow } from "../../../ports/event-blocks.ts";
import {
  compareRefs,
  type EventPosition,
  type EventRef,
  type EventRow,
  type InboxRef,
  type StoreEvents,
} from "../../../ports/store-events.ts";
import { ID_BYTES, idOf } from "../bytes.ts";
import type { Connections } from "../connections.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { memberArguments } from "./told-arguments.ts";

const ALL_SHARDS: readonly ShardId[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
/** Members of inboxes in one call. */
const PER_CALL = 500;

/** See StoreEvents. @param isTelling whether the node writes lifecycle events now */
export function events(db: Connections, isTelling: () => boolean): StoreEvents {
  let turn = 0;
  return {
    read: (after, limit, shards = ALL_SHARDS) => read(db.query, after, limit, inTurn(shards, turn++)),
    newest: async () => {
      const [lasts, floors] = await db.query.call([
        ["HGETALL", db.query.key("el")],
        ["HGETALL", db.query.key("ef")],
      ]);
      return later(positionOf(lasts as Buffer[]), positionOf(floors as Buffer[]));
    },
    oldest: async () => {
      const [floors] = await db.query.call([["HGETALL", db.query.key("ef")]]);
      return positionOf(floors as Buffer[]);
    },
    leave: async (members) => {
      if (!isTelling() || members.length === 0) return;
      const args = memberArguments(members);
      for (let from = 0; from < args.length; from += 3 * PER_CALL)
        await db.submit.durably("ms_leave", args.slice(from, from + 3 * PER_CALL));
    },
    readInbox: (...asked) => readInbox(db.read, ...asked),
  };
}

/** Shards in an order that begins with another one each time. */
function inTurn(shards: readonly ShardId[], turn: number): ShardId[] {
  const first = shards.length === 0 ? 0 : turn % shards.length;
  return [...shards.slice(first), ...shards.slice(0, first)];
}

async function read(
  db: RedisConnection,
  after: EventPosition,
  limit: number,
  shards: readonly ShardId[],
): Promise<EventRow[] | null> {
  if (shards.length === 0) return [];
  const args = shards.flatMap((shard) => [`${shard}`, refText(after.get(shard))]);
  const each = `${Math.ceil(limit / shards.length)}`;
  const answer = await db.fcall("ms_events", [each, ...args]);
  if (answer === null) return null;
  const lists = (answer as Buffer[][][]).map((entries, i) =>
    entries.map((entry) => rowOf(shards[i] as ShardId, entry)),
  );
  return firstOf(lists, limit);
}

/** The first rows of each shard; the shards take turns. */
function firstOf(lists: readonly EventRow[][], limit: number): EventRow[] {
  const chosen: EventRow[] = [];
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  for (let place = 0; place < longest; place++)
    for (const list of lists) {
      const row = list[place];
      if (row !== undefined && chosen.length < limit) chosen.push(row);
    }
  return chosen.sort((a, b) => a.shard - b.shard || compareRefs(a, b));
}

function rowOf(shard: ShardId, [id, blocks, missed, held, unrecorded]: readonly Buffer[]): EventRow {
  const steps = String(unrecorded).split("\u0000");
  const exceptions = {
    ...{ missed: idsOf(missed as Buffer), held: idsOf(held as Buffer) },
    unrecorded: new Set(steps.filter((step) => step !== "")),
  };
  return { shard, ...refOf(String(id)), events: eventsOfRow(blocks as Buffer, exceptions) };
}

function idsOf(bytes: Buffer): Set<string> {
  return new Set(Array.from({ length: bytes.length / ID_BYTES }, (_, i) => idOf(bytes, i * ID_BYTES)));
}

async function readInbox(
  db: RedisConnection,
  shards: readonly ShardId[],
  known: ReadonlySet<string>,
  limit: number,
): Promise<InboxRef[]> {
  const found: InboxRef[] = [];
  const last = `${known.size + limit}`;
  const each = [...new Set(shards)];
  const lists = await db.call(
    each.map((shard) => ["ZRANGE", db.key(`eii${shard}`), "-", "+", "BYLEX", "LIMIT", "0", last]),
  );
  for (const [i, shard] of each.entries()) {
    for (const bytes of lists[i] as Buffer[]) {
      const id = idOf(bytes);
      if (!known.has(id)) found.push({ id, shard });
    }
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
}

/** Text of a position; undefined: before all rows. */
export function refText(ref: EventRef | undefined): string {
  return ref === undefined ? "0-0" : `${ref.epoch}-${ref.seq}`;
}

/** Position of a text, which may go on behind a space. */
export function refOf(text: string): EventRef {
  const [epoch, seq] = (text.split(" ")[0] as string).split("-").map(Number) as [number, number];
  return { epoch, seq };
}

/** Positions of the fields and values of a hash. */
function positionOf(fields: readonly Buffer[]): Map<ShardId, EventRef> {
  const found = new Map<ShardId, EventRef>();
  for (let i = 0; i < fields.length; i += 2) found.set(Number(fields[i]), refOf(String(fields[i + 1])));
  return found;
}

function later(one: EventPosition, other: EventPosition): EventPosition {
  const found = new Map(one);
  for (const [shard, ref] of other) {
    const known = found.get(shard);
    if (known === undefined || compareRefs(known, ref) < 0) found.set(shard, ref);
  }
  return found;
}
