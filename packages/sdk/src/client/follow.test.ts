import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import { MainspringError } from "../errors.ts";
import { Client } from "./client.ts";
import type { ExecutionEvent } from "./follow.ts";

const STREAM = { "content-type": "text/event-stream" };
const AT = "2031-01-01T00:00:00.000Z";
const event = (type: string, id: string, data: object) =>
  `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const log = (id: string, line: string) =>
  event("log", id, { attempt: 1, at: "2030-01-01T00:00:00.000Z", level: "info", line });

const away = (times: number) =>
  Array.from({ length: times }, () => ({ status: 503, body: { title: "away", status: 503 } }));

describe("following an execution", () => {
  let api: TinyApi;
  let client: Client;
  let runtime: JumpingRuntime;
  before(async () => {
    api = await TinyApi.start();
  });
  beforeEach(() => {
    runtime = new JumpingRuntime();
    client = new Client({ url: api.url, apiKey: "", timeoutMs: 40_000, runtime });
  });
  afterEach(() => {
    api.seen.splice(0);
    api.forget();
  });
  after(() => api.stop());

  const all = async (options = {}): Promise<ExecutionEvent[]> => {
    const events: ExecutionEvent[] = [];
    for await (const one of client.follow("e 1", options)) events.push(one);
    return events;
  };

  it("gives its events until it is final, over streams that break, each behind the one before", async () => {
    const running = event("state", "RUNNING.1.0", { executionId: "e1", state: "RUNNING" });
    const final = event("state", "SUCCEEDED.1.8", { executionId: "e1", state: "SUCCEEDED" });
    api.will(
      {
        status: 200,
        headers: STREAM,
        body: `retry: 1000\n\n:\n\n${running}${log("RUNNING.1.7", "a")}event: log\nid: cut`,
      },
      { status: 503, body: { title: "away", status: 503 } },
      "BREAK",
      { status: 200, headers: STREAM, body: `${log("RUNNING.1.8", "b")}${event("later", "x", {})}${final}` },
    );
    const events = await all();
    assert.deepEqual(
      events.map((one) => (one.type === "log" ? one.line : one.type === "state" ? one.execution.state : one.type)),
      ["RUNNING", "a", "b", "SUCCEEDED"],
    );
    assert.deepEqual(
      api.seen.map(({ path, headers }) => [path, headers["last-event-id"]]),
      [undefined, "RUNNING.1.7", "RUNNING.1.7", "RUNNING.1.7"].map((id) => ["/v1/executions/e%201/events", id]),
    );
    assert.match(String(api.seen[0]?.headers.accept), /text\/event-stream/);
  });

  it("gives what an attempt failed by, and when a state began, as far as the server says", async () => {
    const record = { attempt: 1, state: "FAILED", workerId: "w", startedAt: AT, finishedAt: AT, error: null };
    const said = { executionId: "e1", state: "PENDING", finishedAt: null, updatedAt: AT };
    const at = "2031-01-01T00:00:09.000Z";
    const body = [
      event("attempt", "PENDING.1.0", record),
      event("state", "PENDING.1.0", { ...said, at }),
      event("state", "DEAD.1.0", { ...said, state: "DEAD" }),
    ];
    api.will({ status: 200, headers: STREAM, body: body.join("") });
    assert.deepEqual(await all(), [
      { type: "attempt", id: "PENDING.1.0", record },
      { type: "state", id: "PENDING.1.0", at, execution: said },
      // A server of the previous release omits the time of the state.
      { type: "state", id: "DEAD.1.0", at: AT, execution: { ...said, state: "DEAD" } },
    ]);
  });

  it("ends where there is no more to tell, and fails where trying again does not help", async () => {
    api.will({ status: 204 });
    assert.deepEqual(await all({ lastEventId: "SUCCEEDED.1.8" }), []);
    assert.equal(api.seen[0]?.headers["last-event-id"], "SUCCEEDED.1.8");
    api.will({ status: 404, body: { title: "There is nothing here", status: 404 } });
    await assert.rejects(all(), { code: "NOT_FOUND" });
  });

  it("gives up where no server answers for too long, counted from its last answer", async () => {
    const running = event("state", "RUNNING.1.0", { executionId: "e1", state: "RUNNING" });
    const alive = { status: 200, headers: STREAM, body: running };
    api.will(...away(4), alive, ...away(40));
    const seen: ExecutionEvent[] = [];
    const following = (async () => {
      for await (const one of client.follow("e1", { giveUpAfterSec: 10 })) seen.push(one);
    })();
    await assert.rejects(following, (error) => {
      assert.ok(error instanceof MainspringError);
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(error.message, /^no server has answered for 10 s: /);
      return true;
    });
    assert.equal(seen.length, 1);
    const waitedMs = runtime.waitsMs.slice(4).reduce((sum, waitMs) => sum + waitMs, 0);
    assert.ok(waitedMs >= 10_000 && waitedMs < 16_000, `${waitedMs}`);
  });

  it("gives up at once where it is to, after five minutes by default, and says what it does not take", async () => {
    api.will(...away(1));
    await assert.rejects(all({ giveUpAfterSec: 0 }), { code: "UNAVAILABLE" });
    assert.equal(runtime.waitsMs.length, 0);
    api.will(...away(200));
    await assert.rejects(all(), /^MainspringError: no server has answered for 300 s/);
    await assert.rejects(all({ giveUpAfterSec: -1 }), { code: "BAD_OPTION" });
  });

  it("ends by its signal", async () => {
    const stop = new AbortController();
    api.will("SILENCE");
    const waiting = all({ signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, { name: "AbortError" });
  });
});
