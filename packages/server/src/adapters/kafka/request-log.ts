import type { Admin, Producer } from "@platformatic/kafka";
import { positionText, type RecordPosition } from "../../domain/ingest.ts";
import type { KafkaAddress } from "../../ports/kafka-address.ts";
import {
  type LogPortion,
  type LogReadBounds,
  type LogRecord,
  type LogTopic,
  type NewLogRecord,
  type RequestLog,
  type RequestLogReader,
  RequestLogUnavailable,
  type RequestLogWriter,
} from "../../ports/request-log.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { IngestRefusal } from "../../ports/store-ingest.ts";
import { type KafkaClient, KafkaFailed, kafkaClient, kafkaErrorNames } from "./kafka-client.ts";
import { type KafkaReader, type KafkaRecord, type KafkaTopic, openKafkaReader } from "./kafka-reader.ts";

/** Number of partitions of the topics that a node creates. */
const REQUEST_PARTITIONS = 12;
const REFUSED_PARTITIONS = 3;
/** Largest batch of records in bytes that a topic takes which a node creates: one job of the largest size. */
const MESSAGE_BYTES_MAX = 1_310_720;
/** Time in ms for which such a topic keeps records: what was refused or lost is found for as long. */
const RETENTION_MS = 7 * 86_400_000;
/** Limits in ms of a call, and of a write. */
const CALL_MS = 10_000;
const SEND_MS = 10_000;
/** Number of attempts, and interval in ms, in which a topic that was just created has to appear. */
const APPEARS_WITHIN = 50;
const APPEARS_EVERY_MS = 100;
/** Brokers refuse a producer with the same error as the creation of a topic. */
const WRITE_RIGHT =
  "give the user of MAINSPRING_KAFKA the right Write on the topics, and IdempotentWrite on brokers below 2.8";
const TOO_LARGE = ["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"];

/** Names of the topics. */
export function requestTopics(prefix: string): { requests: string; refused: string } {
  return { requests: `${prefix}job-requests`, refused: `${prefix}job-requests-refused` };
}

/** The log of requests in Kafka. @param prefix beginning of the names of topics */
export function kafkaRequestLog(address: KafkaAddress, prefix: string, runtime: Runtime): RequestLog {
  const topics = requestTopics(prefix);
  return {
    openReader: async () => {
      const reader = await translated(() => openKafkaReader(address, "mainspring-ingest", runtime));
      return new LogReader(reader, topics.requests);
    },
    openWriter: async () => {
      const made = await translated(() => kafkaClient(address, "mainspring-ingest", runtime));
      const producer = new made.client.Producer<string, Buffer, string, string>({
        ...{ ...made.options, idempotent: true, acks: made.client.ProduceAcks.ALL },
        ...{ requestTimeout: SEND_MS, timeout: SEND_MS },
        serializers: { ...made.client.stringSerializers, value: (value) => value },
      });
      return new LogWriter(made, producer, topics, runtime);
    },
  };
}

/** @throws {RequestLogUnavailable} */
async function translated<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof RequestLogUnavailable) throw error;
    const names = kafkaErrorNames(error);
    const refusal = error instanceof KafkaFailed ? error.refusal : null;
    const message = error instanceof Error ? error.message : String(error);
    const isTooLarge = TOO_LARGE.some((name) => names.has(name));
    throw new RequestLogUnavailable(message, { cause: error, refusal, isTooLarge });
  }
}

class LogReader implements RequestLogReader {
  readonly #reader: KafkaReader;
  readonly #name: string;
  #topic: KafkaTopic | null = null;

  constructor(reader: KafkaReader, name: string) {
    this.#reader = reader;
    this.#name = name;
  }

  topic(): Promise<LogTopic | null> {
    return translated(async () => {
      this.#topic = await this.#reader.topic(this.#name);
      return this.#topic === null ? null : { id: this.#topic.id, partitions: this.#topic.partitions };
    });
  }

  read(positions: readonly RecordPosition[], bounds: LogReadBounds): Promise<LogPortion[]> {
    const topic = this.#known();
    const asked = positions.map(({ partition, offset }) => ({ topic, partition, offset: BigInt(offset) }));
    return translated(async () => {
      const portions = await this.#reader.read(asked, bounds);
      return portions.map((portion): LogPortion => {
        const at = { partition: portion.at.partition, offset: Number(portion.at.offset) };
        switch (portion.state) {
          case "READ":
            return { at, state: "READ", records: portion.records.map(recordOf), next: Number(portion.next) };
          case "OUT_OF_RANGE":
            return { at, state: "OUT_OF_RANGE", start: Number(portion.start), end: Number(portion.end) };
          case "GONE":
          case "MOVED":
          case "OVERSIZED":
            return { at, state: portion.state };
        }
      });
    });
  }

