import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { AcceptedBody, IngestBody, RequestBody, SeekBody } from "@mainspring/contract";
import { JobRequestSchema } from "@mainspring/proto/requests";
import type { InjectOptions } from "fastify";
import { pino } from "pino";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { about, documented, startTestApi, type TestApi } from "./api/api.fixture.ts";
import type { HttpApp } from "./api/http/http-app.ts";
import { MemoryLog } from "./api/requests/memory-log.fixture.ts";
import type { RecordTaker } from "./api/requests/record-taker.ts";
import { RequestSender } from "./api/requests/request-sender.ts";
import { SHARD_COUNT } from "./domain/ids.ts";
import { recordTaker } from "./ingest.ts";
import { loadConfig } from "./ops/config.ts";
import { createMetrics } from "./ops/metrics.ts";
import type { Store } from "./ports/store.ts";
import type { DecidedRecord, StoreIngest } from "./ports/store-ingest.ts";
import { TenantRing } from "./security/tenant-ring.ts";

const NOTE = { target: { handler: "note" }, delayMs: 86_400_000 };
const GUIDE = new URL("../../../docs/guides/submit-through-kafka.md", import.meta.url);

const until = async <T>(read: () => Promise<T | null>): Promise<T> => {
  for (;;) {
    const found = await read();
    if (found !== null) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe("jobs through the log of requests", () => {
  const runtime = systemRuntime();
  const silent = pino({ level: "silent" });
  const log = new MemoryLog(runtime);
  let api: TestApi;
  let kafka: HttpApp;
  let fallback: HttpApp;
  let taker: RecordTaker;
  const sender = () => new RequestSender({ requestLog: log, runtime, log: silent });

  before(async () => {
    api = await startTestApi();
    const config = { apiKey: null };
    kafka = await api.another(config, undefined, { ingest: { sender: sender(), mode: "kafka", requestLog: log } });
    fallback = await api.another(config, undefined, {
      ingest: { sender: sender(), mode: "fallback", requestLog: log },
    });
    const owned = new Map(Array.from({ length: SHARD_COUNT }, (_, shard) => [shard, 1]));
    const parts = { store: api.store, bus: api.bus, runtime, log: silent, zones: about.zones, owned: () => owned };
    const clock = { look: async () => undefined };
    const tenants = new TenantRing(api.store.tenants);
    const context = { ...parts, tenants, clock, config: loadConfig({}), metrics: createMetrics(), lacking: () => null };
    taker = recordTaker({ requestLog: log, topic: "job-requests" }, context);
    taker.start();
  });
  after(async () => {
    await taker.stop();
    await kafka.close();
    await fallback.close();
    await api.stop();
  });

  const send = async <T>(request: InjectOptions, to = kafka) => {
    const response = await documented(to, request);
    return { status: response.statusCode, headers: response.headers, body: response.json<T>() };
  };
  const submit = (payload: object, key?: string, to = kafka) =>
    send<AcceptedBody>(
      { method: "POST", url: "/v1/jobs", payload, ...(key !== undefined && { headers: { "idempotency-key": key } }) },
      to,
    );
  const decided = (id: string) =>
    until(async () => {
      const { status, body } = await send<RequestBody>({ method: "GET", url: `/v1/requests/${id}` });
      return status !== 200 || body.state === "ACCEPTED" ? null : body;
    });
  const statusOf = async (path: string) => (await send({ method: "GET", url: path })).status;
  const typeOf = ({ problem }: RequestBody) => problem?.type.split("/").at(-1);

  describe("differ from jobs that go into the store directly in", () => {
    it("the answer to a submit", async () => {
      const { status, headers, body } = await submit(NOTE);
      assert.deepEqual([status, Object.keys(body)], [202, ["jobId", "executionId", "request"]]);
      assert.equal(headers.location, `/v1/requests/${body.request}`);
      const { state, jobId, executionId } = await decided(body.request);
      assert.deepEqual([state, jobId, executionId], ["TAKEN_IN", body.jobId, body.executionId]);
      const recurring = await submit({ target: NOTE.target, schedule: "@daily", timezone: "UTC" });
      assert.deepEqual([recurring.status, Object.keys(recurring.body)], [202, ["jobId", "request"]]);
      assert.equal((await decided(recurring.body.request)).jobId, recurring.body.jobId);
    });

    it("reads right after the submit", async () => {
      await taker.stop();
      const { body } = await submit(NOTE);
      assert.equal(await statusOf(`/v1/jobs/${body.jobId}`), 404);
      const { body: request } = await send<RequestBody>({ method: "GET", url: `/v1/requests/${body.request}` });
      assert.deepEqual([request.state, request.createdAt, request.jobId], ["ACCEPTED", null, null]);
      taker = restarted();
      await decided(body.request);
      assert.equal(await statusOf(`/v1/jobs/${body.jobId}`), 200);
      assert.equal(await statusOf(`/v1/executions/${body.executionId}`), 200);
    });

    it("a repeat with the same Idempotency-Key", async () => {
      const [first, repeat] = [await submit(NOTE, "again"), await submit(NOTE, "again")];
      assert.deepEqual([repeat.status, repeat.headers["idempotent-replayed"]], [202, undefined]);
      assert.notEqual(repeat.body.jobId, first.body.jobId);
      const ends = [await decided(first.body.request), await decided(repeat.body.request)];
      const ids = ends.map(({ jobId }) => jobId);
      assert.equal(ids[0], ids[1]);
    });

    it("an Idempotency-Key that another request has", async () => {
      await submit(NOTE, "used");
      const { status, body } = await submit({ ...NOTE, priority: 1 }, "used");
      // The two are in different partitions perhaps, so either may be the first.
      assert.equal(status, 202);
      const direct = await submit({ ...NOTE, priority: 2 }, "used", api.app);
      assert.ok([201, 422].includes(direct.status));
      const end = await decided(body.request);
      if (end.state === "REFUSED") assert.equal(typeOf(end), "idempotency-key-reused");
    });

    it("a unique key that another execution has", async () => {
      const job = { ...NOTE, uniqueKey: "one" };
      const direct = await submit(job, undefined, api.app);
      const { status, body } = await submit(job);
      const end = await decided(body.request);
      assert.deepEqual([status, end.state, end.deduplicated, end.jobId], [202, "TAKEN_IN", true, direct.body.jobId]);
    });

    it("the name of a recurring job that another one has", async () => {
      const job = { target: NOTE.target, name: "daily", schedule: "@daily", timezone: "UTC" };
      await submit(job, undefined, api.app);
      const { status, body } = await submit(job);
      const end = await decided(body.request);
      assert.deepEqual([status, end.state, typeOf(end)], [202, "REFUSED", "name-in-use"]);
    });

    it("a batch with an Idempotency-Key", async () => {
      const batch = { jobs: [{ ...NOTE, uniqueKey: "x" }, NOTE, { target: {} }] };
      const request = { method: "POST" as const, url: "/v1/jobs/batch", payload: batch };
      const post = () => send<{ items: AcceptedBody[] }>({ ...request, headers: { "idempotency-key": "all" } });
      const [first, repeat] = [await post(), await post()];
      assert.deepEqual([first.status, "error" in (first.body.items[2] ?? {})], [200, true]);
      for (const index of [0, 1]) {
        const ends = [first, repeat].map(({ body }) => decided(String(body.items[index]?.request)));
        const [one, other] = await Promise.all(ends);
        assert.deepEqual([one?.state, other?.jobId], ["TAKEN_IN", one?.jobId]);
      }
    });

    it("the policies of a handler", async () => {
      await taker.stop();
      const { body } = await submit({ target: { handler: "declared" }, delayMs: 86_400_000 });
      await api.store.handlers.keep(
        [
          {
            handler: "declared",
            pool: "default",
            policies: JSON.stringify({ timeoutSec: 7 }),
            isHome: false,
            isNews: true,
          },
        ],
        runtime.now(),
      );
      taker = restarted();
      await decided(body.request);
      const { body: job } = await send<{ timeoutSec: number }>({ method: "GET", url: `/v1/jobs/${body.jobId}` });
      assert.equal(job.timeoutSec, 7);
    });

    it("submits while Kafka cannot be reached", async () => {
      log.isDown = true;
      const { status } = await submit(NOTE);
      assert.equal(status, 503);
      assert.equal((await submit(NOTE, undefined, fallback)).status, 201);
      log.isDown = false;
      await until(async () => ((await submit(NOTE)).status === 202 ? true : null));
    });

    it("nothing else, as the guide says", () => {
      const rows = readFileSync(GUIDE, "utf8").matchAll(/^\| ([^|]+?) \| [^|]+ \| [^|]+ \|$/gm);
      const told = Array.from(rows, ([, name]) => name).filter((name) => name !== "what" && name !== "---");
      const tests = readFileSync(new URL(import.meta.url), "utf8").matchAll(/^    it\("([^"]+)", async/gm);
      // The store does not come back, so its test is the last one of all.
      assert.deepEqual(told, [...Array.from(tests, ([, name]) => name), "submits while the store cannot be reached"]);
    });
  });

  const restarted = (store: Store = api.store) => {
    const owned = new Map(Array.from({ length: SHARD_COUNT }, (_, shard) => [shard, 1]));
    const parts = { store, bus: api.bus, runtime, log: silent, zones: about.zones, owned: () => owned };
    const clock = { look: async () => undefined };
    const tenants = new TenantRing(api.store.tenants);
    const context = { ...parts, tenants, clock, config: loadConfig({}), metrics: createMetrics(), lacking: () => null };
    const next = recordTaker({ requestLog: log, topic: "job-requests" }, context);
    next.start();
    return next;
  };

  it("are refused at once by the same checks", async () => {
    for (const wrong of [{ target: {} }, { ...NOTE, priority: 11 }, { ...NOTE, schedule: "@daily" }]) {
      const [one, other] = [await submit(wrong), await submit(wrong, undefined, api.app)];
      assert.deepEqual([one.status, one.body], [400, other.body]);
    }
    const over = { target: NOTE.target, schedule: "@daily", timezone: "UTC", endAt: "2020-01-01T00:00:00Z" };
    assert.equal((await submit(over)).status, 400);
  });

  it("tells of records that nobody can take in, and goes on", async () => {
    const value = Buffer.from(JSON.stringify(NOTE));
    const bad = [
      log.append({ value: Buffer.from([0xff, 0xfe]) }),
      log.append({ value: Buffer.alloc(2_000_000, " ") }),
      log.append({ value, headers: { "content-type": "application/x-yaml" } }),
      log.append({ value, headers: { "content-type": "text/\u0000\ud800" } }),
      log.append({ value, headers: { "mainspring-job-id": "not an id" } }),
      log.append({ value, headers: { "idempotency-key": "k".repeat(300) } }),
      log.append({ value, at: 0 }),
      log.append({ value, at: runtime.now() + 90_000_000 }),
    ];
    const good = log.append({ value, headers: { "content-type": "application/json; charset=utf-8" } });
    assert.equal((await decided(good)).state, "TAKEN_IN");
    const types: (string | undefined)[] = [];
    for (const id of bad) types.push(typeOf(await decided(id)));
    const invalid = "invalid-request";
    assert.deepEqual(types.slice(2, 4), ["unsupported-media-type", "unsupported-media-type"]);
    assert.ok(
      types.slice(4).every((type) => type === types[4]),
      `${types} ${invalid}`,
    );
    await until(async () => (log.refused.length >= bad.length ? true : null));
    assert.deepEqual(log.refused.map(({ partition, offset }) => `${partition}-${offset}`).slice(-bad.length), bad);
  });

  it("refuses each record of a compressed batch that expands to too much, and takes the next one in", async () => {
    const value = Buffer.from(JSON.stringify(NOTE));
    log.isOversized = ({ partition, offset }) => oversized.includes(`${partition}-${offset}`);
    const oversized = [log.append({ value }), log.append({ value })];
    const next = log.append({ value });
    const ends = await Promise.all([...oversized, next].map((position) => decided(position)));
    log.isOversized = () => false;
    assert.deepEqual(
      ends.map(({ state }) => state),
      ["REFUSED", "REFUSED", "TAKEN_IN"],
    );
    assert.match(String(ends[0]?.problem?.detail), /in a compressed batch that expands to more than 8 MiB/);
  });

  it("may be in Protobuf", async () => {
    const headers = { "content-type": "application/protobuf" };
    const inProtobuf = (job: MessageInitShape<typeof JobRequestSchema>) =>
      log.append({ value: toBinary(JobRequestSchema, create(JobRequestSchema, job)), headers });
    const payload = Buffer.from('{"n": 12345678901234567890}');
    const at = Math.floor(runtime.now() / 1_000) * 1_000 + 3_600_000;
    const good = inProtobuf({
      ...{ handler: "note", pool: "binary", payload, priority: 9, runAt: timestampFromMs(at), labels: { a: "b" } },
      ...{ timeoutSec: 7, retryPolicy: { maxAttempts: 3, initialDelayMs: 5n } },
    });
    const bad = [
      inProtobuf({ handler: "" }),
      inProtobuf({ handler: "note", payload: Buffer.from("{") }),
      inProtobuf({ handler: "note", runAt: { seconds: 2n ** 62n, nanos: 0 } }),
      log.append({ value: Buffer.from("{}"), headers }),
    ];
    const { state, jobId } = await decided(good);
    assert.equal(state, "TAKEN_IN");
    const { body } = await send<Record<string, unknown>>({ method: "GET", url: `/v1/jobs/${jobId}` });
    const { priority, timeoutSec, labels, runAt, target } = body;
    assert.deepEqual([priority, timeoutSec, labels, runAt], [9, 7, { a: "b" }, new Date(at).toISOString()]);
    assert.deepEqual(target, { handler: "note", pool: "binary", requires: [] });
    for (const id of bad) assert.equal((await decided(id)).state, "REFUSED");
  });

  it("are refused alone where the program fails", async () => {
    await taker.stop();
    const isPoison = ({ value, decision }: DecidedRecord) => String(value).includes("poison") && "jobs" in decision;
    const { ingest } = api.store;
    const takeIn: StoreIngest["takeIn"] = (portion, judge) =>
      portion.records.some(isPoison) ? Promise.reject(new Error("a bug")) : ingest.takeIn(portion, judge);
    taker = restarted({ ...api.store, ingest: { ...ingest, takeIn } });
    const texts = ["one", "poison", "two"].map((text) => Buffer.from(JSON.stringify({ ...NOTE, payload: text })));
    const ids = texts.map((value) => log.append({ value, partition: 2 }));
    const states: string[] = [];
    for (const id of ids) states.push((await decided(id)).state);
    assert.deepEqual(states, ["TAKEN_IN", "REFUSED", "TAKEN_IN"]);
  });

  it("are taken in once when a record is read again, or is there twice", async () => {
    const value = Buffer.from(JSON.stringify({ ...NOTE, target: { handler: "twice", pool: "twice" } }));
    const headers = { "mainspring-job-id": runtime.uuid() };
    const twice = [log.append({ value, headers }), log.append({ value, headers, partition: 1 })];
    const ids = [log.append({ value }), log.append({ value }), ...twice];
    const jobs = new Set<unknown>();
    for (const id of ids) jobs.add((await decided(id)).jobId);
    assert.equal(jobs.size, 3);
    const seek = {
      method: "POST" as const,
      url: "/v1/ingest/seek",
      payload: { to: new Date(runtime.now() - 3_600_000).toISOString() },
    };
    const { status, body } = await send<SeekBody>(seek);
    assert.deepEqual([status, body.partitions.some(({ from, to }) => from > to)], [200, true]);
    const last = log.append({ value: Buffer.from(JSON.stringify(NOTE)) });
    await decided(last);
    const { body: state } = await send<IngestBody>({ method: "GET", url: "/v1/ingest" });
    assert.deepEqual([state.mode, state.partitions.length], ["kafka", log.partitions]);
    await until(async () => {
      const { body } = await send<IngestBody>({ method: "GET", url: "/v1/ingest" });
      return body.partitions.every(({ lag }) => lag === 0) ? true : null;
    });
    const { body: found } = await send<{ items: unknown[] }>({ method: "GET", url: "/v1/jobs?pool=twice" });
    assert.equal(found.items.length, 3);
  });

  it("are accepted before any node has begun to read their partition, and unknown to a node without the log", async () => {
    const [path, state] = ["/v1/requests/63-5", "ACCEPTED"];
    assert.equal((await send<RequestBody>({ method: "GET", url: path })).body.state, state);
    assert.equal((await send({ method: "GET", url: path }, api.app)).status, 404);
  });

  it("cannot be sought before what the store remembers, nor on a node without the log", async () => {
    const to = new Date(runtime.now() - 31 * 86_400_000).toISOString();
    const seek = { method: "POST" as const, url: "/v1/ingest/seek", payload: { to } };
    assert.equal((await send(seek)).status, 400);
    assert.equal((await send(seek, api.app)).status, 409);
    assert.equal((await send({ method: "GET", url: "/v1/ingest" }, api.app)).status, 409);
  });

  it("go on where the log begins after it has dropped records, and at the start of a topic that is created again", async () => {
    const value = Buffer.from(JSON.stringify(NOTE));
    await taker.stop();
    for (let n = 0; n < 3; n++) log.append({ value });
    const kept = log.append({ value });
    log.records[0] = (log.records[0] ?? []).slice(-1);
    taker = restarted();
    await decided(kept);
    assert.ok((taker.readings().ingestLost ?? 0) >= 3);
    log.recreate();
    const first = log.append({ value });
    assert.equal(first, "0-0");
    await until(async () => ((await api.store.ingest.positions())[0]?.topic === log.topicId ? true : null));
    assert.equal((await decided(first)).state, "TAKEN_IN");
  });

  it("have an unknown outcome when the log does not answer", async () => {
    log.losesAnswer = true;
    const { status, body } = await submit(NOTE);
    assert.deepEqual(
      [status, String((body as unknown as { detail: string }).detail).includes("may or may not")],
      [503, true],
    );
    assert.equal((await submit(NOTE)).status, 202);
  });

  it("submits while the store cannot be reached", async () => {
    await api.loseStore();
    assert.equal((await submit(NOTE)).status, 202);
    assert.equal((await submit(NOTE, undefined, fallback)).status, 202);
    const batch = { method: "POST" as const, url: "/v1/jobs/batch", payload: { jobs: [NOTE, NOTE] } };
    const items = async (to: HttpApp) => (await send<{ items: AcceptedBody[] }>(batch, to)).body.items;
    for (const to of [kafka, fallback]) assert.ok((await items(to)).every(({ request }) => request !== undefined));
    const keyed = { ...batch, headers: { "idempotency-key": "of-the-batch" } };
    assert.equal((await send(keyed, fallback)).status, 503);
    assert.equal((await submit(NOTE, undefined, api.app)).status, 503);
  });
});
