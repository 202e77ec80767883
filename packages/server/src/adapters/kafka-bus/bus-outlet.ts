import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import { atEndOfTurn, type Runtime, type Timer } from "../../ports/runtime.ts";
import type { Turns } from "../../ports/turns.ts";
import { type Letter, packed } from "../mesh/packet.ts";
import { bytesOf, portions } from "../mesh/portions.ts";
import { type BusKeys, headersOf } from "./bus-envelope.ts";
import type { Addressed } from "./bus-topics.ts";
import type { BusRecord, BusWriter } from "./bus-writer.ts";
import type { Readings, Route } from "./readings.ts";

/** Largest number and size of messages that wait, and the longest wait in ms where they have no other way. */
const WAITING_MAX = 20_000;
const WAITING_MAX_BYTES = 32 * 1024 * 1024;
const WAIT_MAX_MS = 30_000;
/** Size in bytes of records that are written at once. A larger packet goes over the mesh: brokers take 1 MiB by default. */
const SEND_MAX_BYTES = 512 * 1024;
/** First and longest wait in ms before the brokers are tried again. */
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 2_000;

export interface OutletDependencies {
  node: Incarnation;
  /** Topics that the node must be able to write. */
  topics: readonly string[];
  open(): Promise<BusWriter>;
  keys: BusKeys;
  readings: Readings;
  /** Whether messages wait for Kafka instead of going over the mesh. */
  isStrict: boolean;
  /** Carries a message that cannot go over Kafka. */
  overMesh(to: Incarnation, letter: Letter): void;
  /** Called when the brokers no longer answer, with the reason, and when they do again, with null. */
  changed(reason: string | null): void;
  turns: Turns;
  runtime: Runtime;
  log: Logger;
}

interface Waiting extends Addressed {
  to: Incarnation;
  bytes: number;
  sinceMs: number;
}

/** Messages of this node on their way into Kafka. One send is in flight; the messages of that time form the next one. */
export class BusOutlet {
  /** Numbers since the start: messages that Kafka has, that went over the mesh instead, and that were dropped. */
  readonly counts = { kafka: 0, mesh: 0, dropped: 0 };
  readonly #deps: OutletDependencies;
  #writer: BusWriter | null = null;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  #isSending = false;
  #isClosed = false;
  #failures = 0;
  #timer: Timer | null = null;

  constructor(deps: OutletDependencies) {
    this.#deps = deps;
  }

  /** Whether the brokers have answered since the last failure. */
  get isOpen(): boolean {
    return this.#writer !== null;
  }

