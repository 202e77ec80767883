import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import { ExecutionFailed, MainspringError } from "../errors.ts";
import { task } from "../task.ts";
import { Client } from "./client.ts";
import { JobHandle } from "./handle.ts";

const ID = "01890a5d-ac96-774b-bcce-b302099a8057";
const SUBMITTED = { jobId: "j1", state: "ACTIVE", executionId: "e1" };

describe("a client", () => {
  let api: TinyApi;
  let client: Client;

  before(async () => {
    api = await TinyApi.start();
  });
  beforeEach(() => {
    client = new Client({ url: api.url, apiKey: "", timeoutMs: 40_000, runtime: new JumpingRuntime() });
  });
  afterEach(() => void api.seen.splice(0));
  after(() => api.stop());

  it("submits a job as JSON, with its key", async () => {
    api.will({ status: 201, body: SUBMITTED });
    const runAt = new Date("2031-02-03T04:05:06Z");
    const keyed = new Client({ url: `${api.url}/`, apiKey: "secret" });
    const submitted = await keyed.submit(
      { target: { handler: "echo" }, payload: [1], runAt },
      { idempotencyKey: "k1" },
    );
    assert.deepEqual(submitted, SUBMITTED);
    const [request] = api.seen;
    assert.deepEqual([request?.method, request?.path], ["POST", "/v1/jobs"]);
    assert.equal(request?.headers.authorization, "Bearer secret");
    assert.equal(request?.headers["idempotency-key"], "k1");
    assert.equal(request?.headers["content-type"], "application/json");
    assert.deepEqual(JSON.parse(request?.body ?? ""), {
      target: { handler: "echo" },
      payload: [1],
      runAt: "2031-02-03T04:05:06.000Z",
    });
  });

  it("sends no API key where there is none", async () => {
    api.will({ status: 201, body: SUBMITTED });
    await client.submit({ target: { handler: "echo" } });
    assert.equal(api.seen[0]?.headers.authorization, undefined);
  });

  it("keeps the path that its server lives under", async () => {
    api.will({ status: 200, body: { items: [] } });
    await new Client({ url: `${api.url}/mainspring/` }).workers();
    assert.equal(api.seen[0]?.path, "/mainspring/v1/workers");
  });

  it("submits a batch and gives back an item for each job", async () => {
    const items = [SUBMITTED, { index: 1, error: { type: "/problems/x", title: "no", status: 400 } }];
    api.will({ status: 200, body: { items } });
    const answer = await client.submitBatch([{ target: { handler: "a" } }, { target: { handler: "b" } }]);
    assert.deepEqual(answer, items);
    assert.equal(api.seen[0]?.path, "/v1/jobs/batch");
    assert.equal(JSON.parse(api.seen[0]?.body ?? "").jobs.length, 2);
  });

  it("reads lists page by page, as far as they are asked for", async () => {
    const page = (ids: string[], nextCursor: string | null) => ({
      status: 200,
      body: { items: ids.map((executionId) => ({ executionId })), nextCursor },
    });
    api.will(page(["a", "b"], "c/1 +"), page(["c"], "c2"), page(["d"], null));
    const since = new Date("2031-01-01T00:00:00Z");
    const ids: string[] = [];
    for await (const { executionId } of client.listExecutions({ state: "DEAD", since, limit: 2 }))
      ids.push(executionId);
    assert.deepEqual(ids, ["a", "b", "c", "d"]);
    const queries = api.seen.map(({ path }) => Object.fromEntries(new URL(path, api.url).searchParams));
    const filter = { state: "DEAD", since: "2031-01-01T00:00:00.000Z", limit: "2" };
    assert.deepEqual(queries, [filter, { ...filter, cursor: "c/1 +" }, { ...filter, cursor: "c2" }]);
    api.will(page(["a", "b"], "c1"));
    for await (const { executionId } of client.listExecutions({ jobId: ID })) if (executionId === "b") break;
    assert.deepEqual(
      api.seen.slice(3).map(({ path }) => path),
      [`/v1/jobs/${ID}/executions`],
    );
  });

  it("previews a schedule, and tells where it is wrong", async () => {
    const fires = [{ at: "2031-01-01T02:00:00.000Z", local: "2031-01-01T03:00:00+01:00" }];
    const errors = [{ field: "schedule", message: "hour, character 3: no", position: 3 }];
    api.will({ status: 200, body: { fires } });
    const after = new Date("2031-01-01T00:00:00Z");
    assert.deepEqual(await client.previewSchedule({ schedule: "0 3 * * *", timezone: "Europe/Paris", after }), fires);
    api.will({ status: 200, body: { words: "at 03:00 every day in UTC", fires } });
    assert.deepEqual(await client.describeSchedule({ schedule: "0 3 * * *" }), {
      words: "at 03:00 every day in UTC",
      fires,
    });
    assert.equal(JSON.parse(api.seen[0]?.body ?? "").after, "2031-01-01T00:00:00.000Z");
    api.will({ status: 400, body: { title: "Invalid request", errors } });
    const refused = await client.previewSchedule({ schedule: "0 24 * * *" }).catch((error: MainspringError) => error);
    assert.ok(refused instanceof MainspringError);
    assert.deepEqual(refused.problem?.errors, errors);
  });

  it("lists jobs by their own filter, and reads one by its id", async () => {
    api.will(
      { status: 200, body: { items: [{ jobId: "j1" }], nextCursor: null } },
      { status: 200, body: { jobId: "j1" } },
    );
    for await (const { jobId } of client.listJobs({ handler: "echo" })) assert.equal(jobId, "j1");
    assert.equal((await client.getJob(ID)).jobId, "j1");
    assert.deepEqual(
      api.seen.map(({ path }) => path),
      ["/v1/jobs?handler=echo", `/v1/jobs/${ID}`],
    );
  });

  it("waits for a result in as many requests as it takes", async () => {
    const state = (name: string, result: unknown = null) => ({ status: 200, body: { state: name, result } });
    api.will(state("PENDING"), state("RUNNING"), state("SUCCEEDED", { sum: 3 }));
    const handle = new JobHandle<{ sum: number }>(client, SUBMITTED);
    assert.deepEqual(await handle.result(), { sum: 3 });
    assert.deepEqual(
      api.seen.map(({ path }) => path),
      Array(3).fill("/v1/executions/e1?waitSec=60"),
    );
  });

  it("waits until a job that came through Kafka is taken in, and then for the execution that its key leads to", async () => {
    const request = (state: string, executionId: string | null) => ({
      status: 200,
      body: { requestId: "7-34567", state, jobId: executionId, executionId, problem: null },
    });
    api.will(
      ...[request("ACCEPTED", null), request("TAKEN_IN", "earlier")],
      ...[
        { status: 200, body: { state: "SUCCEEDED", result: 3 } },
        { status: 200, body: {} },
      ],
    );
    const handle = new JobHandle(client, { ...SUBMITTED, request: "7-34567" });
    assert.equal(await handle.result(), 3);
    assert.equal(await handle.cancel(), "CANCELLED");
    const asked = "/v1/requests/7-34567";
    assert.deepEqual(
      api.seen.map(({ path }) => path),
      [asked, asked, "/v1/executions/earlier?waitSec=60", "/v1/executions/earlier/cancel"],
    );
  });

  it("rejects where a job that came through Kafka is refused", async () => {
    const problem = { type: "/problems/x", title: "no", status: 422, detail: "the key is another job's" };
    api.will({ status: 200, body: { state: "REFUSED", jobId: null, executionId: null, problem } });
    const handle = new JobHandle(client, { ...SUBMITTED, request: "7-34567" });
    await assert.rejects(handle.result(), { code: "KEY_REUSED", message: "the key is another job's" });
  });

  it("does not ask in a tight loop where a server answers early", async () => {
    const runtime = new JumpingRuntime();
    const state = (name: string) => ({ status: 200, body: { state: name } });
    api.will(state("PENDING"), state("PENDING"), state("SUCCEEDED"));
    await new Client({ url: api.url, timeoutMs: 40_000, runtime }).waitForExecution("e1");
    assert.deepEqual(runtime.waitsMs, [1_000, 1_000]);
  });

  it("rejects where the execution ended otherwise, with all that is known of it", async () => {
    const execution = { executionId: "e1", state: "DEAD", reason: "ATTEMPTS", error: { name: "E", message: "boom" } };
    api.will({ status: 200, body: execution });
    await assert.rejects(new JobHandle(client, SUBMITTED).result(), (error: ExecutionFailed) => {
      assert.ok(error instanceof ExecutionFailed);
      assert.equal(error.code, "EXECUTION_FAILED");
      assert.equal(error.message, "execution e1 is DEAD: boom");
      assert.equal(error.execution.reason, "ATTEMPTS");
      return true;
    });
  });

  it("cancels, and says whether a worker has to be told", async () => {
    api.will({ status: 200, body: {} }, { status: 202, body: {} }, { status: 409, body: { title: "final" } });
    const handle = new JobHandle(client, SUBMITTED);
    assert.equal(await handle.cancel(), "CANCELLED");
    assert.equal(await handle.cancel(), "REQUESTED");
    await assert.rejects(handle.cancel(), { code: "CONFLICT" });
    assert.deepEqual([api.seen[0]?.method, api.seen[0]?.path], ["POST", "/v1/executions/e1/cancel"]);
  });

  it("submits by a task, and its handle knows the ids", async () => {
    api.will({ status: 200, body: { ...SUBMITTED, deduplicated: true } }, { status: 200, body: { state: "RUNNING" } });
    const greet = task({ name: "greet", run: (payload: { name: string }) => `Hello ${payload.name}` });
    const handle = await greet.submit(client, { name: "Ada" }, { pool: "p", idempotencyKey: "k", uniqueKey: "u" });
    assert.deepEqual([handle.jobId, handle.executionId, handle.deduplicated], ["j1", "e1", true]);
    assert.equal(api.seen[0]?.headers["idempotency-key"], "k");
    const sent = { target: { handler: "greet", pool: "p" }, payload: { name: "Ada" }, uniqueKey: "u" };
    assert.deepEqual(JSON.parse(api.seen[0]?.body ?? ""), sent);
    assert.equal((await handle.get()).state, "RUNNING");
    assert.equal(api.seen[1]?.path, "/v1/executions/e1");
  });
});

describe("a client's options", () => {
  it("are refused where they cannot work, before anything is sent", () => {
    const wrong = ["localhost:8080", "ftp://x", "http://", "http://user:pw@x", "http://x/?q=1"];
    for (const url of wrong) assert.throws(() => new Client({ url }), { code: "BAD_OPTION", message: /^url: / });
    for (const retries of [-1, 21, 0.5]) assert.throws(() => new Client({ retries }), { code: "BAD_OPTION" });
    for (const retryForMs of [-1, 3_600_001, Number.NaN])
      assert.throws(() => new Client({ retryForMs }), { code: "BAD_OPTION", message: /^retryForMs: .* 0 to 3600000/ });
  });

  it("never show the key or a password", () => {
    const makes = [() => new Client({ apiKey: "sec ret" }), () => new Client({ url: "http://user:sec%20ret@x" })];
    for (const make of makes) assert.throws(make, (error: Error) => !/sec|ret@/.test(error.message));
  });
});
