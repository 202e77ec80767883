import type { DescMessage } from "@bufbuild/protobuf";

/** Where messages lie within a message: by field number. */
type Shape = ReadonlyMap<number, Shape>;

const shapes = new Map<string, Shape>();

/** A piece of a serialised message, itself a message. */
export interface Piece {
  bytes: Uint8Array;
  /** How many it has, those of the messages within it included; the count ends beyond the limit. */
  fields: number;
  /** Number of its first field. */
  first: number;
}

/** Where a message is cut. */
export interface PieceLimits {
  fields: number;
  bytes: number;
  /** Up to how many the fields of a single outermost field are counted. */
  counted: number;
}

/**
 * Cuts a serialised message between its outermost fields, so that each piece can be read by itself: fields are what
 * reading costs, in time and memory, and a message of a few MiB can hold millions. A single field that exceeds a limit
 * is a piece of its own. Bytes that are no message are cut anywhere.
 */
export function* piecesOf(desc: DescMessage, bytes: Uint8Array, limits: PieceLimits): Generator<Piece> {
  const shape = shapeOf(desc);
  let start = 0;
  let fields = 0;
  let first = 0;
  for (let at = 0; at < bytes.length; ) {
    const field = new FieldCounter(bytes, at, limits.counted);
    const number = field.one(shape);
    const isFull = fields + field.count > limits.fields || field.at - start > limits.bytes;
    if (fields > 0 && isFull) {
      yield { bytes: bytes.subarray(start, at), fields, first };
      [start, fields] = [at, 0];
    }
    if (fields === 0) first = number;
    fields += field.count;
    at = field.at;
  }
  if (fields > 0) yield { bytes: bytes.subarray(start), fields, first };
}

/** @returns what is in the first field, which is a message, a text or bytes */
export function contentOf(bytes: Uint8Array): Uint8Array {
  return new FieldCounter(bytes, 0, 0).content();
}

/** Counts the fields of a serialised message as a piece does. */
export function countFields(desc: DescMessage, bytes: Uint8Array, limit: number): number {
  const counter = new FieldCounter(bytes, 0, limit);
  counter.within(shapeOf(desc), bytes.length);
  return counter.count;
}

function shapeOf(desc: DescMessage): Shape {
  const known = shapes.get(desc.typeName);
  if (known !== undefined) return known;
  const shape = new Map<number, Shape>();
  // Before its fields are looked at: a message may hold itself.
  shapes.set(desc.typeName, shape);
  for (const { number, message } of desc.fields) if (message !== undefined) shape.set(number, shapeOf(message));
  return shape;
}

class FieldCounter {
  readonly #bytes: Uint8Array;
  readonly #limit: number;
  /** Where the next field begins. */
  at: number;
  count = 0;

  constructor(bytes: Uint8Array, at: number, limit: number) {
    this.#bytes = bytes;
    this.at = at;
    this.#limit = limit;
  }

  within(shape: Shape, end: number): void {
    while (this.at < end && this.count <= this.#limit) this.one(shape, end);
  }

  /** @returns its number */
  one(shape: Shape, end = this.#bytes.length): number {
    const tag = this.#varint();
    const number = Math.floor(tag / 8);
    const type = tag & 7;
    this.count++;
    if (type === 0) this.#varint();
    else if (type === 1) this.at += 8;
    else if (type === 5) this.at += 4;
    else if (type === 2) this.#enter(shape.get(number), end);
    // Groups are not part of proto3; the decoder refuses what it cannot read.
    else this.at = end;
    this.at = Math.min(this.at, end);
    return number;
  }

  content(): Uint8Array {
    this.#varint();
    const length = this.#varint();
    return this.#bytes.subarray(this.at, this.at + length);
  }

  #enter(shape: Shape | undefined, outerEnd: number): void {
    const length = this.#varint();
    const end = Math.min(this.at + length, outerEnd);
    if (shape !== undefined) this.within(shape, end);
    this.at = end;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#bytes[this.at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    return value;
  }
}
