import assert from "node:assert/strict";
import type { LifecycleEvent } from "@mainspring/sdk";
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
export async function readTopic(broker: string, topic: string, eventCount: number): Promise<TopicMessage[]> {
  const consumer = new Consumer({
    ...{
      clientId: "test",
      groupId: `${topic}-${systemRuntime().uuid()}`,
      bootstrapBrokers: [broker],
      maxWaitTime: 500,
    },
    deserializers: stringDeserializers,
  });
  const messages: TopicMessage[] = [];
  const ids = new Set<string>();
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  try {
    for await (const { key, value, partition, headers } of stream) {
      // Sessions of workers begin and end while the test reads.
      if (headers.get("kind")?.startsWith("Worker")) continue;
      const message = { key, value, partition, headers: Object.fromEntries(headers) };
      messages.push(message);
      ids.add(message.headers.id ?? "");
      if (ids.size >= eventCount) break;
    }
  } finally {
    await consumer.close(true);
  }
  return messages;
}

export function idsOf(messages: readonly TopicMessage[]): string[] {
  return [...new Set(messages.map(({ headers }) => headers.id ?? ""))].sort();
}

/** Each message says what the API says, and so does each repeat. */
export function assertLikeTheApi(messages: readonly TopicMessage[], events: readonly LifecycleEvent[]): void {
  const withoutPosition = (event: LifecycleEvent) =>
    Object.fromEntries(Object.entries(event).filter(([name]) => name !== "position"));
  const known = new Map(events.map((event) => [event.id, withoutPosition(event)]));
  for (const { value, headers } of messages) {
    const { id, type, data } = JSON.parse(value);
    assert.deepEqual(JSON.parse(value), known.get(id));
    assert.deepEqual([headers.id, headers.kind, headers.tenant], [id, type, data.tenant]);
  }
}

/** Without repeats, the rows of a shard come in their order, all in one partition. */
export function assertInOrder(messages: readonly TopicMessage[]): void {
  const seen = new Set<string>();
  const last = new Map<string, { epoch: number; seq: number; partition: number }>();
  for (const { key, partition, headers } of messages) {
    const [epoch, seq] = [Number(headers.epoch), Number(headers.seq)];
    const id = `${headers.id} ${epoch} ${seq}`;
    if (seen.has(id)) continue;
    seen.add(id);
    const before = last.get(key) ?? { epoch: 0, seq: 0, partition };
    assert.ok(epoch > before.epoch || (epoch === before.epoch && seq >= before.seq), `shard ${key}`);
    assert.equal(partition, before.partition);
    assert.equal(headers.shard, key);
    last.set(key, { epoch, seq, partition });
  }
}
