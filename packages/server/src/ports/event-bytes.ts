import { type LifecycleEvent, NO_EVENT_FIELDS } from "../domain/lifecycle-event.ts";
import { UnstorableValue } from "./storable.ts";

/**
 * Bytes of events, column by column: the number of events, the different texts, an index into these texts for each text of
 * each event, and the numbers as differences to the event before. A column begins with 1 if it has one value for all events,
 * and with 0 if each event has its own. All numbers are varints: 7 bits a byte, the lowest first.
 */

/** The bytes are not those of events. */
export class MalformedEvents extends Error {
  override readonly name = "MalformedEvents";
}

const TEXTS = [
  ...["kind", "executionId", "jobId", "workflowId", "tenant", "pool", "handler", "trigger", "workerId"],
  ...["state", "reason", "errorName", "step", "session", "traceparent"],
] as const satisfies readonly (keyof LifecycleEvent)[];
const NUMBERS = [
  ...["at", "node", "item", "attempt", "scheduledAt", "createdAt", "startedAt", "finishedAt"],
  ...["failures", "lost", "jobVersion"],
] as const satisfies readonly (keyof LifecycleEvent)[];
/** Fields that are never null. */
const REQUIRED: ReadonlySet<string> = new Set([
  ...["kind", "tenant", "pool", "handler", "at", "attempt", "failures", "lost", "jobVersion"],
]);

const UUID_CHARS = 36;
const HYPHEN = 0x2d;
const NO_HEX = 255;
/** Value of each ASCII character as a hexadecimal digit in lower case. */
const HEX_VALUES = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = "0123456789abcdef".indexOf(String.fromCharCode(code));
  return value < 0 ? NO_HEX : value;
});
const UUID_BYTES = 16;
/** Longest varint, in bytes: 53 bits. */
const VARINT_BYTES = 8;
/** Numbers are smaller than this. Their differences, doubled, are exact. */
const NUMBER_MAX = 2 ** 51;
const MORE = 0x80;

type Fields = Record<(typeof TEXTS)[number] | (typeof NUMBERS)[number], string | number | null>;
/** An event whose fields are yet to be read. Objects that get their fields one by one are slow. */
const EMPTY: Readonly<Fields> = {
  ...{ ...NO_EVENT_FIELDS, kind: null, at: null, tenant: null, pool: null, handler: null, jobVersion: null },
};

/** @throws {UnstorableValue} a number is not whole, or too large */
export function eventBytes(events: readonly LifecycleEvent[]): Uint8Array {
  const indexes = new Map<string, number>();
  const columns = TEXTS.map((name) => indexColumn(events, name, indexes));
  const writer = new Writer();
  writer.number(events.length);
  writer.number(indexes.size);
  for (const text of indexes.keys()) writer.text(text);
  for (const column of columns) writer.column(column);
  for (const name of NUMBERS) writeNumbers(writer, events, name);
  return writer.bytes();
}

/** @param indexes index of each text, from 1; gets those that are new */
function indexColumn(
  events: readonly LifecycleEvent[],
  name: (typeof TEXTS)[number],
  indexes: Map<string, number>,
): number[] {
  // A typed array of a few numbers costs more than they do.
  const column: number[] = [];
  let before: string | null = null;
  let index = 0;
  for (let i = 0; i < events.length; i++) {
    const text: string | null = (events[i] as LifecycleEvent)[name];
    // Many events in a row have the same text.
    if (text !== before) {
      before = text;
      index = text === null ? 0 : (indexes.get(text) ?? 0);
      if (text !== null && index === 0) indexes.set(text, (index = indexes.size + 1));
    }
    column.push(index);
  }
  return column;
}

function writeNumbers(writer: Writer, events: readonly LifecycleEvent[], name: (typeof NUMBERS)[number]): void {
  const first = events[0]?.[name] ?? null;
  const isSame = name !== "at" && events.every((event) => event[name] === first);
  const count = writer.begin(isSame, events.length);
  let before = 0;
  for (let i = 0; i < count; i++) {
    const value: number | null = (events[i] as LifecycleEvent)[name];
    if (value === null) writer.put(0);
    else {
      if (!Number.isInteger(value) || Math.abs(value) >= NUMBER_MAX)
        throw new UnstorableValue(`${value} is no number for the ${name} of an event`);
      const step = value - before;
      writer.put(step < 0 ? -2 * step : 2 * step + 1);
      before = value;
    }
  }
}

/** @throws {MalformedEvents} the bytes are not those of `eventBytes` */
export function eventsFrom(bytes: Uint8Array): LifecycleEvent[] {
  const reader = new Reader(bytes);
  // Each event has a number of its own in the column of `at`.
  const count = reader.count();
  const texts = Array.from({ length: reader.count() }, () => reader.text());
  const events = Array.from({ length: count }, (): Fields => ({ ...EMPTY }));
  for (const name of TEXTS) {
    readColumn(reader, events, name, (index) => {
      const text = index === 0 ? null : texts[index - 1];
      if (text === undefined) throw new MalformedEvents(`there is no text ${index}`);
      return text;
    });
  }
  for (const name of NUMBERS) {
    let before = 0;
    readColumn(reader, events, name, (coded) => {
      if (coded !== 0) before += coded % 2 === 1 ? (coded - 1) / 2 : -coded / 2;
      return coded === 0 ? null : before;
    });
  }
  reader.end();
  return events as unknown as LifecycleEvent[];
}

