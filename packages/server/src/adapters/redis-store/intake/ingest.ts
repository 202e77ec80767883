import type { EpochMs } from "../../../domain/ids.ts";
import { type RecordPosition } from "../../../domain/ingest.ts";
import { idTimeMs } from "../../../domain/occurrence-id.ts";
import type {
  IngestPosition,
  IngestRecord,
  IngestRefusal,
  RefusedPlace,
  RefusedRecord,
  StoreIngest,
} from "../../../ports/store-ingest.ts";
import type { RequestEnd } from "../../../ports/store-requests.ts";
import { behind, ID_BYTES, idBytes, idOf, instantAt, instantBytes, u32, u64 } from "../bytes.ts";
import type { RedisConnection } from "../redis-connection.ts";
import type { Submitting } from "../submit.ts";
import { type RefusalText, takeIn } from "./take-in.ts";

/** Places in the values and members that lua/64-ingest.lua names. */
const TOPIC = { next: ID_BYTES, replay: ID_BYTES + 8 } as const;
const ENTRY = { id: 6, kind: 6 + ID_BYTES, job: 7 + ID_BYTES, execution: 7 + 2 * ID_BYTES } as const;
const FLAGS = 7 + 3 * ID_BYTES;
const IS_DEDUPLICATED = 1;
const RECURS = 2;
const PLACE_BYTES = 4 + ID_BYTES + 8;
const AT_BYTES = 6;
/** Refusals that one call reads. */
const PER_CALL = 100;
/** Latest instant of a record that is shown, the end of the year 9999. */
const INSTANT_END = 253_402_300_800_000;

/** See StoreIngest. */
export function ingest(reads: RedisConnection, parts: Submitting): StoreIngest {
  const { db, trail } = parts;
  return {
    positions: () => readPositions(reads),
    open: async (topic, partitions) => {
      await db.submit.durably("ms_ingest_open", [idBytes(topic), ...partitions.map(u32)]);
    },
    takeIn: (portion, judge) => takeIn(parts, portion, judge),
    rewind: async ({ partition, topic, from, to }, note) => {
      if (to > from) return false;
      const args = [u32(partition), idBytes(topic), u64(from), u64(to)];
      return (await trail.call("ms_rewind", args, note === undefined ? [] : [note], (done) => done === 1)) === 1;
    },
    get: (position) => getRecord(reads, position),
    refused: (before, limit) => listRefused(reads, before, limit),
    untold: (partitions, limit) => listUntold(reads, partitions, limit),
    told: async (refusals) => {
      const places = refusals.map(({ topic, partition, offset }) => placeOf(partition, topic, offset));
      for (let from = 0; from < places.length; from += PER_CALL)
        await db.submit.durably("ms_ingest_told", places.slice(from, from + PER_CALL));
    },
  };
}

/** Whether more of what was decided before an instant may be left; part of the upkeep, which asks again. */
export async function forgetRecords(db: RedisConnection, before: EpochMs): Promise<boolean> {
  return Number(await db.durably("ms_ingest_forget", [instantBytes(before)])) > 0;
}

function placeOf(partition: number, topic: string, offset: number): Buffer {
  return Buffer.concat([u32(partition), idBytes(topic), u64(offset)]);
}

function offsetAt(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64BE(at));
}

function positionFrom(partition: number, bytes: Buffer): IngestPosition {
  return {
    partition,
    topic: idOf(bytes),
    next: offsetAt(bytes, TOPIC.next),
    replayUntil: offsetAt(bytes, TOPIC.replay),
  };
}

export async function readPositions(db: RedisConnection): Promise<IngestPosition[]> {
  const [answer] = await db.call([["HGETALL", db.key("ig")]]);
  const fields = answer as Buffer[];
  const all = Array.from({ length: fields.length / 2 }, (_, i) =>
    positionFrom((fields[2 * i] as Buffer).readUInt32BE(), fields[2 * i + 1] as Buffer),
  );
  return all.sort((a, b) => a.partition - b.partition);
}

async function getRecord(db: RedisConnection, { partition, offset }: RecordPosition): Promise<IngestRecord | null> {
  const [position] = (await db.call([["HGET", db.key("ig"), u32(partition)]])) as [Buffer | null];
  if (position === null) return null;
  const { topic, next } = positionFrom(partition, position);
  const entries = db.key(Buffer.concat([Buffer.from("ige"), u32(partition), idBytes(topic)]));
  const place = placeOf(partition, topic, offset);
  const [entry, refusal] = (await db.call([
    ["HGET", entries, u64(offset)],
    ["HGET", db.key("igf"), place],
  ])) as [Buffer | null, Buffer | null];
  if (entry === null) return offset < next ? null : { createdAt: null, finishedAt: null, end: null };
  const text = refusal === null ? null : refusalText(refusal);
  const idTime = idTimeMs(idOf(entry, ENTRY.id));
  return {
    createdAt: text === null ? idTime : instantOr(text.timestamp, idTime),
    finishedAt: instantAt(entry, 0),
    end: endOf(entry, text),
  };
}

