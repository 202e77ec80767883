import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Epoch } from "../../domain/ids.ts";
import { waitData } from "../../domain/step.ts";
import { ALL_SHARDS, firstChange, shardCommit, takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import type { RowChange, StepWrite } from "../../ports/store.ts";
import { commandsFor, playOwner, startTestApi, type TestApi } from "../api.fixture.ts";

const START = Date.UTC(2026, 0, 1);
const NOBODY = "019a0000-0000-7000-8000-000000000000";

describe("signals to executions over HTTP", () => {
  let api: TestApi;
  let epochs: Epoch[];
  before(async () => {
    api = await startTestApi();
    epochs = await takeShards(api.store, ALL_SHARDS, api.bus.node);
  });
  after(() => api.stop());

  const submit = async (): Promise<{ jobId: string; executionId: string }> => {
    const payload = { target: { handler: "echo" } };
    return (await api.inject({ method: "POST", url: "/v1/jobs", payload })).json();
  };
  const post = (id: string, payload: string | object) =>
    api.inject({
      method: "POST",
      url: `/v1/executions/${id}/signals`,
      headers: { "content-type": "application/json" },
      payload,
    });
  const get = (url: string) => api.inject({ method: "GET", url });

  /** Writes what an owner writes when the first attempt ends in this way. */
  const end = async (executionId: string, change: Partial<RowChange>, steps: StepWrite[] = []) => {
    const [row] = await api.store.load([executionId]);
    assert.ok(row);
    const at = row.scheduledAt;
    const times = { startedAt: at, finishedAt: at + 2 };
    const written = firstChange(row, {
      ...{ attempt: 1, queue: "WAITING", dueAt: START, startedAt: at },
      ended: [{ attempt: 1, workerId: "w1", state: "SUSPENDED", ...times, error: null }],
      ...change,
    });
    const commit = shardCommit(row.shard, epochs[row.shard] as Epoch, { changes: [written], steps });
    const [outcome] = await api.store.commit([commit]);
    assert.equal(outcome?.status, "APPLIED");
  };

  it("are stored with a command to the owner, and their data byte for byte", async () => {
    const job = await submit();
    const told: string[] = [];
    const stop = playOwner(api.bus, (message) => void told.push(message.kind));
    const answer = await post(job.executionId, '{"name":"approved","data":{"big":1e400}}');
    stop();
    assert.equal(answer.statusCode, 202);
    const { signalId, ...rest } = answer.json();
    const { acceptedAt, ...said } = rest;
    assert.deepEqual(said, { name: "approved", isRepeated: false });
    assert.deepEqual([(await commandsFor(api.store, job)).map(({ kind }) => kind), told], [["SIGNAL"], ["COMMAND"]]);
    const { body } = await get(`/v1/executions/${job.executionId}/steps`);
    assert.match(body, /"data":\{"big":1e400\}/);
    const [open] = JSON.parse(body).signals;
    assert.deepEqual([open.signalId, open.name, open.acceptedAt], [signalId, "approved", acceptedAt]);
  });

  it("are taken once, whatever is repeated", async () => {
    const job = await submit();
    const signal = { name: "approved", id: "order-7", data: [1] };
    const first = await post(job.executionId, signal);
    const again = await post(job.executionId, signal);
    assert.deepEqual([first.statusCode, again.statusCode], [202, 200]);
    assert.deepEqual(again.json(), { ...first.json(), isRepeated: true });
    assert.equal((await commandsFor(api.store, job)).length, 1);
    const other = await post(job.executionId, { ...signal, data: [2] });
    assert.deepEqual([other.statusCode, other.json().type], [409, "/problems/signal-id-reused"]);
  });

  it("are refused where nobody could get them", async () => {
    assert.equal((await post(NOBODY, { name: "approved" })).statusCode, 404);
    const { executionId } = await submit();
    await end(executionId, { state: "SUCCEEDED", queue: "NONE", finishedAt: START });
    const late = await post(executionId, { name: "approved" });
    assert.deepEqual([late.statusCode, late.json().type], [409, "/problems/execution-final"]);
  });

  it("are refused where too many wait", async () => {
    const { executionId } = await submit();
    const data = "x".repeat(60 * 1024);
    let answer = await post(executionId, { name: "part", data });
    for (let n = 0; n < 80 && answer.statusCode === 202; n++) answer = await post(executionId, { name: "part", data });
    assert.deepEqual([answer.statusCode, answer.json().type], [409, "/problems/too-many-signals"]);
  });

  for (const [what, body, field] of [
    ["no name", {}, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a name that is too long", { name: "x".repeat(129) }, "name"],
    ["a name with a control character", { name: "a\u0000" }, "name"],
    ["an id that is too long", { name: "a", id: "x".repeat(129) }, "id"],
    ["data that is too large", { name: "a", data: "x".repeat(64 * 1024) }, "data"],
    ["another field", { name: "a", payload: 1 }, "payload"],
  ] as const) {
    it(`are refused with ${what}, by the name of the field`, async () => {
      const { executionId } = await submit();
      const answer = await post(executionId, body);
      assert.equal(answer.statusCode, 400);
      assert.match(answer.json().detail, new RegExp(field));
    });
  }

  it("wait until every server of the cluster knows of them", async () => {
    const older = { address: "http://older:8080", version: "0.0.9", level: 2 };
    const app = await api.another({ apiKey: null }, (feature) => (feature === "SUSPENSION" ? older : null));
    const { executionId } = await submit();
    const answer = await app.inject({
      method: "POST",
      url: `/v1/executions/${executionId}/signals`,
      payload: { name: "approved" },
    });
    assert.equal(answer.statusCode, 409);
    assert.match(answer.json().detail, /http:\/\/older:8080 .* does not know of sleep and signals/);
    await app.close();
  });

  it("are named by an execution that waits for them, with its wait", async () => {
    const { executionId } = await submit();
    const until = Date.UTC(2100, 0, 1);
    const signals = ["approved", "rejected"];
    const record = { executionId, name: "approval", kind: "WAIT" as const, attempt: 1, number: 0, at: START };
    const waits = [{ ...record, data: waitData({ until, signals }) }];
    await end(executionId, { reason: "AWAITS_SIGNAL", steps: "AWAITING", dueAt: until }, waits);
    const shown = (await get(`/v1/executions/${executionId}`)).json();
    assert.deepEqual(
      [shown.state, shown.reason, shown.steps, shown.attempts[0].state],
      ["PENDING", "AWAITS_SIGNAL", [], "SUSPENDED"],
    );
    const { waits: listed, steps } = (await get(`/v1/executions/${executionId}/steps`)).json();
    const times = { recordedAt: "2026-01-01T00:00:00.000Z", until: "2100-01-01T00:00:00.000Z" };
    assert.deepEqual([listed, steps], [[{ name: "approval", attempt: 1, signals, ...times }], []]);
    const explained = (await get(`/v1/executions/${executionId}/explain`)).json();
    assert.deepEqual(explained.reasons[0], { reason: "AWAITS_SIGNAL", until: times.until, signals });
  });

  it("do not belong to an execution that sleeps", async () => {
    const { executionId } = await submit();
    const until = Date.UTC(2100, 0, 1);
    await end(executionId, { reason: "SLEEPING", steps: "SLEEPING", dueAt: until });
    const explained = (await get(`/v1/executions/${executionId}/explain`)).json();
    assert.deepEqual(explained.reasons[0], { reason: "SLEEPING", until: "2100-01-01T00:00:00.000Z" });
  });
});
