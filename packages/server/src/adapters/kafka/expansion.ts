import { gunzipSync, zstdDecompressSync } from "node:zlib";
import type * as kafka from "@platformatic/kafka";

/**
 * Largest size in bytes that compressed records of one response may have when they are expanded. A producer that fills a
 * batch to the largest request of a broker's defaults stays far below.
 */
export const EXPANDED_MAX_BYTES = 8 * 1024 * 1024;

/** Compressed records would expand to more than `EXPANDED_MAX_BYTES`. */
export class ExpansionRefused extends Error {
  override readonly name = "ExpansionRefused";

  constructor() {
    super(`compressed records expand to more than ${EXPANDED_MAX_BYTES} bytes`);
  }
}

type Algorithms = typeof kafka.compressionsAlgorithms;
type Decompress = (data: Buffer) => Buffer;

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** Bytes of the header of the xerial format, and of the length of each chunk in it. */
const XERIAL_HEADER = 16;
const CHUNK_HEADER = 4;
/** Largest blocks of an LZ4 frame, by the code in its header. */
const LZ4_BLOCKS: Readonly<Record<number, number>> = { 4: 65_536, 5: 262_144, 6: 1_048_576, 7: 4_194_304 };
/** A byte of an LZ4 block stands for at most 255 bytes. */
const LZ4_RATIO = 255;

const limited = new WeakSet<Algorithms>();
let left = EXPANDED_MAX_BYTES;
let isSpent = false;

/**
 * Bounds what the client expands. The client parses a whole response at once, and expands every batch in it, so that a small
 * record of a stranger could take all memory. The client has no setting for that, so its table of algorithms is changed.
 */
export function boundExpansion(algorithms: Algorithms): void {
  if (limited.has(algorithms)) return;
  limited.add(algorithms);
  const { gzip, zstd, snappy, lz4 } = algorithms;
  bound(gzip, (data) => gunzipSync(data, { maxOutputLength: left }));
  bound(zstd, (data) => zstdDecompressSync(data, { maxOutputLength: left }));
  bound(snappy, measured(snappy.decompressSync as Decompress, snappySize));
  bound(lz4, measured(lz4.decompressSync as Decompress, lz4Size));
}

function bound(algorithm: { decompressSync: unknown }, decompress: Decompress): void {
  algorithm.decompressSync = (data: Buffer) => {
    renewLater();
    const expanded = refusing(() => decompress(data));
    left = Math.max(1, left - expanded.length);
    return expanded;
  };
}

/** Gives the next response the whole bound: the parsing of one response ends before the next microtask. */
function renewLater(): void {
  if (isSpent) return;
  isSpent = true;
  queueMicrotask(() => {
    left = EXPANDED_MAX_BYTES;
    isSpent = false;
  });
}

/** @throws {ExpansionRefused} */
function refusing(decompress: () => Buffer): Buffer {
  try {
    return decompress();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw new ExpansionRefused();
    throw error;
  }
}

function measured(decompress: Decompress, sizeOf: (data: Buffer) => number): Decompress {
  return (data) => {
    if (sizeOf(data) > left) throw new ExpansionRefused();
    return decompress(data);
  };
}

/** Size that the data name for themselves; the library takes no more. */
function snappySize(data: Buffer): number {
  if (!data.subarray(0, XERIAL.length).equals(XERIAL)) return varint(data, 0);
  let size = 0;
  for (let at = XERIAL_HEADER; at + CHUNK_HEADER <= data.length; ) {
    size += varint(data, at + CHUNK_HEADER);
    at += CHUNK_HEADER + data.readUInt32BE(at);
  }
  return size;
}

function varint(data: Buffer, from: number): number {
  let value = 0;
  for (let at = from, factor = 1; at < Math.min(data.length, from + 5); at++, factor *= 128) {
    const byte = data[at] ?? 0;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return value;
}

/** Upper bound of the expanded size of an LZ4 frame, from the sizes of its blocks. */
function lz4Size(data: Buffer): number {
  const flags = data[4] ?? 0;
  const largest = LZ4_BLOCKS[((data[5] ?? 0) >> 4) & 7] ?? Number.POSITIVE_INFINITY;
  const checksum = (flags & 0b1_0000) === 0 ? 0 : 4;
  let at = 7 + ((flags & 0b1000) === 0 ? 0 : 8) + ((flags & 1) === 0 ? 0 : 4);
  let size = 0;
  while (at + 4 <= data.length) {
    const header = data.readUInt32LE(at);
    const length = header & 0x7f_ff_ff_ff;
    if (length === 0) break;
    size += header > 0x7f_ff_ff_ff ? length : Math.min(largest, length * LZ4_RATIO);
    at += 4 + length + checksum;
  }
  return size;
}
