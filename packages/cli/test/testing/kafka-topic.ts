import { Consumer, stringDeserializers } from "@platformatic/kafka";

/** A message of a topic, as a test compares it. */
export interface TopicMessage {
  key: string;
  value: string;
  partition: number;
  headers: Record<string, string>;
}

/** Reads a topic from its beginning until the messages are enough. The test's own limit of time ends a read without success. */
export async function readTopic(
  broker: string,
  topic: string,
  isEnough: (messages: readonly TopicMessage[]) => boolean,
): Promise<TopicMessage[]> {
  const consumer = new Consumer({
    ...{ clientId: "test", groupId: `${topic}-${Date.now()}`, bootstrapBrokers: [broker], maxWaitTime: 500 },
    deserializers: stringDeserializers,
  });
  const messages: TopicMessage[] = [];
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  try {
    for await (const { key, value, partition, headers } of stream) {
      messages.push({ key, value, partition, headers: Object.fromEntries(headers) });
      if (isEnough(messages)) break;
    }
  } finally {
    await consumer.close(true);
  }
  return messages;
}