  /** Connects for the first time. @throws {KafkaFailed} it failed; further attempts follow */
  async open(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#deps.changed(reasonOf(error));
      this.#retry();
      throw error;
    }
  }

  put(to: Incarnation, { topics, letter }: Addressed): void {
    // A message that Kafka does not carry must not wait for a send that is under way.
    if (this.#isClosed || this.#wayOf(to, topics) === "MESH") return this.#overMesh(to, letter);
    const bytes = bytesOf(letter.message);
    this.#waiting.push({ to, topics, letter, bytes, sinceMs: this.#deps.runtime.monotonicMs() });
    this.#waitingBytes += bytes;
    while (this.#waiting.length > WAITING_MAX || this.#waitingBytes > WAITING_MAX_BYTES) this.#giveUp(this.#take());
    this.flush();
  }

  /** Sends what waits, at the end of this turn. */
  flush(): void {
    if (this.#isScheduled || this.#isSending || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    atEndOfTurn(this.#deps.runtime, () => {
      this.#isScheduled = false;
      void this.#sendAll();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#writer?.close();
    this.#writer = null;
    for (const { to, letter } of this.#waiting.splice(0)) this.#overMesh(to, letter);
    this.#waitingBytes = 0;
  }

  async #sendAll(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#waiting.length > 0 && !this.#isClosed) {
      this.#expire();
      const ready = this.#ready();
      if (ready.length === 0) break;
      await this.#send(ready);
    }
    this.#isSending = false;
  }

  /** Takes the waiting messages that have a route, and passes those that have none to the mesh. */
  #ready(): (Waiting & { route: Route })[] {
    const ready: (Waiting & { route: Route })[] = [];
    const still: Waiting[] = [];
    for (const one of this.#waiting) {
      const way = this.#wayOf(one.to, one.topics);
      if (way === "WAIT") still.push(one);
      else if (way === "MESH") this.#overMesh(one.to, one.letter);
      else ready.push({ ...one, route: way });
    }
    this.#waiting = still;
    this.#waitingBytes = still.reduce((sum, { bytes }) => sum + bytes, 0);
    return ready;
  }

  #wayOf(to: Incarnation, topics: readonly string[]): Route | "WAIT" | "MESH" {
    const { readings, runtime, isStrict } = this.#deps;
    const route = readings.route(to, topics, runtime.monotonicMs());
    if (route === null) return "MESH";
    if (route !== "WAIT" && this.#writer !== null) return route;
    return isStrict ? "WAIT" : "MESH";
  }

  async #send(ready: readonly (Waiting & { route: Route })[]): Promise<void> {
    const records: { record: BusRecord; letters: readonly Letter[]; to: Incarnation; topics: readonly string[] }[] = [];
    const groups = Map.groupBy(ready, ({ to, route }) => JSON.stringify([to, route.topic, route.partition]));
    for (const group of groups.values()) {
      const [first] = group as [Waiting & { route: Route }];
      const { to, route, topics } = first;
      for (const letters of portions(group.map(({ letter }) => letter))) {
        if (this.#deps.turns.isOver) await this.#deps.turns.next();
        const record = this.#recordOf(to, route, letters);
        if (record.value.length > SEND_MAX_BYTES) for (const letter of letters) this.#overMesh(to, letter);
        else records.push({ record, letters, to, topics });
      }
    }
    for (const portion of bySize(records)) await this.#write(portion);
  }

  async #write(
    portion: readonly { record: BusRecord; letters: readonly Letter[]; to: Incarnation; topics: readonly string[] }[],
  ) {
    const count = portion.reduce((sum, { letters }) => sum + letters.length, 0);
    const writer = this.#writer;
    try {
      if (writer === null) throw new Error("Kafka does not answer");
      await writer.send(portion.map(({ record }) => record));
      this.counts.kafka += count;
    } catch (error) {
      if (writer !== null) this.#failed(writer, error);
      // The brokers may have the records all the same: the bus may repeat messages.
      for (const { to, letters, topics } of portion) for (const letter of letters) this.put(to, { topics, letter });
    }
  }

  #recordOf(to: Incarnation, { topic, partition }: Route, letters: readonly Letter[]): BusRecord {
    const { node: from, keys } = this.#deps;
    const packet = packed(letters);
    return { topic, partition, key: to, value: packet, headers: headersOf(keys, { from, to, topic, packet }) };
  }

  #failed(writer: BusWriter, error: unknown): void {
    writer.close();
    if (this.#writer !== writer) return;
    this.#writer = null;
    this.#deps.changed(reasonOf(error));
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    const waitMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures++, 10));
    this.#timer = this.#deps.runtime.setTimer(waitMs, () => {
      this.#expire();
      this.#connect().catch((error: unknown) => {
        this.#deps.log.debug({ err: error }, "the bus cannot write to Kafka");
        this.#retry();
      });
    });
  }

  async #connect(): Promise<void> {
    const writer = await this.#deps.open();
    try {
      this.#deps.readings.cluster = await writer.connect(this.#deps.topics);
    } catch (error) {
      writer.close();
      throw error;
    }
    if (this.#isClosed) return writer.close();
    this.#writer = writer;
    this.#failures = 0;
    this.#deps.changed(null);
    this.flush();
  }

  /** Drops messages that have waited for so long that the engine has repaired their loss. */
  #expire(): void {
    const sinceMs = this.#deps.runtime.monotonicMs() - WAIT_MAX_MS;
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || first.sinceMs > sinceMs) return;
      this.#giveUp(this.#take());
    }
  }

  #take(): Waiting | undefined {
    const first = this.#waiting.shift();
    this.#waitingBytes -= first?.bytes ?? 0;
    return first;
  }

  #giveUp(one: Waiting | undefined): void {
    if (one === undefined) return;
    if (this.#deps.isStrict) this.counts.dropped++;
    else this.#overMesh(one.to, one.letter);
  }

  #overMesh(to: Incarnation, letter: Letter): void {
    this.counts.mesh++;
    this.#deps.overMesh(to, letter);
  }
}

function bySize<T extends { record: BusRecord }>(records: readonly T[]): T[][] {
  const all: T[][] = [];
  let size = 0;
  for (const one of records) {
    size += one.record.value.length;
    if (all.length === 0 || size > SEND_MAX_BYTES) {
      all.push([]);
      size = one.record.value.length;
    }
    all.at(-1)?.push(one);
  }
  return all;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
