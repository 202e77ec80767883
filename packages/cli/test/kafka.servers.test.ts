import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endsFrom } from "../../../examples/kafka-ends.ts";
import { mainspring } from "./testing/command.ts";
import { eventsRun } from "./testing/events-run.ts";
import { FREE } from "./testing/server.ts";

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
  it("does not start without the address of a broker", async () => {
    const { code, stderr } = await mainspring(["serve"], { env: { ...FREE, MAINSPRING_EVENTS: "kafka" } });
    assert.equal(code, 78);
    assert.match(stderr, /MAINSPRING_KAFKA must be set, as kafka:\/\/host:9092, where MAINSPRING_EVENTS has kafka/);
  });
});
