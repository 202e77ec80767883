import { UnstorableValue } from "../../../ports/storable.ts";

/**
 * Columns of a batch as PostgreSQL array parameters. Arrays are sent in the binary format (the client sends a Buffer
 * that way), which costs this process a third of writing numbers as text and needs no hexadecimal for bytes. Only uuids
 * are sent as text, because the program holds them as text. A column without any value is NULL as a whole, which costs
 * nothing on either side.
 *
 * Values that do not fit are refused here (`UnstorableValue`), because the binary format would cut them silently.
 */
export type ArrayParam = Buffer | string | null;

type Get<R, V> = (row: R) => V | null;

const OID = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, float8: 701 } as const;
const HEADER_BYTES = 20;
/** Length that precedes each element's value in the array format, in bytes. */
const LENGTH_BYTES = 4;

export function uuids<R>(rows: readonly R[], get: Get<R, string>): string {
  let list = "";
  for (const row of rows) list += list === "" ? (get(row) ?? "NULL") : `,${get(row) ?? "NULL"}`;
  return `{${list}}`;
}

export function int2s<R>(rows: readonly R[], get: Get<R, number>): ArrayParam {
  return fixedArray(OID.int2, 2, rows, get, (buffer, value, at) => {
    if ((value << 16) >> 16 !== value) throw new UnstorableValue(`${value} is not a whole number of 16 bits`);
    buffer.writeInt16BE(value, at);
  });
}

export function int4s<R>(rows: readonly R[], get: Get<R, number>): ArrayParam {
  return fixedArray(OID.int4, 4, rows, get, (buffer, value, at) => {
    if ((value | 0) !== value) throw new UnstorableValue(`${value} is not a whole number of 32 bits`);
    buffer.writeInt32BE(value, at);
  });
}

export function int8s<R>(rows: readonly R[], get: Get<R, number>): ArrayParam {
  return fixedArray(OID.int8, 8, rows, get, (buffer, value, at) => {
    if (!Number.isSafeInteger(value)) throw new UnstorableValue(`${value} is not a whole number of 53 bits`);
    const high = Math.floor(value / 0x100000000);
    buffer.writeInt32BE(high, at);
    buffer.writeUInt32BE(value - high * 0x100000000, at + 4);
  });
}

export function float8s<R>(rows: readonly R[], get: Get<R, number>): ArrayParam {
  return fixedArray(OID.float8, 8, rows, get, (buffer, value, at) => {
    if (!Number.isFinite(value)) throw new UnstorableValue(`${value} is not a finite number`);
    buffer.writeDoubleBE(value, at);
  });
}

export function bools<R>(rows: readonly R[], get: Get<R, boolean>): ArrayParam {
  return fixedArray(OID.bool, 1, rows, get, (buffer, value, at) => {
    buffer[at] = value ? 1 : 0;
  });
}

/** @param get value of a row; an empty text is a value like any other, null is NULL */
export function texts<R>(rows: readonly R[], get: Get<R, string>): ArrayParam {
  return flexibleArray(OID.text, rows, get, maxUtf8Bytes, writeText);
}

export function byteas<R>(rows: readonly R[], get: Get<R, Uint8Array>): ArrayParam {
  return flexibleArray(OID.bytea, rows, get, (value) => value.length, writeBytes);
}

function maxUtf8Bytes(value: string): number {
  return value.length * 3;
}

function writeText(buffer: Buffer, value: string, at: number): number {
  return buffer.write(value, at, "utf8");
}

function writeBytes(buffer: Buffer, value: Uint8Array, at: number): number {
  buffer.set(value, at);
  return value.length;
}

function fixedArray<R, V>(
  oid: number,
  bytes: number,
  rows: readonly R[],
  get: Get<R, V>,
  write: (buffer: Buffer, value: V, at: number) => void,
): ArrayParam {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + rows.length * (LENGTH_BYTES + bytes));
  let at = HEADER_BYTES;
  let nulls = 0;
  for (const row of rows) {
    const value = get(row);
    if (value === null) {
      nulls++;
      at = buffer.writeInt32BE(-1, at);
      continue;
    }
    at = buffer.writeInt32BE(bytes, at);
    write(buffer, value, at);
    at += bytes;
  }
  return finish(buffer, oid, rows.length, nulls, at);
}

function flexibleArray<R, V>(
  oid: number,
  rows: readonly R[],
  get: Get<R, V>,
  maxBytes: (value: V) => number,
  write: (buffer: Buffer, value: V, at: number) => number,
): ArrayParam {
  const values = rows.map(get);
  let total = HEADER_BYTES + rows.length * LENGTH_BYTES;
  let nulls = 0;
  for (const value of values) {
    if (value === null) nulls++;
    else total += maxBytes(value);
  }
  if (nulls === rows.length) return null;
  const buffer = Buffer.allocUnsafe(total);
  let at = HEADER_BYTES;
  for (const value of values) {
    const length = value === null ? -1 : write(buffer, value, at + LENGTH_BYTES);
    buffer.writeInt32BE(length, at);
    at += LENGTH_BYTES + Math.max(length, 0);
  }
  return finish(buffer, oid, rows.length, nulls, at);
}

/**
 * Writes the header of PostgreSQL's array format: dimensions, whether there are NULLs, element type, length, lower
 * bound.
 */
function finish(buffer: Buffer, oid: number, length: number, nulls: number, end: number): ArrayParam {
  if (nulls === length) return null;
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(nulls > 0 ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
  return buffer.subarray(0, end);
}
