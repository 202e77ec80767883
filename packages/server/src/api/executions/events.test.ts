import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { get } from "node:http";
import { after, before, describe, it } from "node:test";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { Scene } from "../../ports/conformance/store-scene.conformance.ts";
import type { LiveExecution, ToGateway } from "../../ports/messages.ts";
import type { NewJob } from "../../ports/store.ts";
import { playOwner, startTestApi, type TestApi } from "../api.fixture.ts";
import { EventReader } from "../event-reader.fixture.ts";

describe("following an execution by server-sent events", () => {
  let api: TestApi;
  let scene: Scene;
  let url: string;
  before(async () => {
    api = await startTestApi();
    scene = await Scene.open({ store: api.store, runtime: systemRuntime(), close: async () => {} });
    url = await api.app.listen({ host: "127.0.0.1", port: 0 });
  });
  after(() => api.stop());

  const open = ({ executionId }: NewJob, lastEventId?: string) =>
    EventReader.open(`${url}/v1/executions/${executionId}/events`, lastEventId);
  const finish = async (job: NewJob) => {
    await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
    api.bus.send(
      { node: api.bus.node, role: "api" },
      { kind: "FINAL", executionId: job.executionId, state: "SUCCEEDED" },
    );
  };
  const line = (job: NewJob, seq: number, text: string) => {
    const said = { executionId: job.executionId, attempt: 1, seq, at: 1_700_000_000_000, level: "info", line: text };
    api.bus.send({ node: api.bus.node, role: "api" }, { kind: "CHATTER", items: [{ kind: "LOG", ...said }] });
  };

  it("tells what its owner and its handler say, and ends when it is final", async () => {
    const job = await scene.submitted();
    const follows: ToGateway[] = [];
    const endGateway = api.bus.listen("gateway", (envelopes) => {
      for (const { message } of envelopes) if (message.kind.endsWith("FOLLOW")) follows.push(message);
    });
    const endOwner = playOwner(api.bus, (message, node) => {
      if (message.kind !== "ASK") return;
      const executions = message.executionIds.map((executionId): LiveExecution => {
        const held = { attempt: 1, workerId: "w1", startedAt: 1_700_000_000_000, cancelRequested: false };
        return { executionId, state: "RUNNING", ...held };
      });
      api.bus.send({ node, role: "api" }, { kind: "LIVE", request: message.request, executions });
    });
    const stream = await open(job);
    assert.equal(stream.response.headers["content-type"], "text/event-stream; charset=utf-8");
    await stream.until(/"state":"RUNNING"/);
    line(job, 7, "hello");
    line(job, 7, "hello");
    const heard = await stream.until(/"line":"hello"/);
    assert.match(heard, /event: log\nid: RUNNING\.1\.7\ndata: \{"attempt":1,"at":"2023-11-14T22:13:20.000Z"/);
    assert.equal(heard.match(/hello/g)?.length, 1, "a repeat is not told");
    endOwner();
    await finish(job);
    assert.match(await stream.until(/SUCCEEDED/), /event: state\nid: SUCCEEDED\.1\.7\n/);
    await stream.end();
    endGateway();
    assert.deepEqual(follows[0], {
      kind: "FOLLOW",
      follows: [{ executionId: job.executionId, after: 0, tenant: "default" }],
    });
    assert.deepEqual(follows.at(-1), { kind: "UNFOLLOW", executionIds: [job.executionId] });
  });

  it("tells when each state began, and what an attempt failed by as soon as it has failed", async () => {
    const job = await scene.submitted();
    const since = 1_700_000_000_123;
    let live: Pick<LiveExecution, "state" | "since"> = { state: "RUNNING", since };
    const endOwner = playOwner(api.bus, (message, node) => {
      if (message.kind !== "ASK") return;
      const held = { attempt: 1, workerId: "w1", startedAt: since, cancelRequested: false };
      const executions = message.executionIds.map((executionId): LiveExecution => ({ executionId, ...held, ...live }));
      api.bus.send({ node, role: "api" }, { kind: "LIVE", request: message.request, executions });
    });
    const stream = await open(job);
    assert.match(await stream.until(/"state":"RUNNING".*\n\n/), /"at":"2023-11-14T22:13:20.123Z"/);
    const error = { name: "RangeError", message: "no such city" };
    const failed = {
      attempt: 1,
      workerId: "w1",
      state: "FAILED",
      startedAt: since,
      finishedAt: since + 7,
      error,
    } as const;
    const change = {
      state: "PENDING",
      attempt: 1,
      failures: 1,
      queue: "WAITING",
      dueAt: scene.runtime.now() + 60_000,
    } as const;
    await scene.applied(job.shard, {
      changes: [scene.succeeded(job, { ...change, startedAt: null, finishedAt: null, ended: [failed] })],
    });
    live = { state: "PENDING", since: null };
    const told = await stream.until(/"state":"PENDING".*\n\n/);
    assert.match(told, /event: attempt\nid: PENDING\.1\.0\ndata: .*"state":"FAILED".*"message":"no such city"/);
    assert.match(told, /event: state\nid: PENDING\.1\.0\ndata: .*"failures":1.*"at":"2023-11-14T22:13:20.130Z"/);
    endOwner();
    stream.response.destroy();

    // A stream that continues after the event does not repeat it; a stream from the beginning does.
    const behind = await open(job, "PENDING.1.0");
    line(job, 9, "later");
    assert.doesNotMatch(await behind.until(/later/), /no such city/);
    behind.response.destroy();
    const anew = await open(job);
    assert.match(await anew.until(/event: state/), /no such city/);
    anew.response.destroy();
  });

  it("goes on behind the last event that was seen, and has no more to tell of the end", async () => {
    const job = await scene.submitted();
    const asked = new EventEmitter();
    const endGateway = api.bus.listen("gateway", (envelopes) => {
      for (const { message } of envelopes) if (message.kind === "FOLLOW") asked.emit("follow", message.follows[0]);
    });
    const following = once(asked, "follow");
    const stream = await open(job, "PENDING.0.41");
    assert.equal((await following)[0].after, 41);
    const rest = stream.until(/SUCCEEDED/);
    await finish(job);
    assert.doesNotMatch(await rest, /PENDING/, "it has seen that");
    endGateway();
    const again = await open(job, "SUCCEEDED.1.41");
    assert.equal(again.response.statusCode, 204);
    const late = await open(job);
    assert.match(await late.until(/SUCCEEDED/), /id: SUCCEEDED\.1\.0/);
  });

  it("refuses an id that is none, and an execution that is not there", async () => {
    const job = await scene.submitted();
    const events = `/v1/executions/${job.executionId}/events`;
    const wrong = await api.inject({ method: "GET", url: events, headers: { "last-event-id": "7" } });
    assert.equal(wrong.json().type, "/problems/invalid-cursor");
    assert.equal((await api.inject({ method: "GET", url: `/v1/executions/${job.jobId}/events` })).statusCode, 404);
  });

  it("cuts off a reader that does not read, rather than keep it all", async () => {
    const job = await scene.submitted();
    const { response: stream } = await open(job);
    stream.pause();
    stream.on("error", () => {});
    const closed = new Promise((resolve) => stream.once("close", resolve));
    for (let seq = 1; !stream.destroyed && seq < 5_000; seq++) {
      line(job, seq, "x".repeat(8_000));
      if (seq % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    stream.resume();
    await closed;
    assert.equal(stream.complete, false);
  });

  it("ends all streams when the server stops", async () => {
    const job = await scene.submitted();
    const other = await api.another({ apiKey: null });
    const address = await other.listen({ host: "127.0.0.1", port: 0 });
    const [stream] = await once(get(`${address}/v1/executions/${job.executionId}/events`), "response");
    const ended = once(stream, "end");
    stream.resume();
    await other.close();
    await ended;
    assert.equal(stream.complete, true);
  });
});