  end(partition: number): Promise<number> {
    return translated(async () => Number(await this.#reader.end(this.#known(), partition)));
  }

  offsetAt(partition: number, time: number): Promise<number | null> {
    return translated(async () => {
      const offset = await this.#reader.offsetAt(this.#known(), partition, time);
      return offset === null ? null : Number(offset);
    });
  }

  close(): void {
    this.#reader.close();
  }

  #known(): KafkaTopic {
    if (this.#topic === null) throw new RequestLogUnavailable(`Kafka has no topic ${this.#name}`);
    return this.#topic;
  }
}

function recordOf({ offset, timestamp, value, headers }: KafkaRecord): LogRecord {
  const texts = new Map<string, string>();
  for (const [name, text] of headers)
    if (name !== null && text !== null) texts.set(name.toString().toLowerCase(), text.toString());
  return { offset: Number(offset), timestamp, value, headers: texts };
}

type ClientProducer = Producer<string, Buffer, string, string>;

class LogWriter implements RequestLogWriter {
  readonly #made: KafkaClient;
  readonly #producer: ClientProducer;
  readonly #topics: ReturnType<typeof requestTopics>;
  readonly #runtime: Runtime;

  constructor(made: KafkaClient, producer: ClientProducer, topics: ReturnType<typeof requestTopics>, runtime: Runtime) {
    this.#made = made;
    this.#producer = producer;
    this.#topics = topics;
    this.#runtime = runtime;
  }

  open(): Promise<LogTopic> {
    const { requests, refused } = this.#topics;
    return translated(async () => {
      const admin = new this.#made.client.Admin({ ...this.#made.options, timeout: CALL_MS });
      try {
        await this.#made.bounded(CALL_MS, () => this.#made.refuseOld(admin));
        await this.#created(admin, refused, REFUSED_PARTITIONS);
        const topic = await this.#created(admin, requests, REQUEST_PARTITIONS);
        await this.#prepare();
        return topic;
      } finally {
        admin.close().catch(() => undefined);
      }
    });
  }

  send(records: readonly NewLogRecord[]): Promise<number[]> {
    const topic = this.#topics.requests;
    return translated(() =>
      this.#made.bounded(SEND_MS, async () => {
        const messages = records.map(({ partition, value, headers, at }) => ({
          ...{ topic, partition, headers: { ...headers }, timestamp: BigInt(Math.floor(at)) },
          value: Buffer.from(value.buffer, value.byteOffset, value.length),
        }));
        const { offsets = [] } = await this.#producer.send({ messages });
        const nexts = new Map(offsets.map(({ partition, offset }) => [partition, Number(offset)]));
        return records.map(({ partition }) => {
          const offset = nexts.get(partition);
          if (offset === undefined || offset < 0) throw new Error("Kafka names no offset of a record");
          nexts.set(partition, offset + 1);
          return offset;
        });
      }),
    );
  }

  tellRefused(refusals: readonly IngestRefusal[]): Promise<void> {
    return translated(() =>
      this.#made.bounded(SEND_MS, async () => {
        const { refused } = this.#topics;
        const { topics } = await this.#producer.metadata({ topics: [refused] });
        // A person may have created the topic with another number of partitions.
        const partitions = topics.get(refused)?.partitionsCount ?? REFUSED_PARTITIONS;
        await this.#producer.send({ messages: refusals.map((refusal) => this.#messageOf(refusal, partitions)) });
      }),
    );
  }

  close(): void {
    // A close can wait for a broker that does not answer; nothing depends on its end.
    this.#producer.close(true).catch(() => undefined);
  }

  #messageOf(
    { partition, offset, timestamp, problem, contentType, value, valueBytes }: IngestRefusal,
    partitions: number,
  ) {
    return {
      topic: this.#topics.refused,
      partition: partition % partitions,
      key: positionText({ partition, offset }),
      value: Buffer.from(value ?? new Uint8Array()),
      headers: {
        "content-type": contentType ?? "application/octet-stream",
        "mainspring-topic": this.#topics.requests,
        "mainspring-partition": String(partition),
        "mainspring-offset": String(offset),
        "mainspring-timestamp": String(timestamp),
        "mainspring-problem": problem,
        "mainspring-value-bytes": String(valueBytes),
      },
    };
  }

  /** The right to write shows here, and the first send needs no round of its own. */
  async #prepare(): Promise<void> {
    try {
      await this.#made.bounded(CALL_MS, () => this.#producer.initIdempotentProducer({}));
    } catch (error) {
      if (!kafkaErrorNames(error).has("CLUSTER_AUTHORIZATION_FAILED")) throw error;
      throw new KafkaFailed((error as Error).message, WRITE_RIGHT, { cause: error });
    }
  }

  /** The topic, which is created unless it exists. */
  async #created(admin: Admin, topic: string, partitions: number): Promise<LogTopic> {
    const found = await this.#find(admin, topic);
    if (found !== null) return found;
    const configs = [
      { name: "max.message.bytes", value: String(MESSAGE_BYTES_MAX) },
      { name: "retention.ms", value: String(RETENTION_MS) },
    ];
    await this.#made.bounded(CALL_MS, async () => {
      try {
        await admin.createTopics({ topics: [topic], partitions, replicas: -1, configs });
      } catch (error) {
        if (!kafkaErrorNames(error).has("TOPIC_ALREADY_EXISTS")) throw error;
      }
    });
    for (let attempt = 0; attempt < APPEARS_WITHIN; attempt++) {
      const created = await this.#find(admin, topic);
      if (created !== null) return created;
      await new Promise<void>((resolve) => this.#runtime.setTimer(APPEARS_EVERY_MS, resolve));
    }
    throw new KafkaFailed(`Kafka has created the topic ${topic} and does not show it yet`, null);
  }

  /** null: there is no such topic, or one of its partitions has no leader yet. */
  #find(admin: Admin, topic: string): Promise<LogTopic | null> {
    return this.#made.bounded(CALL_MS, async () => {
      // The client waits for ever for the metadata of a topic that does not exist, where its producer is idempotent.
      if (!(await admin.listTopics()).includes(topic)) return null;
      const metadata = await admin.metadata({ topics: [topic], forceUpdate: true });
      const found = metadata.topics.get(topic);
      if (found === undefined || found.partitions.some(({ leader }) => leader < 0)) return null;
      return { id: found.id, partitions: found.partitionsCount };
    });
  }
}
