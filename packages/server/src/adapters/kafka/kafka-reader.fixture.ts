import { Consumer, stringDeserializers } from "@platformatic/kafka";

/** Reads a topic from its beginning until it has shown this number of messages. @param broker host:port without TLS and login */
export async function readMessages(broker: string, topic: string, count: number) {
  const consumer = new Consumer({
    ...{ clientId: "test", groupId: topic, bootstrapBrokers: [broker], maxWaitTime: 500 },
    deserializers: { ...stringDeserializers, value: (value) => value ?? Buffer.alloc(0) },
  });
  try {
    const found: { value: Buffer; headers: Record<string, string> }[] = [];
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
    for await (const { value, headers } of stream) {
      if (found.push({ value, headers: Object.fromEntries(headers) }) === count) break;
    }
    return found;
  } finally {
    await consumer.close(true);
  }
}
