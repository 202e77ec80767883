import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import type { ErrorCode, MainspringError } from "../errors.ts";
import { Client } from "./client.ts";

const JOB = { target: { handler: "echo" } };
const TAKEN = { status: 201, body: { jobId: "j1", state: "ACTIVE", executionId: "e1" } };
const UNAVAILABLE = { status: 503, body: { title: "not now" } };
const READ = { status: 200, body: { state: "RUNNING" } };

describe("a request of the client", () => {
  let api: TinyApi;
  let runtime: JumpingRuntime;
  let client: Client;

  before(async () => {
    api = await TinyApi.start();
  });
  beforeEach(() => {
    runtime = new JumpingRuntime();
    client = new Client({ url: api.url, runtime, timeoutMs: 40_000 });
  });
  afterEach(() => void api.seen.splice(0));
  after(() => api.stop());

  it("fails with what the server's problem says", async () => {
    const errors = [{ field: "/target/handler", message: "is missing" }];
    const problem = { type: "/problems/bad-request", title: "Bad request", status: 400, detail: "not valid", errors };
    api.will({ status: 400, body: problem });
    await assert.rejects(client.submit(JOB), (error: MainspringError) => {
      assert.equal(error.code, "BAD_REQUEST");
      assert.equal(error.message, "not valid; /target/handler: is missing");
      assert.deepEqual([error.status, error.problem, error.errors], [400, problem, errors]);
      return true;
    });
  });

  it("may be given any time to be answered, more too than the platform's timers can hold", async () => {
    const patient = new Client({ url: api.url, timeoutMs: Number.POSITIVE_INFINITY, retries: 0 });
    api.will(TAKEN);
    assert.equal((await patient.submit(JOB)).executionId, "e1");
  });

  it("has a code for each status, also where something in between answered", async () => {
    const codes: [number, ErrorCode][] = [
      [401, "UNAUTHENTICATED"],
      [403, "FORBIDDEN"],
      [404, "NOT_FOUND"],
      [409, "CONFLICT"],
      [412, "PRECONDITION_FAILED"],
      [413, "TOO_LARGE"],
      [415, "UNSUPPORTED_MEDIA_TYPE"],
      [418, "UNEXPECTED_ANSWER"],
      [422, "KEY_REUSED"],
      [500, "INTERNAL"],
      [502, "UNAVAILABLE"],
    ];
    for (const [status, code] of codes) {
      api.will({ status, body: "<h1>no</h1>" });
      const message = new RegExp(`^${api.url}/v1/executions/e1/retry answered ${status} without a problem document`);
      await assert.rejects(client.retryExecution("e1"), { code, message, problem: null });
    }
    assert.equal(api.seen.length, codes.length);
  });

  it("fails where the answer is no JSON: that is no Mainspring server", async () => {
    api.will({ status: 200, body: "<h1>Welcome</h1>" });
    await assert.rejects(client.workers(), { code: "UNEXPECTED_ANSWER", message: /is it a Mainspring server/ });
  });

  it("is repeated after a 429, whatever it was, when the server says", async () => {
    const at = new Date(runtime.nowMs + 9_000).toUTCString();
    api.will(busy("7"), busy(at), { status: 200, body: { executionId: "e2" } });
    assert.equal(await client.retryExecution("e1"), "e2");
    // The client adds jitter, because the server asks all of its clients to wait for the same time.
    assert.deepEqual(runtime.waitsMs, [7_050, 2_050]);
    assert.equal(api.seen.length, 3);
  });

  it("fails at once where the server asks for a longer wait than the client may take", async () => {
    api.will(busy("31"));
    await assert.rejects(client.submit(JOB), { code: "TOO_MANY_REQUESTS" });
    assert.deepEqual([runtime.waitsMs, api.seen.length], [[], 1]);
  });

  it("is repeated for 30 seconds with growing waits, the last time at their end", async () => {
    api.will(...Array.from({ length: 20 }, () => UNAVAILABLE));
    await assert.rejects(client.submit(JOB), { code: "UNAVAILABLE" });
    assert.deepEqual(runtime.waitsMs.slice(0, 8), [50, 100, 200, 400, 800, 1_600, 2_500, 2_500]);
    assert.equal(sum(runtime.waitsMs), 30_000);
    assert.equal(api.seen.length, runtime.waitsMs.length + 1);
    api.forget();
  });

  it("is repeated for as long, and as often, as the client is told", async () => {
    const brief = new Client({ url: api.url, runtime, timeoutMs: 40_000, retryForMs: 250 });
    api.will(...Array(4).fill(busy()));
    await assert.rejects(brief.submit(JOB), { code: "TOO_MANY_REQUESTS" });
    assert.deepEqual([runtime.waitsMs, api.seen.length], [[50, 100, 100], 4]);
    for (const never of [{ retryForMs: 0 }, { retries: 0 }]) {
      api.will(UNAVAILABLE);
      await assert.rejects(new Client({ url: api.url, ...never }).submit(JOB), { code: "UNAVAILABLE" });
    }
    assert.equal(api.seen.length, 6);
  });

  it("has its 30 seconds from its first failure, however long the server was asked to wait before it", async () => {
    const guards = new JumpingRuntime(40_000);
    const waiting = new Client({ url: api.url, runtime: guards, timeoutMs: 40_000 });
    api.will("SILENCE", READ);
    const answer = waiting.getExecution("e1", { waitSec: 60 });
    while (api.seen.length === 0) await turn();
    guards.nowMs += 100_000;
    guards.runOut();
    assert.equal((await answer).state, "RUNNING");
  });

  it("is never repeated after an answer that says that the request is wrong", async () => {
    const refusals = [400, 401, 403, 404, 409, 412, 413, 415, 422];
    for (const status of refusals) {
      api.will({ status, body: { title: "no" } });
      await assert.rejects(client.submit(JOB));
    }
    assert.deepEqual([runtime.waitsMs, api.seen.length], [[], refusals.length]);
  });

  it("is not repeated where it may have taken effect and nothing makes that harmless", async () => {
    for (const reaction of [UNAVAILABLE, "BREAK"] as const) {
      api.will(reaction);
      await assert.rejects(client.retryExecution("e1"), { code: "UNAVAILABLE" });
    }
    assert.equal(api.seen.length, 2);
  });

  it("is repeated with one key where it submits, with another key for each call", async () => {
    api.will("BREAK", UNAVAILABLE, TAKEN, "BREAK", { status: 200, body: { items: [] } });
    const keyed = new Client({ url: api.url, timeoutMs: 40_000 });
    await keyed.submit(JOB);
    await keyed.submitBatch([JOB]);
    const keys = api.seen.map(({ headers }) => headers["idempotency-key"]);
    const [first, , , fourth] = keys;
    assert.match(String(first), /^[0-9a-f-]{36}$/);
    assert.notEqual(first, fourth);
    assert.deepEqual(keys, [first, first, first, fourth, fourth]);
  });

  it("is repeated with the same key where it has one, and where it only reads or cancels", async () => {
    api.will("BREAK", UNAVAILABLE, TAKEN);
    await client.submit(JOB, { idempotencyKey: "k" });
    assert.deepEqual(
      api.seen.map(({ headers, body }) => `${headers["idempotency-key"]} ${body}`),
      Array(3).fill(`k ${JSON.stringify(JOB)}`),
    );
    api.will("BREAK", READ, UNAVAILABLE, { status: 202 }, { status: 202, body: { durable: false } });
    assert.equal((await client.getExecution("e1")).state, "RUNNING");
    assert.equal(await client.cancelExecution("e1"), "REQUESTED");
    assert.equal(await client.cancelExecution("e1"), "NOT_DURABLE");
    assert.equal(api.seen.length, 8);
  });

  it("is repeated with the same id where it is a signal, so that the execution gets one", async () => {
    const sent = { signalId: "s", name: "go", acceptedAt: "2026-03-01T00:00:00.000Z", isRepeated: true };
    api.will("BREAK", { status: 200, body: sent }, { status: 202, body: sent });
    assert.deepEqual(await client.signalExecution("e1", "go"), sent);
    await client.signalExecution("e 2", "go", { by: "ü" }, { id: "s" });
    const [first, again, third] = api.seen.map(({ method, path, body }) => ({ method, path, body: JSON.parse(body) }));
    assert.deepEqual(again, first);
    assert.deepEqual([first?.method, first?.path], ["POST", "/v1/executions/e1/signals"]);
    assert.ok(first !== undefined && first.body.id.length > 0 && !("data" in first.body));
    assert.deepEqual(
      [third?.path, third?.body],
      ["/v1/executions/e%202/signals", { name: "go", id: "s", data: { by: "ü" } }],
    );
  });

  it("is an act on a workflow's run: a pause, a resume or a signal to a node", async () => {
    const sent = { signalId: "s", name: "go", acceptedAt: "2026-03-01T00:00:00.000Z", isRepeated: false };
    api.will({ status: 200 }, { status: 202 }, { status: 200 }, { status: 202 }, { status: 202, body: sent });
    const { workflows } = client;
    assert.deepEqual([await workflows.pause("r 1"), await workflows.pause("r")], ["PAUSED", "REQUESTED"]);
    assert.deepEqual([await workflows.resume("r"), await workflows.resume("r")], ["RESUMED", "REQUESTED"]);
    assert.deepEqual(await workflows.signal("r", "a.b", "go", [1], { id: "s" }), sent);
    assert.deepEqual(
      api.seen.map(({ method, path }) => `${method} ${path}`),
      ["r%201/pause", "r/pause", "r/resume", "r/resume", "r/nodes/a.b/signals"].map(
        (path) => `POST /v1/workflows/${path}`,
      ),
    );
    assert.deepEqual(JSON.parse(api.seen.at(-1)?.body ?? ""), { name: "go", id: "s", data: [1] });
  });

  it("is given up when its time is over, to which the time is added that the server was asked to wait", async () => {
    const guards = new JumpingRuntime(0);
    const waiting = new Client({ url: api.url, retries: 0, timeoutMs: 20_000, runtime: guards });
    api.will("SILENCE");
    const late = { code: "UNAVAILABLE", message: /did not answer in time/ };
    const answer = assert.rejects(waiting.getExecution("e1", { waitSec: 60 }), late);
    while (api.seen.length === 0) await turn();
    assert.deepEqual(guards.guardsMs, [80_000]);
    guards.runOut();
    await answer;
  });

  it("ends by its signal, with the signal's reason: while it is under way and while it waits", async () => {
    const underWay = new AbortController();
    api.will("SILENCE");
    const first = assert.rejects(client.getExecution("e1", { signal: underWay.signal }), /enough/);
    while (api.seen.length === 0) await turn();
    underWay.abort(new Error("enough"));
    await first;
    const waits = new AbortController();
    const guards = new JumpingRuntime(0);
    const slow = new Client({ url: api.url, runtime: guards });
    api.will(busy("3"));
    const second = assert.rejects(slow.getExecution("e1", { signal: waits.signal }), /enough/);
    while (!guards.guardsMs.includes(3_050)) await turn();
    waits.abort(new Error("enough"));
    await second;
    assert.equal(api.seen.length, 2);
  });

  it("is never sent where it is not JSON or its key is no header: that is no fault of the server", async () => {
    const key = { idempotencyKey: "k" };
    await assert.rejects(client.submit({ ...JOB, payload: 5n }, key), { code: "INVALID_PAYLOAD", message: /BigInt/ });
    const wrong = { idempotencyKey: "größer\n" };
    await assert.rejects(client.submit(JOB, wrong), { code: "BAD_OPTION", message: /^idempotencyKey: / });
    assert.deepEqual([api.seen, runtime.waitsMs], [[], []]);
  });

  it("says where nobody listens", async () => {
    const gone = await TinyApi.start();
    const { url } = gone;
    await gone.stop();
    const warned: string[] = [];
    const warn = (message: string) => void warned.push(message);
    const lonely = new Client({ url, runtime, timeoutMs: 40_000, warn });
    const message = `connection refused at ${url}: is MAINSPRING_URL (or the option url) right, and is the server running?`;
    await assert.rejects(lonely.workers(), (error: MainspringError) => {
      assert.deepEqual([error.code, error.message], ["UNAVAILABLE", message]);
      assert.ok(error.cause instanceof Error);
      return true;
    });
    assert.equal(sum(runtime.waitsMs), 30_000);
    // The request never left, so the client retries even a request that must not arrive twice.
    await assert.rejects(lonely.retryExecution("e1"), { code: "UNAVAILABLE" });
    assert.equal(sum(runtime.waitsMs), 60_000);
    assert.deepEqual(warned, Array(2).fill(`${message}; the client repeats the request`));
  });

  it("says what is wrong where its address is no HTTP server", async () => {
    const server = createServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const error = {
      code: "UNEXPECTED_ANSWER",
      message: `${url} does not speak HTTP: is MAINSPRING_URL (or the option url) right? Workers have another port`,
    };
    await assert.rejects(new Client({ url, runtime, timeoutMs: 40_000 }).workers(), error);
    assert.deepEqual(runtime.waitsMs, []);
    server.close();
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function busy(retryAfter?: string) {
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return { status: 429, headers, body: { title: "Too many requests" } };
}

/** Waits one turn of the event loop, for data that comes over a real socket. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
