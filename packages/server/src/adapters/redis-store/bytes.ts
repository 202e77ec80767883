/** Argument of a function that says nothing. */
export const NO_BYTES = Buffer.alloc(0);
/** Bytes of an id, and of a digest. */
export const ID_BYTES = 16;
/** Largest instant of a record, which has 6 bytes; the greatest value stands for none. */
export const INSTANT_MAX = 2 ** 48 - 2;
const NO_INSTANT = 2 ** 48 - 1;
/** Offset that makes a lane's hash of 53 bits fit into 7 bytes. */
const HIGH = 2 ** 32;

export function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}

export function idOf(bytes: Buffer, at = 0): string {
  const hex = bytes.toString("hex", at, at + ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Bound of a lexical range behind a member, or before it. @param member its parts */
export function behind(...member: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from("("), ...member]);
}

/** Fields and values of a hash, as Redis answers them. */
export function pairsOf(hash: readonly Buffer[]): [field: Buffer, value: Buffer][] {
  return Array.from({ length: hash.length / 2 }, (_, i) => [hash[2 * i], hash[2 * i + 1]] as [Buffer, Buffer]);
}

export function writeInstant(bytes: Buffer, value: number | null, at: number): void {
  bytes.writeUIntBE(value ?? NO_INSTANT, at, 6);
}

export function instantAt(bytes: Buffer, at: number): number | null {
  const value = bytes.readUIntBE(at, 6);
  return value === NO_INSTANT ? null : value;
}

export function instantBytes(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(6);
  // Bounds of reads may lie outside of the instants of records.
  bytes.writeUIntBE(Math.min(Math.max(Math.floor(value), 0), NO_INSTANT), 0, 6);
  return bytes;
}

/** Writes a rank in 8 bytes whose order is the order of the ranks. */
export function writeRank(bytes: Buffer, rank: number, at: number): void {
  bytes.writeDoubleBE(rank === 0 ? 0 : rank, at);
  if ((bytes[at] as number) < 0x80) bytes[at] = (bytes[at] as number) | 0x80;
  else for (let i = at; i < at + 8; i++) bytes[i] = 0xff - (bytes[i] as number);
}

export function rankAt(bytes: Buffer, at: number): number {
  const copy = Buffer.from(bytes.subarray(at, at + 8));
  if ((copy[0] as number) >= 0x80) copy[0] = (copy[0] as number) & 0x7f;
  else for (let i = 0; i < 8; i++) copy[i] = 0xff - (copy[i] as number);
  return copy.readDoubleBE();
}

export function writeLane(bytes: Buffer, lane: number, at: number): void {
  bytes.writeUIntBE(Math.floor(lane / HIGH), at, 3);
  bytes.writeUInt32BE(lane % HIGH, at + 3);
}

export function laneAt(bytes: Buffer, at: number): number {
  return bytes.readUIntBE(at, 3) * HIGH + bytes.readUInt32BE(at + 3);
}

export function laneBytes(lane: number): Buffer {
  const bytes = Buffer.allocUnsafe(7);
  writeLane(bytes, lane, 0);
  return bytes;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function u16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** @param value safe integer of at least 0 */
export function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** A field of the variable part of a record: a letter, its length and its bytes. */
export function field(letter: string, value: Buffer | string): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([Buffer.from(letter), u32(bytes.length), bytes]);
}

/** Fields by their letters. */
export function fieldsOf(bytes: Buffer, from: number, until: number): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (let at = from; at < until; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    found.set(String.fromCharCode(bytes[at] as number), bytes.subarray(at + 5, end));
    at = end;
  }
  return found;
}
