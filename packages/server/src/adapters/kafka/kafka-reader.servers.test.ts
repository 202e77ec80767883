import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Admin, Producer, stringSerializers } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { kafkaAddress } from "../../ports/kafka-address.ts";
import { stayAwake } from "../system/stay-awake.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { KafkaFailed } from "./kafka-client.ts";
import { readMessages } from "./kafka-reader.fixture.ts";
import { type KafkaPosition, type KafkaReader, type KafkaTopic, openKafkaReader } from "./kafka-reader.ts";
import { kafkaRequestLog, requestTopics } from "./request-log.ts";

const BOUNDS = { waitMs: 500, maxBytes: 1024 * 1024 };

describe("the reader of Kafka", () => {
  const runtime = systemRuntime();
  /** Ends what keeps the process alive; timers of a runtime do not. */
  let sleep: () => void;
  let kafka: TestKafka;
  let reader: KafkaReader;
  let admin: Admin;
  let producer: Producer<string, string, string, string>;
  before(async () => {
    sleep = stayAwake();
    kafka = await startKafka();
    reader = await open();
    const options = { clientId: "test", bootstrapBrokers: [kafka.broker], retries: 5, retryDelay: 200 };
    admin = new Admin(options);
    producer = new Producer({ ...options, serializers: stringSerializers });
  });
  after(async () => {
    reader.close();
    await Promise.all([admin.close(), producer.close()]);
    await kafka.stop();
    sleep();
  });

  const open = () => {
    const address = kafkaAddress(kafka.url);
    assert.ok(address !== null);
    return openKafkaReader(address, "test-reader", runtime);
  };
  const create = async (name: string, partitions = 1): Promise<KafkaTopic> => {
    await admin.createTopics({ topics: [name], partitions, replicas: -1 });
    for (;;) {
      const topic = await reader.topic(name);
      if (topic !== null) return topic;
    }
  };
  const write = (topic: string, value: string, partition = 0) =>
    producer.send({ messages: [{ topic, partition, key: "k", value, headers: { h: "1" } }] });
  /** Reads until a portion comes that is no sign of a moved leader. */
  const read = async (at: KafkaPosition, from = reader) => {
    for (;;) {
      const portion = (await from.read([at], BOUNDS)).find(({ state }) => state !== "MOVED");
      if (portion !== undefined && (portion.state !== "READ" || portion.records.length > 0)) return portion;
    }
  };
  const texts = (portion: Awaited<ReturnType<typeof read>>) => {
    assert.equal(portion.state, "READ");
    return portion.state === "READ" ? portion.records.map(({ value }) => String(value)) : [];
  };

  it("reads partitions from given offsets, knows their ends, and finds the offset of a time", async () => {
    const topic = await create("plain", 2);
    assert.deepEqual([topic.partitions, await reader.topic("nowhere")], [2, null]);
    assert.equal(await reader.end(topic, 1), 0n);
    await write("plain", "a", 1);
    const first = await read({ topic, partition: 1, offset: 0n });
    assert.deepEqual(texts(first), ["a"]);
    assert.ok(first.state === "READ" && first.next === 1n);
    const [record] = first.records;
    assert.deepEqual([String(record?.key), record?.headers.map(([k, v]) => `${k}=${v}`)], ["k", ["h=1"]]);
    await write("plain", "b", 1);
    assert.deepEqual(texts(await read({ topic, partition: 1, offset: 1n })), ["b"]);
    assert.equal(await reader.end(topic, 1), 2n);
    assert.equal(await reader.offsetAt(topic, 1, record?.timestamp ?? 0), 0n);
    assert.equal(await reader.offsetAt(topic, 1, runtime.now() + 60_000), null);
    const none = await reader.read([{ topic, partition: 0, offset: 0n }], { ...BOUNDS, waitMs: 1 });
    assert.ok(none.every((portion) => portion.state === "READ" && portion.records.length === 0));
  });

  it("tells of an offset that the log does not have, and reads on in the same reader", async () => {
    const topic = await create("short");
    await write("short", "a");
    await write("short", "b");
    await admin.deleteRecords({ topics: [{ name: "short", partitions: [{ partition: 0, offset: 1n }] }] });
    const at = { topic, partition: 0 };
    for (const offset of [0n, 9n]) {
      assert.deepEqual(await read({ ...at, offset }), {
        ...{ at: { ...at, offset }, state: "OUT_OF_RANGE", start: 1n, end: 2n },
      });
    }
    assert.deepEqual(texts(await read({ ...at, offset: 1n })), ["b"]);
  });

  it("tells of a topic that was deleted, and takes one with its name for another", async () => {
    const topic = await create("again");
    await write("again", "old");
    assert.deepEqual(texts(await read({ topic, partition: 0, offset: 0n })), ["old"]);
    await admin.deleteTopics({ topics: ["again"] });
    assert.equal((await read({ topic, partition: 0, offset: 1n })).state, "GONE");
    const newer = await create("again");
    assert.notEqual(newer.id, topic.id);
    await write("again", "new");
    assert.deepEqual(texts(await read({ topic: newer, partition: 0, offset: 0n })), ["new"]);
  });

  it("is told of refused requests in a topic whose number of partitions a person has chosen", async () => {
    const address = kafkaAddress(kafka.url);
    assert.ok(address !== null);
    const { requests, refused } = requestTopics("chosen.");
    await create(refused, 1);
    await create(requests, 5);
    const writer = await kafkaRequestLog(address, "chosen.", runtime).openWriter();
    const { partitions } = await writer.open();
    assert.equal(partitions, 5);
    const record = {
      topic: "t",
      offset: 7,
      timestamp: 1,
      problem: "{}",
      contentType: null,
      value: null,
      valueBytes: 0,
    };
    await writer.tellRefused(Array.from({ length: 5 }, (_, partition) => ({ ...record, partition })));
    writer.close();
    const told = await readMessages(kafka.broker, refused, 5);
    assert.deepEqual(
      told.map(({ headers }) => headers["mainspring-partition"]),
      ["0", "1", "2", "3", "4"],
    );
  });

  it("fails within its time when the broker is killed", async () => {
    const topic = await create("killed");
    await write("killed", "before");
    const at = { topic, partition: 0, offset: 0n };
    const failed = assert.rejects(reader.read([{ ...at, offset: 1n }], { ...BOUNDS, waitMs: 5_000 }), KafkaFailed);
    await kafka.kill();
    await failed;
  });
});
