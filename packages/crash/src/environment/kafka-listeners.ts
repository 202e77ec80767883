import { startKafka, type TestKafka } from "../../../../tools/services/start-kafka.ts";
import { freePort } from "./free-port.ts";
import { Proxy } from "./proxy/proxy.ts";

/** A broker with a listener for each node, to which a proxy of its own leads. */
export interface ClusterKafka {
  kafka: TestKafka;
  /** Link of each node, and the broker's address behind it. */
  links: readonly { link: Proxy; url: string }[];
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
