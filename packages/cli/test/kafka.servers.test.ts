import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { endsFrom } from "../../../examples/kafka-ends.ts";
import { startKafka } from "../../../tools/services/start-kafka.ts";
import { startPostgres } from "../../../tools/services/start-postgres.ts";
import { mainspring } from "./testing/command.ts";
import { eventsRun } from "./testing/events-run.ts";
import { readTopic } from "./testing/kafka-topic.ts";
import { FREE } from "./testing/server.ts";
import { ServerProcess } from "./testing/server-process.ts";

const JOBS = 500;
const DEAD = 25;

describe("events in Kafka and ClickHouse", () => {
  it("are those of the API, although two servers and the broker are killed", async (t) => {
    const { broker, close } = await eventsRun({
      jobs: JOBS,
      dead: DEAD,
      kills: 2,
      downSec: 0,
      rate: 0,
      say: (text) => t.diagnostic(text),
    });
    t.after(close);
    const ends: string[] = [];
    for await (const { executionId, kind } of endsFrom(broker, "example")) {
      if (ends.push(`${kind} ${executionId}`) === JOBS) break;
    }
    assert.equal(new Set(ends).size, JOBS);
    assert.equal(ends.filter((end) => end.startsWith("JobDeadLettered")).length, DEAD);
  });
});

describe("a server with events for Kafka", () => {
  it("brings them in Protobuf where MAINSPRING_KAFKA_FORMAT says so, and the example reads them", async (t) => {
    const [postgres, kafka] = await Promise.all([startPostgres({ version: 14 }), startKafka()]);
    const events = { MAINSPRING_EVENTS: "kafka", MAINSPRING_KAFKA: kafka.url, MAINSPRING_KAFKA_FORMAT: "protobuf" };
    const server = new ServerProcess({ MAINSPRING_STORE: postgres.url, ...events });
    t.after(async () => {
      await server.end("SIGTERM");
      await Promise.all([postgres.stop(), kafka.stop()]);
    });
    await server.start();
    const { executionId } = await new Client({ url: server.httpUrl }).submit({ target: { handler: "echo" } });
    for await (const end of endsFrom(kafka.broker, "example")) {
      assert.deepEqual(end, { executionId, kind: "JobCompleted", handler: "echo", reason: null });
      break;
    }
    for await (const { headers } of readTopic(kafka.broker, "ms.job-events", 1))
      assert.equal(headers["content-type"], "application/protobuf");
  });

  it("does not start without the address of a broker", async () => {
    const { code, stderr } = await mainspring(["serve"], { env: { ...FREE, MAINSPRING_EVENTS: "kafka" } });
    assert.equal(code, 78);
    assert.match(stderr, /MAINSPRING_KAFKA must be set, as kafka:\/\/host:9092, where MAINSPRING_EVENTS has kafka/);
  });
});
