import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { toJson } from "@bufbuild/protobuf";
import { EVENT_KINDS } from "@mainspring/contract/enums";
import { JobEventSchema, readJobEvent } from "@mainspring/proto/events";
import { pythonWith } from "../../../../../tools/services/python-packages.ts";
import { startKafka, type TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { AT, eventOf } from "../../api/events/events.fixture.ts";
import type { EventRow } from "../../ports/store-events.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { openKafkaLink } from "./kafka-link.ts";
import { readMessages, whenAvailable } from "./kafka-reader.fixture.ts";
import { KafkaSink } from "./kafka-sink.ts";
import { protobufEncoding } from "./protobuf-encoding.ts";

const ROOT = new URL("../../../../../", import.meta.url);
const pathOf = (name: string) => fileURLToPath(new URL(name, ROOT));
const PAYLOAD = '{"name":"Zoë","n":12345678901234567890}';
const ERROR = { name: "SmtpError", message: "no route", stack: "SmtpError: no route\n    at send" };

/** A row of each kind, and one of a gap. */
const ROWS: EventRow[] = [
  ...EVENT_KINDS.map((kind, i) => ({
    ...{ shard: 7, epoch: 5, seq: i + 1 },
    events: [eventOf(i, { kind, item: i, step: kind === "StepRecorded" ? "Zoë" : null, createdAt: AT - 9 })],
  })),
  { shard: 7, epoch: 5, seq: 90, events: [], droppedAfter: { epoch: 4, seq: 2 ** 40 } },
];

/** Events and ends as Python reads them, with the classes of protoc and the example. */
async function inPython(values: readonly Buffer[]): Promise<{ events: object[]; ends: string[][] }> {
  const constraints = pathOf("tools/services/job-events/constraints.txt");
  const python = await pythonWith({ name: "grpcio-tools", constraints });
  const args = ["tools/services/job-events/read.py", "packages/proto/proto", "examples"].map(pathOf);
  const child = spawn(python, ["-B", ...args], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(values.map((value) => `${value.toString("base64")}\n`).join(""));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  assert.equal(child.exitCode, 0, errors);
  return JSON.parse(output);
}

describe("events in Protobuf in a real Kafka", () => {
  let kafka: TestKafka;
  before(async () => {
    kafka = await startKafka();
  });
  after(() => kafka.stop());

  it("are read by the schema in TypeScript and in Python, every kind", async () => {
    const runtime = systemRuntime();
    const sink = new KafkaSink({
      link: () => openKafkaLink({ brokers: [kafka.broker], tls: false, sasl: null }, "test", runtime),
      ...{ prefix: "pb.", encoding: protobufEncoding },
      details: async () => ({ payload: Buffer.from(PAYLOAD), error: ERROR }),
    });
    await whenAvailable(() => sink.open());
    await sink.deliver(ROWS);
    await sink.close();
    const events = await readMessages(kafka.broker, "pb.job-events", ROWS.length);
    const letters = await readMessages(kafka.broker, "pb.dead-letters", 1);
    const all = [...events, ...letters];
    const read = all.map(({ value }) => readJobEvent(value));
    assert.deepEqual(
      read.map(({ kind }) => kind),
      [...EVENT_KINDS, "EventsDropped", "JobDeadLettered"],
    );
    for (const [i, { headers }] of all.entries()) {
      assert.equal(headers["content-type"], "application/protobuf");
      assert.deepEqual([headers.ce_id, headers.ce_type], [read[i]?.id, read[i]?.kind]);
      assert.deepEqual([headers.id, headers.kind], [read[i]?.id, read[i]?.kind]);
    }
    const [gap, letter] = read.slice(-2);
    assert.deepEqual([gap?.eventsDropped?.after?.seq, gap?.eventsDropped?.last?.seq], [2n ** 40n, 90n]);
    assert.equal(Buffer.from(letter?.deadLetter?.payload ?? []).toString(), PAYLOAD);
    const { name, message, stack } = letter?.deadLetter?.error ?? {};
    assert.deepEqual({ name, message, stack }, ERROR);
    const python = await inPython(all.map(({ value }) => value));
    assert.deepEqual(
      python.events,
      read.map((event) => toJson(JobEventSchema, event)),
    );
    const ended = read.filter(({ kind }) => /^Job(Completed|Cancelled|Skipped|DeadLettered)$/.test(kind));
    assert.deepEqual(
      python.ends,
      ended.slice(0, -1).map(({ executionId, kind, handler }) => [executionId, kind, handler]),
    );
  });
});