function endOf(entry: Buffer, refusal: RefusalText | null): RequestEnd {
  if (entry[ENTRY.kind] !== "T".charCodeAt(0)) return { state: "REFUSED", problem: refusal?.problem ?? "{}" };
  const flags = entry[FLAGS] as number;
  const executionId = (flags & RECURS) === 0 ? idOf(entry, ENTRY.execution) : null;
  return {
    ...{ state: "TAKEN_IN", jobId: idOf(entry, ENTRY.job), executionId },
    deduplicated: (flags & IS_DEDUPLICATED) !== 0,
  };
}

function refusalText(bytes: Buffer): RefusalText {
  return JSON.parse(String(bytes.subarray(AT_BYTES))) as RefusalText;
}

/** Time of a record, if that is an instant. */
function instantOr(timestamp: string, otherwise: EpochMs): EpochMs {
  const at = Number(timestamp);
  return at >= 0 && at < INSTANT_END ? Math.floor(at) : otherwise;
}

/** A refusal with its place, which ends a member of an order. */
interface Refusal {
  partition: number;
  topic: string;
  offset: number;
  at: EpochMs;
  text: RefusalText;
}

async function refusalsOf(db: RedisConnection, members: readonly Buffer[]): Promise<Refusal[]> {
  if (members.length === 0) return [];
  const places = members.map((member) => member.subarray(member.length - PLACE_BYTES));
  const [texts] = await db.call([["HMGET", db.key("igf"), ...places]]);
  return (texts as (Buffer | null)[]).flatMap((text, i) => {
    if (text === null) return [];
    const place = places[i] as Buffer;
    const [partition, topic] = [place.readUInt32BE(), idOf(place, 4)];
    const at = instantAt(text, 0) as number;
    return [{ partition, topic, offset: offsetAt(place, 4 + ID_BYTES), at, text: refusalText(text) }];
  });
}

async function listRefused(db: RedisConnection, before: RefusedPlace | null, limit: number): Promise<RefusedRecord[]> {
  const topics = new Map((await readPositions(db)).map(({ partition, topic }) => [partition, topic]));
  const found: RefusedRecord[] = [];
  for (let from = before === null ? Buffer.from("+") : behindRefusal(before, topics); found.length < limit; ) {
    const [answer] = await db.call([["ZRANGE", db.key("igr"), from, "-", "BYLEX", "REV", "LIMIT", "0", `${PER_CALL}`]]);
    const members = answer as Buffer[];
    for (const { partition, topic, offset, at, text } of await refusalsOf(db, members)) {
      if (topics.get(partition) !== topic) continue;
      const createdAt = instantOr(text.timestamp, at);
      found.push({ partition, offset, refusedAt: at, createdAt, problem: text.problem });
    }
    if (members.length < PER_CALL) break;
    from = behind(members.at(-1) as Buffer);
  }
  return found.slice(0, limit);
}

/** Bound of the order behind a refusal of the present topic. */
function behindRefusal({ refusedAt, partition, offset }: RefusedPlace, topics: ReadonlyMap<number, string>): Buffer {
  const topic = topics.get(partition) ?? "00000000-0000-0000-0000-000000000000";
  return behind(instantBytes(refusedAt), placeOf(partition, topic, offset));
}

async function listUntold(db: RedisConnection, partitions: readonly number[], limit: number): Promise<IngestRefusal[]> {
  const found: IngestRefusal[] = [];
  for (const partition of partitions) {
    const [first, last] = [`[`, `(`].map((sign, i) => Buffer.concat([Buffer.from(sign), u32(partition + i)]));
    const count = `${Math.min(PER_CALL, limit - found.length)}`;
    const range = [first as Buffer, last as Buffer, "BYLEX", "LIMIT", "0", count];
    const [members] = await db.call([["ZRANGE", db.key("igu"), ...range]]);
    const refusals = await refusalsOf(db, members as Buffer[]);
    const places = refusals.map(({ topic, offset }) => placeOf(partition, topic, offset));
    const values = places.length === 0 ? [[]] : await db.call([["HMGET", db.key("igv"), ...places]]);
    for (const [i, { topic, offset, text }] of refusals.entries()) {
      const { problem, timestamp, contentType, valueBytes, hasValue } = text;
      const value = hasValue ? ((values[0] as (Buffer | null)[])[i] ?? Buffer.alloc(0)) : null;
      found.push({
        ...{ topic, partition, offset, timestamp: Number(timestamp), problem, contentType, value, valueBytes },
      });
    }
    if (found.length >= limit) break;
  }
  return found;
}
