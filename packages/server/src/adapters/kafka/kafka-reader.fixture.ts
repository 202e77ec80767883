import { Consumer, stringDeserializers } from "@platformatic/kafka";
import { SinkUnavailable } from "../../ports/event-sink.ts";

const TRIES_MAX = 500;

/** Repeats a call while the sink is not available, as its relay does: a broker shows a new topic only after a moment. */
export async function whenAvailable(call: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SinkUnavailable) || tries === TRIES_MAX) throw error;
    }
  }
}

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
