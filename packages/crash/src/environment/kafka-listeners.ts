import { Consumer, stringDeserializers } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../../tools/services/start-kafka.ts";
import { freePort } from "./free-port.ts";
import { Proxy } from "./proxy/proxy.ts";

/** A broker with a listener for each node, to which a proxy of its own leads. */
export interface ClusterKafka {
  kafka: TestKafka;
  /** Link of each node, and the broker's address behind it. */
  links: readonly { link: Proxy; url: string }[];
}

/** Way of jobs through Kafka. */
export interface ClusterIngest {
  mode: "fallback" | "kafka";
  /** Reads the topic of refused records until it has named all of these positions, or for the time. @returns all that it names */
  told(positions: readonly string[], withinMs: number): Promise<ReadonlySet<string>>;
}

const REFUSED_TOPIC = "ms.job-requests-refused";
const EVENTS_TOPIC = "ms.job-events";
const ENDS = new Set(["JobCompleted", "JobCancelled", "JobSkipped", "JobDeadLettered"]);

type Broker = Pick<TestKafka, "broker">;

/** Opens a topic at its beginning. */
async function openTopic({ broker }: Broker, topic: string) {
  const consumer = new Consumer({
    ...{ clientId: "chaos", groupId: `chaos-${process.pid}-${topic}`, bootstrapBrokers: [broker], maxWaitTime: 500 },
    deserializers: stringDeserializers,
  });
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  return { stream, close: () => consumer.close(true) };
}

/** Executions whose end the topic of events has. */
export class EndsInTopic {
  readonly #kafka: Broker;
  readonly #found = new Set<string>();
  #opened: ReturnType<typeof openTopic> | null = null;

  constructor(kafka: Broker) {
    this.#kafka = kafka;
  }

  /** @returns ids of those that are known by now; the topic is read from the first call on */
  async read(): Promise<Set<string>> {
    if (this.#opened === null) {
      this.#opened = openTopic(this.#kafka, EVENTS_TOPIC);
      this.#opened.then(({ stream }) => this.#follow(stream)).catch(() => (this.#opened = null));
    }
    await this.#opened;
    return new Set(this.#found);
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }

  async #follow(stream: Awaited<ReturnType<typeof openTopic>>["stream"]): Promise<void> {
    for await (const { headers } of stream) {
      // The id of an event of an execution begins with that of the execution.
      if (ENDS.has(headers.get("kind") ?? "")) this.#found.add((headers.get("id") ?? "").split("/")[0] ?? "");
    }
  }
}

export function clusterIngest(mode: ClusterIngest["mode"], kafka: Broker): ClusterIngest {
  return {
    mode,
    async told(positions, withinMs) {
      const found = new Set<string>();
      if (positions.length === 0) return found;
      const { stream, close } = await openTopic(kafka, REFUSED_TOPIC);
      const timer = setTimeout(() => void stream.close(), withinMs);
      for await (const { headers } of stream) {
        found.add(`${headers.get("mainspring-partition")}-${headers.get("mainspring-offset")}`);
        if (positions.every((position) => found.has(position))) break;
      }
      clearTimeout(timer);
      await close();
      return found;
    },
  };
}

/** @param nodes number of nodes */
export async function startClusterKafka(nodes: number): Promise<ClusterKafka> {
  const listeners = await Promise.all(
    Array.from({ length: nodes }, async () => {
      const port = await freePort();
      const link = new Proxy({ host: "127.0.0.1", port });
      // Brokers name their addresses themselves, so each node has a listener that names its proxy.
      return { port, link, advertised: await link.listen(await freePort()) };
    }),
  );
  const kafka = await startKafka({ extra: listeners.map(({ port, advertised }) => ({ port, advertised })) });
  return { kafka, links: listeners.map(({ link, advertised }) => ({ link, url: `kafka://${advertised}` })) };
}