function readColumn(
  reader: Reader,
  events: readonly Fields[],
  name: keyof Fields,
  valueOf: (coded: number) => string | number | null,
): void {
  const mark = reader.number();
  if (mark > 1 || (mark === 1 && name === "at")) throw new MalformedEvents(`the column ${name} begins with ${mark}`);
  const isSame = mark === 1;
  const first = isSame && events.length > 0 ? required(name, valueOf(reader.number())) : null;
  for (const event of events) event[name] = isSame ? first : required(name, valueOf(reader.number()));
}

function required<T>(name: string, value: T | null): T | null {
  if (value === null && REQUIRED.has(name)) throw new MalformedEvents(`an event has no ${name}`);
  return value;
}

class Writer {
  // Small enough for the pool of buffers: most blocks have few events.
  #buffer = Buffer.allocUnsafe(1_024);
  #length = 0;

  number(value: number): void {
    this.reserve(VARINT_BYTES);
    this.put(value);
  }

  /** Writes a number for which there is room. */
  put(value: number): void {
    let rest = value;
    // Bit operations take 32 bits.
    for (; rest > 0x7fffffff; rest = Math.floor(rest / MORE)) this.#buffer[this.#length++] = (rest % MORE) | MORE;
    for (; rest >= MORE; rest >>>= 7) this.#buffer[this.#length++] = (rest & (MORE - 1)) | MORE;
    this.#buffer[this.#length++] = rest;
  }

  /** Begins a column, and makes room for it. @returns the number of its values */
  begin(isSame: boolean, events: number): number {
    this.number(isSame ? 1 : 0);
    const count = isSame ? Math.min(1, events) : events;
    this.reserve(count * VARINT_BYTES);
    return count;
  }

  /** Writes the column of a text. */
  column(indexes: readonly number[]): void {
    let same = 1;
    while (same < indexes.length && indexes[same] === indexes[0]) same++;
    const isSame = same >= indexes.length;
    const count = this.begin(isSame, indexes.length);
    for (let i = 0; i < count; i++) this.put(indexes[i] as number);
  }

  /** Writes 0 and 16 bytes for a UUID; else the number of bytes and one, and the bytes. */
  text(text: string): void {
    this.reserve(1 + UUID_BYTES);
    if (text.length === UUID_CHARS && this.#uuid(text)) return;
    const size = Buffer.byteLength(text);
    this.number(size + 1);
    this.reserve(size);
    this.#buffer.write(text, this.#length, "utf8");
    this.#length += size;
  }

  /** @returns false: the text is no UUID in lower case, and nothing was written */
  #uuid(text: string): boolean {
    let at = this.#length;
    this.#buffer[at++] = 0;
    for (let i = 0; i < UUID_CHARS; i += 2) {
      if (i === 8 || i === 13 || i === 18 || i === 23) {
        if (text.charCodeAt(i) !== HYPHEN) return false;
        i++;
      }
      const high = HEX_VALUES[text.charCodeAt(i)] ?? NO_HEX;
      const low = HEX_VALUES[text.charCodeAt(i + 1)] ?? NO_HEX;
      if (high === NO_HEX || low === NO_HEX) return false;
      this.#buffer[at++] = high * 16 + low;
    }
    this.#length = at;
    return true;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Makes room for this many bytes more. */
  reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#length + bytes));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  number(): number {
    let value = 0;
    for (let unit = 1, read = 0; read < VARINT_BYTES; unit *= MORE, read++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new MalformedEvents("the bytes end too early");
      value += (byte & (MORE - 1)) * unit;
      if (byte < MORE) return value;
    }
    throw new MalformedEvents(`the number at byte ${this.#at} is too large`);
  }

  /** Number of items that follow, each of a byte or more, so that a false number cannot ask for much memory. */
  count(): number {
    const count = this.number();
    if (count > this.#bytes.length - this.#at) throw new MalformedEvents("the bytes end too early");
    return count;
  }

  text(): string {
    const coded = this.number();
    const size = coded === 0 ? UUID_BYTES : coded - 1;
    const [from, to] = [this.#at, this.#at + size];
    if (to > this.#bytes.length) throw new MalformedEvents("the bytes end too early");
    this.#at = to;
    if (coded > 0) return this.#bytes.toString("utf8", from, to);
    const hex = this.#bytes.toString("hex", from, to);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  end(): void {
    if (this.#at < this.#bytes.length) throw new MalformedEvents("the bytes do not end where the events do");
  }
}
