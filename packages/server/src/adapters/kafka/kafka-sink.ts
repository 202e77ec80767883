import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { type EventSink, SinkUnavailable } from "../../ports/event-sink.ts";
import type { EventRow } from "../../ports/store-events.ts";
import type { KafkaLink, KafkaMessage } from "./kafka-link.ts";
import {
  type DeadDetails,
  type Encoding,
  eventMessage,
  gapMessage,
  letterMessage,
  portions,
  Target,
} from "./kafka-messages.ts";

/** Number of partitions of a topic that the server creates. */
const PARTITIONS = 3;

export interface KafkaSinkOptions {
  /** Opens a link to the cluster. */
  link: () => Promise<KafkaLink>;
  /** Beginning of the names of the topics, such as `ms.`. */
  prefix: string;
  encoding: Encoding;
  /** Reads payload and error of a dead execution. @throws {StoreUnavailable} */
  details: (tenant: string, executionId: string) => Promise<DeadDetails>;
}

interface Opened {
  link: KafkaLink;
  events: Target;
  letters: Target;
}

/**
 * Brings events to Kafka: all of them to the topic `job-events`, and dead executions with payload and error to
 * `dead-letters`. A link that failed is closed, and the next call opens another one, which also creates topics that someone
 * has deleted.
 */
export class KafkaSink implements EventSink {
  readonly name = "kafka";
  readonly #options: KafkaSinkOptions;
  #opened: Opened | null = null;
  #isClosed = false;

  constructor(options: KafkaSinkOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    this.#opened ??= await this.#connect();
  }

  async deliver(rows: readonly EventRow[]): Promise<void> {
    const opened = (this.#opened ??= await this.#connect());
    const messages = await this.#messages(rows, opened);
    try {
      // Portions follow each other, because a shard's messages must not overtake each other.
      for (const portion of portions(messages)) await opened.link.send(portion);
    } catch (error) {
      opened.link.close();
      if (this.#opened === opened) this.#opened = null;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#opened?.link.close();
    this.#opened = null;
  }

  async #connect(): Promise<Opened> {
    if (this.#isClosed) throw new SinkUnavailable("the sink is closed");
    const topics = ["job-events", "dead-letters"].map((name) => this.#options.prefix + name);
    const link = await this.#options.link();
    try {
      const before = await link.partitions(topics);
      const missing = topics.filter((topic) => !before.has(topic));
      for (const topic of missing) await link.create(topic, PARTITIONS);
      const counts = missing.length === 0 ? before : await link.partitions(topics);
      await link.prepare();
      const [events, letters] = topics.map((topic) => new Target(topic, countOf(counts, topic)));
      if (events === undefined || letters === undefined || this.#isClosed)
        throw new SinkUnavailable("the sink is closed");
      return { link, events, letters };
    } catch (error) {
      link.close();
      throw error;
    }
  }

  async #messages(rows: readonly EventRow[], { events, letters }: Opened): Promise<KafkaMessage[]> {
    const { encoding } = this.#options;
    const messages: KafkaMessage[] = [];
    for (const row of rows) {
      if (row.droppedAfter !== undefined) messages.push(gapMessage(row, events, encoding));
      for (const event of row.events) {
        messages.push(eventMessage(row, event, events, encoding));
        if (event.kind !== "JobDeadLettered") continue;
        messages.push(letterMessage(row, event, await this.#details(event), letters, encoding));
      }
    }
    return messages;
  }

  async #details({ tenant, executionId }: LifecycleEvent): Promise<DeadDetails> {
    return executionId === null ? { payload: null, error: null } : this.#options.details(tenant, executionId);
  }
}

function countOf(counts: ReadonlyMap<string, number>, topic: string): number {
  const count = counts.get(topic);
  if (count === undefined) throw new SinkUnavailable(`Kafka has created the topic ${topic} and does not show it yet`);
  return count;
}
