import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import type { EventRow } from "../../ports/store-events.ts";
import { jsonEncoding } from "./json-encoding.ts";
import type { KafkaLink, KafkaMessage } from "./kafka-link.ts";
import { LETTER_PAYLOAD_MAX } from "./kafka-messages.ts";
import { KafkaSink } from "./kafka-sink.ts";

/** Topics of a cluster in memory, and its faults. */
class MemoryKafka {
  readonly topics = new Map<string, number>();
  readonly sent: KafkaMessage[][] = [];
  opened = 0;
  prepared = 0;
  closed = 0;
  /** Error of the next send or creation. */
  error: Error | null = null;

  readonly link = async (): Promise<KafkaLink> => {
    this.opened++;
    return {
      partitions: async (names) => new Map([...this.topics].filter(([name]) => names.includes(name))),
      create: async (topic, partitions) => {
        this.#fail();
        this.topics.set(topic, partitions);
      },
      prepare: async () => void this.prepared++,
      send: async (messages) => {
        this.#fail();
        this.sent.push([...messages]);
      },
      close: () => void this.closed++,
    };
  };

  #fail(): void {
    const { error } = this;
    this.error = null;
    if (error !== null) throw error;
  }
}

const event = (kind: LifecycleEvent["kind"], executionId: string): LifecycleEvent => ({
  ...{
    ...NO_EVENT_FIELDS,
    kind,
    at: 1,
    executionId,
    tenant: "t",
    pool: "default",
    handler: "echo",
    attempt: 1,
    jobVersion: 1,
  },
});
const row = (shard: number, ...events: LifecycleEvent[]): EventRow => ({ shard, epoch: 5, seq: 9, events });

describe("the sink kafka", () => {
  const sinkOf = (kafka: MemoryKafka, payload: Uint8Array | null = null) =>
    new KafkaSink({
      ...{ link: kafka.link, prefix: "p-" },
      encoding: jsonEncoding(({ kind }) => ({ type: kind, data: { a: 1 } })),
      details: async (_, id) => ({ payload, error: { name: "E", message: id } }),
    });

  it("creates missing topics, and sends the events of a shard to one partition", async () => {
    const kafka = new MemoryKafka();
    kafka.topics.set("p-job-events", 5);
    const sink = sinkOf(kafka);
    await sink.open();
    assert.deepEqual(
      kafka.topics,
      new Map([
        ["p-job-events", 5],
        ["p-dead-letters", 3],
      ]),
    );
    await sink.deliver([row(63, event("JobStarted", "x"))]);
    assert.deepEqual(kafka.sent, [
      [
        {
          ...{ topic: "p-job-events", partition: 3, key: "63" },
          value: Buffer.from('{"type":"JobStarted","data":{"a":1}}'),
          headers: {
            ...{ id: "x/1/JobStarted", kind: "JobStarted", tenant: "t", shard: "63", epoch: "5", seq: "9" },
            "content-type": "application/cloudevents+json",
          },
        },
      ],
    ]);
    await sink.close();
    assert.deepEqual([kafka.opened, kafka.prepared, kafka.closed], [1, 1, 1]);
  });

  it("sends dead letters with payload and error, the payload as it was submitted", async () => {
    const kafka = new MemoryKafka();
    await sinkOf(kafka, Buffer.from('{"n":12345678901234567890}')).deliver([row(1, event("JobDeadLettered", "x"))]);
    assert.deepEqual(
      kafka.sent.flat().map(({ topic, value }) => [topic, String(value)]),
      [
        ["p-job-events", '{"type":"JobDeadLettered","data":{"a":1}}'],
        [
          "p-dead-letters",
          '{"type":"JobDeadLettered","data":{"a":1,"payload":{"n":12345678901234567890},"payloadBytes":26,"error":{"name":"E","message":"x"}}}',
        ],
      ],
    );
    const large = new MemoryKafka();
    await sinkOf(large, Buffer.alloc(LETTER_PAYLOAD_MAX + 1, "1")).deliver([row(1, event("JobDeadLettered", "x"))]);
    const { data } = JSON.parse(String(large.sent.flat()[1]?.value));
    assert.deepEqual([data.payload, data.payloadBytes], [null, LETTER_PAYLOAD_MAX + 1]);
  });

  it("tells of rows that the store has removed", async () => {
    const kafka = new MemoryKafka();
    await sinkOf(kafka).deliver([{ ...row(7), droppedAfter: { epoch: 4, seq: 2 } }]);
    const [message] = kafka.sent.flat();
    assert.equal(message?.headers.kind, "EventsDropped");
    const { id, type, data } = JSON.parse(String(message?.value));
    assert.deepEqual([id, type], ["shard-7/5-9/EventsDropped", "EventsDropped"]);
    assert.deepEqual(data, { shard: 7, after: { epoch: 4, seq: 2 }, last: { epoch: 5, seq: 9 } });
  });

  it("sends much in portions, one after the other", async () => {
    const kafka = new MemoryKafka();
    const rows = Array.from({ length: 5_000 }, (_, i) => row(1, event("JobStarted", String(i))));
    await sinkOf(kafka).deliver(rows);
    assert.ok(kafka.sent.length > 2);
    assert.deepEqual(
      kafka.sent.flat().map(({ headers }) => headers.id),
      rows.map((_, i) => `${i}/1/JobStarted`),
    );
  });

  it("opens another link after an error, and creates topics that are gone", async () => {
    const kafka = new MemoryKafka();
    const sink = sinkOf(kafka);
    await sink.open();
    kafka.error = new SinkUnavailable("down");
    await assert.rejects(sink.deliver([row(1, event("JobStarted", "x"))]), SinkUnavailable);
    kafka.topics.clear();
    await sink.deliver([row(1, event("JobStarted", "x"))]);
    assert.deepEqual([kafka.opened, kafka.closed, kafka.topics.size], [2, 1, 2]);
    const other = new MemoryKafka();
    other.error = new SinkRefused("no right");
    await assert.rejects(sinkOf(other).open(), SinkRefused);
    assert.equal(other.closed, 1);
  });

  it("takes nothing after its close", async () => {
    const kafka = new MemoryKafka();
    const sink = sinkOf(kafka);
    await sink.close();
    await assert.rejects(sink.deliver([row(1)]), SinkUnavailable);
    assert.equal(kafka.opened, 0);
  });
});
