import { EVENT_POSITION_CHARS_MAX } from "@mainspring/contract/limits";
import { SHARD_COUNT } from "../../domain/ids.ts";
import { type EventPosition, type EventRef, isBefore } from "../../ports/store-events.ts";
import { ProblemError, problem } from "../http/errors.ts";

/**
 * Position of the stream of events as text: base64url of the version, a bit for each shard that has an entry, and the
 * epoch and the sequence number of these shards in ascending order. Each number is a varint of 7 bits a byte, the lowest
 * ones first.
 */
const VERSION = 1;
const BITS_BYTES = SHARD_COUNT / 8;
const HEAD_BYTES = 1 + BITS_BYTES;
/** Largest number of bytes of a varint that is a safe integer. */
const VARINT_BYTES_MAX = 8;
const BYTES_MAX = HEAD_BYTES + 2 * SHARD_COUNT * VARINT_BYTES_MAX;

const scratch = Buffer.alloc(BYTES_MAX);

export function encodePosition(position: EventPosition): string {
  scratch.fill(0, 0, HEAD_BYTES);
  scratch[0] = VERSION;
  let end = HEAD_BYTES;
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    const ref = position.get(shard);
    if (ref === undefined) continue;
    const place = 1 + (shard >> 3);
    scratch[place] = (scratch[place] as number) | (1 << (shard & 7));
    end = writeVarint(writeVarint(end, ref.epoch), ref.seq);
  }
  return scratch.toString("base64url", 0, end);
}

/** @throws {ProblemError} invalid-cursor */
export function decodePosition(token: string): EventPosition {
  const position = token.length <= EVENT_POSITION_CHARS_MAX ? readPosition(Buffer.from(token, "base64url")) : null;
  // Several texts stand for the same bytes; only one of them comes from a server.
  if (position !== null && encodePosition(position) === token) return position;
  throw new ProblemError(
    problem(
      "invalid-cursor",
      "after and Last-Event-ID must be the id of an event of GET /v1/events, unchanged; after may also be oldest, and without both the stream begins now",
    ),
  );
}

function readPosition(bytes: Buffer): EventPosition | null {
  if (bytes.length < HEAD_BYTES || bytes.length > BYTES_MAX || bytes[0] !== VERSION) return null;
  const position = new Map<number, EventRef>();
  const reader = { bytes, at: HEAD_BYTES };
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    if (((bytes[1 + (shard >> 3)] as number) & (1 << (shard & 7))) === 0) continue;
    const epoch = readVarint(reader);
    const seq = readVarint(reader);
    if (epoch === null || seq === null) return null;
    position.set(shard, { epoch, seq });
  }
  return reader.at === bytes.length ? position : null;
}

/** @returns place behind the number */
function writeVarint(from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) scratch[at++] = (rest % 0x80) | 0x80;
  scratch[at++] = rest;
  return at;
}

function readVarint(reader: { bytes: Buffer; at: number }): number | null {
  let value = 0;
  for (let count = 0; count < VARINT_BYTES_MAX; count++) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) return null;
    value += (byte & 0x7f) * 0x80 ** count;
    if (byte < 0x80) return Number.isSafeInteger(value) ? value : null;
  }
  return null;
}

/** Whether a reader at a position has every row up to another position. */
export function covers(position: EventPosition, other: EventPosition): boolean {
  for (const [shard, ref] of other) {
    const own = position.get(shard);
    if (own === undefined || isBefore(own, ref)) return false;
  }
  return true;
}
