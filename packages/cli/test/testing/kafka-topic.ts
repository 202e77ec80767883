import { systemRuntime } from "@mainspring/server/testing";
import { Consumer, stringDeserializers } from "@platformatic/kafka";

/** A message of a topic, as a test compares it. */
export interface TopicMessage {
  key: string;
  value: string;
  partition: number;
  headers: Record<string, string>;
}

/**
 * Reads a topic from its beginning until it has shown this number of different events, without those of workers. The test's own limit of time ends a
 * read without success.
 */
export async function* readTopic(broker: string, topic: string, eventCount: number): AsyncGenerator<TopicMessage> {
  if (eventCount === 0) return;
  const consumer = new Consumer({
    ...{
      clientId: "test",
      groupId: `${topic}-${systemRuntime().uuid()}`,
      bootstrapBrokers: [broker],
      maxWaitTime: 500,
    },
    deserializers: stringDeserializers,
  });
  const ids = new Set<string>();
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  try {
    for await (const { key, value, partition, headers } of stream) {
      // Sessions of workers begin and end while the test reads.
      if (headers.get("kind")?.startsWith("Worker")) continue;
      const message = { key, value, partition, headers: Object.fromEntries(headers) };
      yield message;
      ids.add(message.headers.id ?? "");
      if (ids.size >= eventCount) return;
    }
  } finally {
    await consumer.close(true);
  }
}
