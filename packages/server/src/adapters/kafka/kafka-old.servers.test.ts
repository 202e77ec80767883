import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { Admin } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { createLog } from "../../ops/logging.ts";
import { type KafkaAddress, kafkaAddress } from "../../ports/kafka-address.ts";
import { RequestLogUnavailable } from "../../ports/request-log.ts";
import { busKeys } from "../kafka-bus/bus-envelope.ts";
import { KafkaBus } from "../kafka-bus/kafka-bus.ts";
import { Cluster } from "../mesh/mesh.fixture.ts";
import { stayAwake } from "../system/stay-awake.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { openKafkaLink } from "./kafka-link.ts";
import { readMessages, whenAvailable } from "./kafka-reader.fixture.ts";
import { kafkaRequestLog } from "./request-log.ts";

const TOO_OLD = /^Kafka at 127\.0\.0\.1:\d+ is older than 3\.1$/;
const REMEDY = "update the brokers, or leave out MAINSPRING_INGEST and MAINSPRING_BUS=kafka";

// The last Kafka whose brokers know no reads by the id of a topic. They answer such a read as if the topic were gone.
describe("Kafka 3.0", () => {
  const runtime = systemRuntime();
  const cluster = new Cluster();
  let sleep: () => void;
  let kafka: TestKafka;
  let address: KafkaAddress;
  let admin: Admin;
  before(async () => {
    sleep = stayAwake();
    kafka = await startKafka({ version: "3.0.2" });
    address = kafkaAddress(kafka.url) as KafkaAddress;
    admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 0 });
  });
  afterEach(() => cluster.close());
  after(async () => {
    await admin?.close();
    await kafka?.stop();
    sleep();
  });

  it("takes events", async () => {
    const link = await openKafkaLink(address, "test", runtime);
    await link.create("events", 3);
    const message = { topic: "events", partition: 2, key: "k", value: Buffer.from("an event"), headers: {} };
    await whenAvailable(() => link.send([message]));
    link.close();
    const [found] = await readMessages(kafka.broker, "events", 1);
    assert.equal(String(found?.value), "an event");
  });

  it("is refused as the log of requests, before a topic is created in it", async () => {
    const log = kafkaRequestLog(address, "old.", runtime);
    const isRefusal = (error: unknown) =>
      error instanceof RequestLogUnavailable && TOO_OLD.test(error.message) && error.refusal === REMEDY;
    const writer = await log.openWriter();
    await assert.rejects(writer.open(), isRefusal);
    writer.close();
    const reader = await log.openReader();
    await assert.rejects(reader.topic(), isRefusal);
    reader.close();
    assert.deepEqual(
      (await admin.listTopics()).filter((topic) => topic.startsWith("old.")),
      [],
    );
  });

  it("is refused as the bus", async () => {
    const [node] = await cluster.start("a");
    const shared = { topicsBy: "one" as const, isStrict: false, keys: busKeys(["secret"], []), runtime };
    const bus = new KafkaBus({ mesh: node.bus, kafka: address, prefix: "bus.", ...shared, log: createLog("silent") });
    const refusal = await bus.open();
    bus.close();
    assert.ok(refusal !== null && refusal.endsWith(`: ${REMEDY}`), String(refusal));
    assert.match(refusal.slice(0, -REMEDY.length - 2), TOO_OLD);
  });
});
