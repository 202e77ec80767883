import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ExportTraceServiceRequestSchema, ExportTraceServiceResponseSchema } from "@mainspring/proto/otlp";
import { eventOf } from "../../api/events/events.fixture.ts";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import { OtlpSink } from "./otlp-sink.ts";
import { startReceiver } from "./receiver.fixture.ts";
import { resourceOf } from "./resource.ts";

const rowOf = (...numbers: number[]) => [{ shard: 1, epoch: 1, seq: 1, events: numbers.map((n) => eventOf(n)) }];

async function scene(test: TestContext) {
  const receiver = await startReceiver(test);
  const errors: object[] = [];
  const log = { error: (told: object) => void errors.push(told) };
  const headers = { authorization: "Bearer the-secret" };
  const sink = new OtlpSink({ address: { url: receiver.url, headers }, resource: resourceOf("1.2.3", null), log });
  test.after(() => sink.close());
  return { receiver, sink, errors };
}

describe("the sink of OTLP", () => {
  it("sends an empty request when it opens, and then spans, as the official schema has them", async (test) => {
    const { receiver, sink } = await scene(test);
    await sink.open();
    await sink.deliver(rowOf(1, 2));
    const [opening, request] = receiver.received;
    assert.equal(opening?.body.length, 0);
    assert.ok(request !== undefined);
    const { path, headers, body } = request;
    assert.deepEqual([path, headers["content-type"]], ["/v1/traces", "application/x-protobuf"]);
    assert.equal(headers.authorization, "Bearer the-secret");
    const [{ resource, scopeSpans } = assert.fail()] = fromBinary(ExportTraceServiceRequestSchema, body).resourceSpans;
    const attributes = resource?.attributes.map(({ key, value }) => [key, value?.value.value]);
    assert.deepEqual(attributes, [
      ["service.name", "mainspring"],
      ["service.version", "1.2.3"],
    ]);
    assert.equal(scopeSpans[0]?.spans.length, 4);
  });

  it("sends equal spans for a repeat, in requests of a thousand, and none where no attempt has ended", async (test) => {
    const { receiver, sink } = await scene(test);
    await sink.deliver([{ shard: 1, epoch: 1, seq: 1, events: [eventOf(1, { kind: "JobAssigned" })] }]);
    assert.equal(receiver.received.length, 0);
    const rows = rowOf(...Array.from({ length: 600 }, (_, n) => n));
    await sink.deliver(rows);
    await sink.deliver(rows);
    const [first, rest, again, more] = receiver.received.map(({ body }) => Buffer.from(body));
    assert.ok(first?.equals(again ?? assert.fail()) && rest?.equals(more ?? assert.fail()));
    const counts = [first, rest].map(
      (body = Buffer.of()) =>
        fromBinary(ExportTraceServiceRequestSchema, body).resourceSpans[0]?.scopeSpans[0]?.spans.length,
    );
    assert.deepEqual(counts, [1_000, 200]);
  });

  it("says whether a failure passes by itself, without the headers", async (test) => {
    const { receiver, sink } = await scene(test);
    const failing = async (status: number, kind: typeof SinkRefused | typeof SinkUnavailable, text: RegExp) => {
      receiver.answer = (response) => response.writeHead(status).end("no");
      await assert.rejects(sink.deliver(rowOf(1)), (error) => {
        assert.ok(error instanceof kind && text.test(error.message), String(error));
        return !error.message.includes("the-secret");
      });
    };
    await failing(401, SinkRefused, /answered 401: correct MAINSPRING_OTLP_HEADERS/);
    await failing(404, SinkRefused, /\/v1\/traces answered 404: correct MAINSPRING_OTLP: it is the base URL/);
    for (const status of [302, 408, 429, 500, 502, 503]) await failing(status, SinkUnavailable, /answered \d+$/);
    receiver.answer = (response) => response.destroy();
    await assert.rejects(sink.deliver(rowOf(1)), (error) => error instanceof SinkUnavailable);
  });

  it("logs spans that the receiver refuses for good, and goes on", async (test) => {
    const { receiver, sink, errors } = await scene(test);
    receiver.answer = (response) => response.writeHead(400).end();
    await sink.deliver(rowOf(1));
    const partialSuccess = { rejectedSpans: 1n, errorMessage: "too old" };
    const answer = create(ExportTraceServiceResponseSchema, { partialSuccess });
    receiver.answer = (response) => response.end(toBinary(ExportTraceServiceResponseSchema, answer));
    await sink.deliver(rowOf(1));
    receiver.answer = (response) => response.end("{}");
    await sink.deliver(rowOf(1));
    assert.deepEqual(errors, [
      { spans: 2, reason: "it refused the request" },
      { spans: 1, reason: "too old" },
    ]);
  });

  it("ends deliveries under way when it closes", async (test) => {
    const { receiver, sink } = await scene(test);
    receiver.answer = () => undefined;
    const arrived = new Promise<void>((resolve) => (receiver.arrived = resolve));
    const delivery = sink.deliver(rowOf(1));
    const end = assert.rejects(delivery, (error) => error instanceof SinkUnavailable && /closed/.test(error.message));
    await arrived;
    await sink.close();
    await end;
    await assert.rejects(sink.deliver(rowOf(1)), SinkUnavailable);
  });
});
