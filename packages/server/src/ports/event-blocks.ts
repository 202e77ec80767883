import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { LifecycleEvent } from "../domain/lifecycle-event.ts";
import { eventBytes, eventsFrom, MalformedEvents } from "./event-bytes.ts";
import { asWritten, type Exceptions } from "./told-events.ts";

/**
 * Blocks of events. A row of the outbox is a block of the commit's own events, and behind it the blocks that the commit has
 * moved out of the inbox. A block is one byte of flags, four bytes of length, and the bytes of the events.
 */

/** Flag: the bytes are deflated. */
const DEFLATED = 1;
/** Flag: the events do not depend on which rows the commit has written, because an earlier transaction wrote theirs. */
const CERTAIN = 2;
const HEADER_BYTES = 5;
/** Bytes from which on compression is tried. */
const COMPRESSED_FROM = 200;
/** Largest content of a block, in bytes. */
const BLOCK_MAX = 256 * 1024 * 1024;

/** Block of the events of a commit. */
export function ownBlock(events: readonly LifecycleEvent[]): Uint8Array {
  return events.length === 0 ? new Uint8Array() : block(events, 0);
}

/** Block of events whose rows the same transaction writes. */
export function certainBlock(events: readonly LifecycleEvent[]): Uint8Array {
  return block(events, CERTAIN);
}

function block(events: readonly LifecycleEvent[], flags: number): Uint8Array {
  const bytes = eventBytes(events);
  const deflated = bytes.length < COMPRESSED_FROM ? bytes : deflateRawSync(bytes, { level: 1 });
  const isDeflated = deflated.length < bytes.length;
  const content = isDeflated ? deflated : bytes;
  const whole = Buffer.allocUnsafe(HEADER_BYTES + content.length);
  whole.writeUInt8(isDeflated ? flags | DEFLATED : flags, 0);
  whole.writeUInt32BE(content.length, 1);
  whole.set(content, HEADER_BYTES);
  return whole;
}

/**
 * Events of a row of the outbox.
 * @param exceptions of the row's commit
 * @throws {MalformedEvents} the bytes are not those of blocks
 */
export function eventsOfRow(bytes: Uint8Array, exceptions: Exceptions): LifecycleEvent[] {
  const events: LifecycleEvent[] = [];
  const { missed, held, unrecorded } = exceptions;
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < whole.length; ) {
    if (whole.length - at < HEADER_BYTES) throw new MalformedEvents("the header of a block is incomplete");
    const [flags, end] = [whole.readUInt8(at), at + HEADER_BYTES + whole.readUInt32BE(at + 1)];
    if (flags > (DEFLATED | CERTAIN)) throw new MalformedEvents(`a block has the unknown flags ${flags}`);
    if (end > whole.length) throw new MalformedEvents("a block ends too early");
    const own = eventsFrom(contentOf(whole.subarray(at + HEADER_BYTES, end), flags));
    const isCertain = (flags & CERTAIN) !== 0 || missed.size + held.size + unrecorded.size === 0;
    const counting = isCertain ? own : own.flatMap((event) => asWritten(event, exceptions));
    for (const event of counting) events.push(event);
    at = end;
  }
  return events;
}

function contentOf(bytes: Uint8Array, flags: number): Uint8Array {
  if ((flags & DEFLATED) === 0) return bytes;
  try {
    return inflateRawSync(bytes, { maxOutputLength: BLOCK_MAX });
  } catch (error) {
    throw new MalformedEvents("a block cannot be inflated", { cause: error });
  }
}
