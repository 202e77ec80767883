import {
  afterKey,
  depthOf,
  firstItem,
  isArray,
  isObject,
  nextItem,
  type Slice,
  skipSpace,
  stringEnd,
  stringIn,
  valueEnd,
} from "./json-slices.ts";

/** Way from a value to a part of it: names of members of objects, and indexes of items of arrays. */
export type Path = readonly (string | number)[];

/** Starts of the items of an array, or of the members of an object by name. */
type Index = Uint32Array | ReadonlyMap<string, number>;

/** Items that one step indexes. */
const STEP_ITEMS = 1_000;
/** Estimated memory of an indexed member beside its name, in bytes. */
const MEMBER_BYTES = 80;

/**
 * A validated JSON text whose parts are found by paths without creating its value: parts keep their bytes, so numbers
 * keep all their digits. The text indexes the arrays and objects that paths lead through, so that many paths into one
 * large text cost one scan.
 */
export class JsonValue {
  readonly bytes: Buffer;
  readonly #indexes = new Map<number, Index>();
  #indexBytes = 0;
  #depth: number | null = null;

  constructor({ buffer, byteOffset, length }: Uint8Array) {
    this.bytes = Buffer.from(buffer, byteOffset, length);
  }

  /** Estimated memory of the text and its indexes, in bytes. */
  get weight(): number {
    return this.bytes.length + this.#indexBytes;
  }

  /** Nesting of the deepest value of the text. */
  get depth(): number {
    return (this.#depth ??= depthOf(this.bytes, { start: 0, end: this.bytes.length }));
  }

  /** Finds a part, in steps of a few milliseconds each. @returns null: the path leads nowhere */
  *finding(path: Path): Generator<undefined, Slice | null> {
    const json = this.bytes;
    let at = skipSpace(json, 0);
    for (const step of path) {
      const index = this.#indexes.get(at) ?? (yield* this.#indexing(at));
      const next = index instanceof Uint32Array ? itemOf(index, step) : memberOf(index, step);
      if (next === undefined) return null;
      at = next;
    }
    return { start: at, end: valueEnd(json, at) };
  }

  /**
   * Counts the items of an array, in steps of a few milliseconds each.
   * @returns NOT_FOUND: the path leads nowhere; NOT_AN_ARRAY: it leads to another value
   */
  *counting(path: Path): Generator<undefined, number | "NOT_FOUND" | "NOT_AN_ARRAY"> {
    const slice = yield* this.finding(path);
    if (slice === null) return "NOT_FOUND";
    if (!isArray(this.bytes, slice.start)) return "NOT_AN_ARRAY";
    const index = this.#indexes.get(slice.start) ?? (yield* this.#indexing(slice.start));
    return index instanceof Uint32Array ? index.length : "NOT_AN_ARRAY";
  }

  /** Indexes the array or object at a position; another value has no members. */
  *#indexing(at: number): Generator<undefined, Index> {
    const json = this.bytes;
    if (!isArray(json, at) && !isObject(json, at)) return NO_MEMBERS;
    const index = isArray(json, at) ? yield* indexingItems(json, at) : yield* indexingMembers(json, at);
    this.#indexes.set(at, index);
    this.#indexBytes += bytesOf(index);
    yield;
    return index;
  }
}

const NO_MEMBERS: Index = new Map();

function itemOf(items: Uint32Array, step: string | number): number | undefined {
  return typeof step === "number" ? items[step] : undefined;
}

function memberOf(members: ReadonlyMap<string, number>, step: string | number): number | undefined {
  return typeof step === "string" ? members.get(step) : undefined;
}

function* indexingItems(json: Buffer, at: number): Generator<undefined, Uint32Array> {
  const starts: number[] = [];
  for (let item = firstItem(json, at); item !== null; item = nextItem(json, valueEnd(json, item))) {
    starts.push(item);
    if (starts.length % STEP_ITEMS === 0) yield;
  }
  return new Uint32Array(starts);
}

/** With repeated names the last member counts, as in JSON.parse. */
function* indexingMembers(json: Buffer, at: number): Generator<undefined, ReadonlyMap<string, number>> {
  const members = new Map<string, number>();
  let count = 0;
  for (let key = firstItem(json, at); key !== null; ) {
    const end = stringEnd(json, key);
    const value = afterKey(json, end);
    members.set(stringIn(json, { start: key, end }), value);
    key = nextItem(json, valueEnd(json, value));
    if (++count % STEP_ITEMS === 0) yield;
  }
  return members;
}

function bytesOf(index: Index): number {
  if (index instanceof Uint32Array) return index.byteLength;
  let bytes = 0;
  for (const name of index.keys()) bytes += MEMBER_BYTES + 2 * name.length;
  return bytes;
}
