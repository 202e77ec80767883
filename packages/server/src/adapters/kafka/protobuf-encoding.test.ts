import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { EVENT_KINDS } from "@mainspring/contract/enums";
import { JobEventSchema } from "@mainspring/proto/events";
import { cloudEvent } from "../../api/events/cloud-event.ts";
import { AT, eventOf, idOf } from "../../api/events/events.fixture.ts";
import { eventId, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { protobufEncoding } from "./protobuf-encoding.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/** Every field with a value that is not its default. */
const FULL: Partial<LifecycleEvent> = {
  ...{ workflowId: idOf(2), node: 3, item: 4, tenant: "t", pool: "p", handler: "h", trigger: "API", attempt: 5 },
  ...{ workerId: "w", state: "DEAD", reason: "FAILED", scheduledAt: AT - 4, createdAt: AT - 3, startedAt: AT - 2 },
  ...{ finishedAt: AT - 1, failures: 6, lost: 7, errorName: "E", step: "Zoë/1", session: idOf(9), jobVersion: 8 },
  traceparent: TRACEPARENT,
};

const root = new URL("../../../../../", import.meta.url);
const page = await readFile(new URL("docs/reference/events.md", root), "utf8");
const schema = await readFile(new URL("packages/proto/proto/mainspring/events/v1/events.proto", root), "utf8");
/** Text of the first block of the page in a language. */
const blockOf = (language: string) => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "s").exec(page)?.[1] ?? "";

const decoded = (value: Uint8Array) => fromBinary(JobEventSchema, value);

/** A message as JSON, with milliseconds in each instant. */
function jsonOf(value: Uint8Array): object {
  const text = JSON.stringify(toJson(JobEventSchema, decoded(value), { alwaysEmitImplicit: true }));
  return JSON.parse(text.replaceAll(/(:\d\d)Z"/g, '$1.000Z"'));
}

function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

describe("messages in Protobuf", () => {
  it("have what the JSON has: every field, and no field that is null", () => {
    for (const event of [eventOf(1, FULL), eventOf(1), ...EVENT_KINDS.map((kind) => eventOf(1, { ...FULL, kind }))]) {
      const { id, type, time, traceparent = null, data } = cloudEvent(event);
      const { value } = protobufEncoding.event(event, null);
      assert.deepEqual(jsonOf(value), withoutNulls({ ...data, id, kind: type, time, traceparent }));
    }
    const fields = JobEventSchema.fields.map(({ jsonName }) => jsonName);
    const known = ["id", "kind", "time", "traceparent", ...Object.keys(cloudEvent(eventOf(1)).data)];
    assert.deepEqual(fields.toSorted(), [...known, "deadLetter", "eventsDropped"].toSorted());
  });

  it("have the attributes of CloudEvents as headers", () => {
    const { specversion, id, source, type, subject, time, traceparent } = cloudEvent(eventOf(1, FULL));
    assert.deepEqual(protobufEncoding.event(eventOf(1, FULL), null).headers, {
      ...{ "content-type": "application/protobuf", ce_specversion: specversion, ce_id: id, ce_source: source },
      ...{ ce_type: type, ce_subject: subject, ce_time: time, ce_traceparent: traceparent },
    });
    assert.ok(!("ce_traceparent" in protobufEncoding.event(eventOf(1), null).headers));
  });

  it("have payload and error of a dead letter, the payload as it was submitted", () => {
    const event = eventOf(1, { kind: "JobDeadLettered" });
    const letter = (payload: Uint8Array | null, error: { name: string; message: string } | null) =>
      decoded(protobufEncoding.event(event, { payload, payloadBytes: 26, error }).value).deadLetter;
    const text = '{"n":12345678901234567890}';
    const full = letter(Buffer.from(text), { name: "E", message: "m" });
    assert.deepEqual([Buffer.from(full?.payload ?? []).toString(), full?.payloadBytes], [text, 26n]);
    assert.deepEqual([full?.error?.name, full?.error?.message, full?.error?.stack], ["E", "m", undefined]);
    const none = letter(null, null);
    assert.deepEqual([none?.payload, none?.payloadBytes, none?.error], [undefined, 26n, undefined]);
    assert.equal(decoded(protobufEncoding.event(event, null).value).deadLetter, undefined);
  });

  it("tell of rows that the store has removed", () => {
    const id = "shard-7/5-9/EventsDropped";
    const { value, headers } = protobufEncoding.gap({
      ...{ id, shard: 7, after: { epoch: 4, seq: 2 }, last: { epoch: 5, seq: 9 } },
    });
    assert.deepEqual(toJson(JobEventSchema, decoded(value)), {
      ...{ id, kind: "EventsDropped" },
      eventsDropped: { shard: 7, after: { epoch: "4", seq: "2" }, last: { epoch: "5", seq: "9" } },
    });
    assert.deepEqual([headers.ce_id, headers.ce_subject, headers.ce_time], [id, "shard-7", undefined]);
  });

  it("are on the page about events, the schema in full, and the headers of its example", () => {
    const messages = schema.slice(schema.indexOf("// An event."));
    assert.equal(blockOf("proto"), messages);
    const { id, subject, time, traceparent, data } = JSON.parse(blockOf("json"));
    const [at, { nodeNumber: node, ...rest }] = [Date.parse(time), data];
    const instants = ["scheduledAt", "createdAt", "startedAt", "finishedAt"].map((name) => [
      ...[name, rest[name] === null ? null : Date.parse(rest[name])],
    ]);
    const event: LifecycleEvent = {
      ...rest,
      ...Object.fromEntries(instants),
      kind: "JobCompleted",
      node,
      at,
      traceparent,
    };
    assert.deepEqual([cloudEvent(event).data, eventId(event)], [data, id]);
    const { headers } = protobufEncoding.event(event, null);
    assert.equal(headers.ce_subject, subject);
    const lines = Object.entries(headers).map(([name, text]) => `${name}: ${text}\n`);
    assert.equal(blockOf("text"), lines.join(""));
  });
});
