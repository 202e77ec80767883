import { BadTzif, OFFSET_MAX_SEC } from "./bad-tzif.ts";
import { type PosixRule, posixRule } from "./posix-rule.ts";
import type { EpochSec } from "./time-zone.ts";

/** The clock rules of one zone: explicit changes of the offset, and a rule for the time after the last one. */
export interface ZoneRules {
  /** Instants at which the offset changes, ascending. */
  changes: readonly EpochSec[];
  /** Offsets from UTC in seconds: the first one before all changes, then one for each change. */
  offsets: readonly number[];
  /** The rule that holds after the last change; null: the last offset stays. */
  rule: PosixRule | null;
}

const HEADER_BYTES = 44;
/** Largest accepted file in bytes; the largest file of the database has 3,000. */
const BYTES_MAX = 65_536;

/**
 * Reads a compiled zone file (RFC 9636), version 2 or later.
 * @throws {BadTzif}
 */
export function readTzif(bytes: Uint8Array): ZoneRules {
  if (bytes.length > BYTES_MAX) throw new BadTzif(`has ${bytes.length} bytes: ${BYTES_MAX} at most`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const first = headerAt(view, 0);
  if (first.version < 50)
    throw new BadTzif("has version 1 of the format, which ends in 2037: version 2 or later is needed");
  // The first block has 32-bit times for old readers; the second block repeats its content with 64-bit times.
  const second = HEADER_BYTES + blockBytes(first, 4);
  const header = headerAt(view, second);
  const start = second + HEADER_BYTES;
  const end = start + blockBytes(header, 8);
  if (end + 2 > bytes.length) throw new BadTzif("ends before its footer");
  const { changes, offsets } = changesIn(view, start, header);
  return { changes, offsets, rule: posixRule(footerAt(bytes, end)) };
}

interface Header {
  version: number;
  isUtCount: number;
  isStdCount: number;
  leapCount: number;
  timeCount: number;
  typeCount: number;
  charCount: number;
}

function headerAt(view: DataView, at: number): Header {
  if (at + HEADER_BYTES > view.byteLength || view.getUint32(at) !== 0x545a6966) {
    throw new BadTzif('does not begin with "TZif"');
  }
  const count = (index: number) => view.getUint32(at + 20 + 4 * index);
  const header = {
    version: view.getUint8(at + 4),
    ...{ isUtCount: count(0), isStdCount: count(1), leapCount: count(2) },
    ...{ timeCount: count(3), typeCount: count(4), charCount: count(5) },
  };
  if (header.typeCount === 0 || header.typeCount > 256)
    throw new BadTzif(`has ${header.typeCount} types of local time`);
  return header;
}

function blockBytes(header: Header, timeBytes: number): number {
  const { isUtCount, isStdCount, leapCount, timeCount, typeCount, charCount } = header;
  return timeCount * (timeBytes + 1) + typeCount * 6 + charCount + leapCount * (timeBytes + 4) + isStdCount + isUtCount;
}

/**
 * Reads the changes of the offset. Changes of only the name or the daylight saving flag are left out, because clocks
 * show the same before and after.
 */
function changesIn(view: DataView, start: number, { timeCount, typeCount }: Header) {
  const typesAt = start + timeCount * 9;
  const offsetOf = (type: number) => {
    if (type >= typeCount) throw new BadTzif(`names the type ${type} of local time: it has ${typeCount}`);
    const offset = view.getInt32(typesAt + type * 6);
    if (Math.abs(offset) >= OFFSET_MAX_SEC) throw new BadTzif(`has an offset of ${offset} seconds from UTC`);
    return offset;
  };
  const changes: EpochSec[] = [];
  const offsets = [offsetOf(0)];
  let before = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < timeCount; i++) {
    const at = Number(view.getBigInt64(start + i * 8));
    if (at <= before) throw new BadTzif("has changes that are not in order");
    before = at;
    const offset = offsetOf(view.getUint8(start + timeCount * 8 + i));
    if (offset === offsets.at(-1)) continue;
    changes.push(at);
    offsets.push(offset);
  }
  return { changes, offsets };
}

function footerAt(bytes: Uint8Array, start: number): string {
  const end = bytes.indexOf(10, start + 1);
  if (bytes[start] !== 10 || end < 0) throw new BadTzif("has no footer");
  return String.fromCharCode(...bytes.subarray(start + 1, end));
}
