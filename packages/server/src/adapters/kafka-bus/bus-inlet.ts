import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Turns } from "../../ports/turns.ts";
import { KafkaFailed } from "../kafka/kafka-client.ts";
import type { KafkaPortion, KafkaPosition, KafkaReader, KafkaRecord, KafkaTopic } from "../kafka/kafka-reader.ts";
import { type Letter, unpacking } from "../mesh/packet.ts";
import { type BusKeys, isSigned } from "./bus-envelope.ts";
import { reasonOf } from "./bus-outlet.ts";
import { partitionOf } from "./bus-topics.ts";
import type { BusWriter } from "./bus-writer.ts";
import type { Route } from "./readings.ts";

/** Bounds of a read: its size, and its wait in ms. */
const READ_MAX_BYTES = 2 * 1024 * 1024;
const WAIT_MS = 500;
const NO_WAIT_MS = 1;
/** First and longest wait in ms before the brokers are tried again. */
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 2_000;
/** Number of attempts, and interval in ms, in which a topic that was just created has to appear. */
const APPEARS_WITHIN = 20;
const APPEARS_EVERY_MS = 100;

export interface InletDependencies {
  node: Incarnation;
  openReader(): Promise<KafkaReader>;
  openWriter(): Promise<BusWriter>;
  keys: BusKeys;
  /** Whether the node is one of the cluster. */
  knows(node: Incarnation): boolean;
  receive(from: Incarnation, letters: readonly Letter[]): void;
  /** Called when the node can or cannot read, or reads other topics. @param reason why it cannot; null: it can */
  changed(reason: string | null): void;
  turns: Turns;
  runtime: Runtime;
  log: Logger;
}

/** Reads the messages for this node from Kafka: those of one partition of each topic, from the end of the log on. */
export class BusInlet {
  /** Number of records that were not signed by a node of the cluster, or not understood. */
  refused = 0;
  readonly #deps: InletDependencies;
  /** Number of partitions with which each topic is created. */
  readonly #wanted = new Map<string, number>();
  /** Positions by topic; they outlive a reader. */
  readonly #positions = new Map<string, KafkaPosition>();
  #reader: KafkaReader | null = null;
  #cluster: string | null = null;
  #isClosed = false;
  #timer: Timer | null = null;
  #failures = 0;
  #opened: { resolve(): void; reject(error: unknown): void } | null = null;

  constructor(deps: InletDependencies) {
    this.#deps = deps;
  }

