import type { LifecycleEvent } from "../../../domain/lifecycle-event.ts";
import { UnstorableValue } from "../connection/errors.ts";

/**
 * Bytes of events, column by column: the number of events, the different texts, an index into these texts for each text of
 * each event, and the numbers as differences to the event before. All numbers are varints: 7 bits a byte, the lowest first.
 */

/** The bytes are not those of events. */
export class MalformedEvents extends Error {
  override readonly name = "MalformedEvents";
}

const TEXTS = [
  ...["kind", "executionId", "jobId", "workflowId", "tenant", "pool", "handler", "trigger", "workerId"],
  ...["state", "reason", "errorName"],
] as const satisfies readonly (keyof LifecycleEvent)[];
const NUMBERS = [
  ...["at", "node", "item", "attempt", "scheduledAt", "createdAt", "startedAt", "finishedAt"],
  ...["failures", "lost", "jobVersion"],
] as const satisfies readonly (keyof LifecycleEvent)[];
/** Fields that are never null. */
const REQUIRED: ReadonlySet<string> = new Set([
  ...["kind", "tenant", "pool", "handler", "at", "attempt", "failures", "lost", "jobVersion"],
]);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;
/** Longest varint, in bytes: 53 bits. */
const VARINT_BYTES = 8;
/** Numbers are smaller than this. Their differences, doubled, are exact. */
const NUMBER_MAX = 2 ** 51;
const MORE = 0x80;

/** @throws {UnstorableValue} a number is not whole, or too large */
export function eventBytes(events: readonly LifecycleEvent[]): Uint8Array {
  const writer = new Writer();
  const indexes = new Map<string, number>();
  const columns = TEXTS.map((name) =>
    events.map((event) => {
      const text = event[name] as string | null;
      if (text === null) return 0;
      let index = indexes.get(text);
      if (index === undefined) indexes.set(text, (index = indexes.size + 1));
      return index;
    }),
  );
  writer.number(events.length);
  writer.number(indexes.size);
  for (const text of indexes.keys()) writer.text(text);
  for (const column of columns) for (const index of column) writer.number(index);
  for (const name of NUMBERS) {
    let before = 0;
    for (const event of events) {
      const value = event[name] as number | null;
      if (value === null) writer.number(0);
      else {
        if (!Number.isInteger(value) || Math.abs(value) >= NUMBER_MAX)
          throw new UnstorableValue(`${value} is no number for the ${name} of an event`);
        const step = value - before;
        writer.number(step < 0 ? -2 * step : 2 * step + 1);
        before = value;
      }
    }
  }
  return writer.bytes();
}

/** @throws {MalformedEvents} the bytes are not those of `eventBytes` */
export function eventsFrom(bytes: Uint8Array): LifecycleEvent[] {
  const reader = new Reader(bytes);
  const count = reader.count(TEXTS.length + NUMBERS.length);
  const texts = Array.from({ length: reader.count(1) }, () => reader.text());
  const events = Array.from({ length: count }, () => ({}) as Record<string, string | number | null>);
  for (const name of TEXTS) {
    for (const event of events) {
      const index = reader.number();
      const text = index === 0 ? null : texts[index - 1];
      if (text === undefined) throw new MalformedEvents(`there is no text ${index}`);
      event[name] = required(name, text);
    }
  }
  for (const name of NUMBERS) {
    let before = 0;
    for (const event of events) {
      const coded = reader.number();
      if (coded !== 0) before += coded % 2 === 1 ? (coded - 1) / 2 : -coded / 2;
      event[name] = required(name, coded === 0 ? null : before);
    }
  }
  reader.end();
  return events as unknown as LifecycleEvent[];
}

function required<T>(name: string, value: T | null): T | null {
  if (value === null && REQUIRED.has(name)) throw new MalformedEvents(`an event has no ${name}`);
  return value;
}

class Writer {
  #buffer = Buffer.allocUnsafe(4_096);
  #length = 0;

  number(value: number): void {
    this.#reserve(VARINT_BYTES);
    let rest = value;
    // Bit operations take 32 bits.
    for (; rest > 0x7fffffff; rest = Math.floor(rest / MORE)) this.#buffer[this.#length++] = (rest % MORE) | MORE;
    for (; rest >= MORE; rest >>>= 7) this.#buffer[this.#length++] = (rest & (MORE - 1)) | MORE;
    this.#buffer[this.#length++] = rest;
  }

  /** Writes 0 and 16 bytes for a UUID; else the number of bytes and one, and the bytes. */
  text(text: string): void {
    const isUuid = text.length === 36 && UUID.test(text);
    const size = isUuid ? UUID_BYTES : Buffer.byteLength(text);
    this.number(isUuid ? 0 : size + 1);
    this.#reserve(size);
    if (isUuid) this.#buffer.write(text.replaceAll("-", ""), this.#length, "hex");
    else this.#buffer.write(text, this.#length, "utf8");
    this.#length += size;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
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

  /** Number of items that follow, each of this many bytes or more, so that a false number cannot ask for much memory. */
  count(bytesEach: number): number {
    const count = this.number();
    if (count * bytesEach > this.#bytes.length - this.#at) throw new MalformedEvents("the bytes end too early");
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
