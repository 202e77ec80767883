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

export function clusterIngest(mode: ClusterIngest["mode"], { broker }: Pick<TestKafka, "broker">): ClusterIngest {
  return {
    mode,
    async told(positions, withinMs) {
      const found = new Set<string>();
      if (positions.length === 0) return found;
      const consumer = new Consumer({
        ...{ clientId: "chaos", groupId: `chaos-${process.pid}`, bootstrapBrokers: [broker], maxWaitTime: 500 },
        deserializers: stringDeserializers,
      });
      const stream = await consumer.consume({ topics: [REFUSED_TOPIC], mode: "earliest", autocommit: false });
      const timer = setTimeout(() => void stream.close(), withinMs);
      for await (const { headers } of stream) {
        found.add(`${headers.get("mainspring-partition")}-${headers.get("mainspring-offset")}`);
        if (positions.every((position) => found.has(position))) break;
      }
      clearTimeout(timer);
      await consumer.close(true);
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
