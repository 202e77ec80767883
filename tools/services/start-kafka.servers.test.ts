import assert from "node:assert/strict";
import { it } from "node:test";
import { Admin } from "@platformatic/kafka";
import { startKafka } from "./start-kafka.ts";

it("a Kafka for tests comes up, keeps its topics over a kill, and goes away", async () => {
  const kafka = await startKafka();
  const admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 0 });
  try {
    await admin.createTopics({ topics: ["kept"], partitions: 2, replicas: -1 });
    await kafka.kill();
    await assert.rejects(admin.listTopics());
    await kafka.restart();
    assert.deepEqual(await admin.listTopics(), ["kept"]);
  } finally {
    await admin.close();
    await kafka.stop();
  }
});
