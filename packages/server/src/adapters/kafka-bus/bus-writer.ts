import type { Producer } from "@platformatic/kafka";
import type { KafkaAddress } from "../../ports/kafka-address.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { type KafkaClient, kafkaClient, kafkaErrorNames } from "../kafka/kafka-client.ts";

export interface BusRecord {
  topic: string;
  partition: number;
  /** Node that reads the record. */
  key: string;
  value: Buffer;
  headers: Record<string, string>;
}

/** Writes records of the bus. After an error the writer is of no use: a new one has to be opened. @throws {KafkaFailed} each call */
export interface BusWriter {
  /**
   * Connects, and writes an empty record for no node to each of the topics, because only a record shows that the user may
   * write. Returns the id of the Kafka cluster.
   */
  connect(topics: readonly string[]): Promise<string>;
  /** Creates a topic unless it exists. */
  create(topic: string, partitions: number): Promise<void>;
  /** Resolves when the leaders of the partitions have the records: the bus may lose messages, so no replica is waited for. */
  send(records: readonly BusRecord[]): Promise<void>;
  /** Ends the connections at once. */
  close(): void;
}

/** Limit in ms of a send, after which its messages go another way. */
const SEND_MS = 3_000;
const CALL_MS = 10_000;
/** Time in ms for which topics that a node creates keep records. Older messages are worthless. */
const RETENTION_MS = 3_600_000;

export async function openBusWriter(address: KafkaAddress, runtime: Runtime): Promise<BusWriter> {
  const made = await kafkaClient(address, "mainspring-bus", runtime);
  const producer = new made.client.Producer<string, Buffer, string, string>({
    ...{ ...made.options, acks: made.client.ProduceAcks.LEADER, idempotent: false, timeout: SEND_MS },
    serializers: { ...made.client.stringSerializers, value: (value) => value },
  });
  return new ClientWriter(made, producer);
}

class ClientWriter implements BusWriter {
  readonly #made: KafkaClient;
  readonly #producer: Producer<string, Buffer, string, string>;

  constructor(made: KafkaClient, producer: Producer<string, Buffer, string, string>) {
    this.#made = made;
    this.#producer = producer;
  }

  async connect(topics: readonly string[]): Promise<string> {
    const { id } = await this.#made.bounded(CALL_MS, () => this.#producer.metadata({ topics: [] }));
    const empty = { partition: 0, key: "", value: Buffer.alloc(0), headers: {} };
    await this.send(topics.map((topic) => ({ topic, ...empty })));
    return id;
  }

  async create(topic: string, partitions: number): Promise<void> {
    const admin = new this.#made.client.Admin({ ...this.#made.options, timeout: CALL_MS });
    const configs = [{ name: "retention.ms", value: String(RETENTION_MS) }];
    try {
      await this.#made.bounded(CALL_MS, async () => {
        try {
          await admin.createTopics({ topics: [topic], partitions, replicas: -1, configs });
        } catch (error) {
          if (!kafkaErrorNames(error).has("TOPIC_ALREADY_EXISTS")) throw error;
        }
      });
    } finally {
      admin.close().catch(() => undefined);
    }
  }

  send(records: readonly BusRecord[]): Promise<void> {
    return this.#made.bounded(SEND_MS, async () => {
      const { unwritableNodes } = await this.#producer.send({ messages: [...records] });
      if (unwritableNodes?.length) throw new Error(`brokers ${unwritableNodes.join(", ")} took no record`);
    });
  }

  close(): void {
    this.#producer.close(true).catch(() => undefined);
  }
}