  /** Partitions that the node reads now, and the id of their cluster; null: it can read nothing. */
  get reading(): { cluster: string; routes: Route[] } | null {
    if (this.#reader === null || this.#cluster === null) return null;
    const routes = [...this.#positions.values()].map(({ topic, partition }) => ({ topic: topic.name, partition }));
    return { cluster: this.#cluster, routes };
  }

  /** Reads one more topic, and creates it unless it exists. */
  follow(topic: string, partitions: number): void {
    this.#wanted.set(topic, partitions);
  }

  /** Begins to read. Resolves when the first attempt has succeeded. @throws {KafkaFailed} it failed; further attempts follow */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opened = { resolve, reject };
      void this.#run();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#reader?.close();
    this.#reader = null;
  }

  async #run(): Promise<void> {
    let reader: KafkaReader | null = null;
    try {
      reader = await this.#deps.openReader();
      await this.#findTopics(reader);
      this.#cluster = await reader.clusterId();
      // Only a read shows that the user may read.
      await this.#step(reader, NO_WAIT_MS);
      if (this.#isClosed) return reader.close();
      this.#reader = reader;
      this.#failures = 0;
      this.#opened?.resolve();
      this.#deps.changed(null);
      while (!this.#isClosed) await this.#step(reader, WAIT_MS);
    } catch (error) {
      this.#failed(reader, error);
    }
  }

  #failed(reader: KafkaReader | null, error: unknown): void {
    reader?.close();
    this.#reader = null;
    if (this.#isClosed) return;
    this.#opened?.reject(error);
    this.#deps.changed(reasonOf(error));
    const waitMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.#failures++, 10));
    this.#timer = this.#deps.runtime.setTimer(waitMs, () => void this.#run());
  }

  async #step(reader: KafkaReader, waitMs: number): Promise<void> {
    if (this.#positions.size < this.#wanted.size) {
      await this.#findTopics(reader);
      this.#deps.changed(null);
    }
    const bounds = { maxBytes: READ_MAX_BYTES, waitMs };
    for (const portion of await reader.read([...this.#positions.values()], bounds)) await this.#take(portion);
  }

  async #take(portion: KafkaPortion): Promise<void> {
    const { at } = portion;
    const { name } = at.topic;
    if (portion.state === "READ") {
      this.#positions.set(name, { ...at, offset: portion.next });
      for (const record of portion.records) await this.#read(name, record);
    } else if (portion.state === "OUT_OF_RANGE") {
      const { start, end } = portion;
      this.#positions.set(name, { ...at, offset: at.offset < start ? start : end });
    } else if (portion.state === "OVERSIZED") {
      // Nodes write records without compression, so a stranger wrote these. The bus may lose what follows them.
      this.refused++;
      this.#positions.set(name, { ...at, offset: portion.end });
      this.#deps.log.warn(
        { topic: name },
        "records of a stranger in a topic of the bus on Kafka are too large to read",
      );
    } else if (portion.state === "GONE") {
      throw new KafkaFailed(`the topic ${name} is gone`, null);
    }
  }

  async #read(topic: string, { key, value, headers }: KafkaRecord): Promise<void> {
    const { node, keys, knows, receive, turns } = this.#deps;
    // A partition has the records of several nodes.
    if (key === null || value === null || key.toString() !== node) return;
    const header = new Map(headers.map(([name, text]) => [String(name), String(text)]));
    const envelope = { from: header.get("from") ?? "", to: node, topic, packet: value };
    if (!knows(envelope.from) || !isSigned(keys, envelope, header.get("signatures") ?? "")) {
      this.refused++;
      return;
    }
    try {
      for (const { letters } of unpacking(value)) {
        // No record of Kafka may announce for a node what it reads.
        const mail = letters.filter(({ role }) => role !== "bus");
        if (mail.length > 0) receive(envelope.from, mail);
        if (turns.isOver) await turns.next();
      }
    } catch (error) {
      this.refused++;
      this.#deps.log.warn({ err: error, from: envelope.from, topic }, "a record of the bus on Kafka is no packet");
    }
  }

  /** Finds or creates the topics, and the positions to read from. */
  async #findTopics(reader: KafkaReader): Promise<void> {
    for (const [name, partitions] of this.#wanted) {
      const topic = (await reader.topic(name)) ?? (await this.#create(reader, name, partitions));
      const known = this.#positions.get(name);
      if (known?.topic.id === topic.id) continue;
      const partition = partitionOf(this.#deps.node, topic.partitions);
      // Messages in a topic that replaces a known one are for this node; those in an unknown one are older than the node.
      const offset = known === undefined ? await reader.end(topic, partition) : 0n;
      this.#positions.set(name, { topic, partition, offset });
    }
  }

  async #create(reader: KafkaReader, name: string, partitions: number): Promise<KafkaTopic> {
    const writer = await this.#deps.openWriter();
    try {
      await writer.create(name, partitions);
    } finally {
      writer.close();
    }
    for (let attempt = 0; attempt < APPEARS_WITHIN; attempt++) {
      const topic = await reader.topic(name);
      if (topic !== null) return topic;
      await new Promise<void>((resolve) => this.#deps.runtime.setTimer(APPEARS_EVERY_MS, resolve));
    }
    throw new KafkaFailed(`Kafka has created the topic ${name} and does not show it yet`, null);
  }
}
