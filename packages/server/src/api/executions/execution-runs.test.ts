import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { ALL_SHARDS, type JobSample, Scene } from "../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../ports/store.ts";
import { commandsFor, startTestApi, type TestApi } from "../api.fixture.ts";
import { CHUNK_EXECUTIONS } from "./execution-runs.ts";

const NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057";
const DAY_MS = 86_400_000;

describe("runs over executions", () => {
  let api: TestApi;
  let scene: Scene;
  before(async () => {
    api = await startTestApi();
    scene = await Scene.open({ store: api.store, runtime: systemRuntime(), close: async () => {} });
    await scene.takeOver(ALL_SHARDS, api.bus.node);
  });
  after(() => api.stop());

  const get = async (url: string) => (await api.inject({ method: "GET", url })).json();
  const post = (url: string, payload?: object, headers: Record<string, string> = {}) =>
    api.inject({ method: "POST", url, headers, ...(payload !== undefined && { payload }) });
  const listed = async (query: string): Promise<{ executionId: string; retryOf: string | null }[]> =>
    (await get(`/v1/executions?${query}`)).items;
  const dead = async (message: string, sample: JobSample = {}) => {
    const job = await scene.submitted(sample);
    const error = { name: "Error", message };
    const releaseUniqueKey = job.definition.uniqueKey !== null;
    await scene.applied(job.shard, { changes: [scene.succeeded(job, { state: "DEAD", error, releaseUniqueKey })] });
    return job;
  };
  const over = async (location: string) => {
    for (;;) {
      const run = await get(location);
      if (run.state !== "RUNNING") return run;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const ran = async (body: object) => {
    const begun = await post("/v1/execution-runs", body);
    assert.equal(begun.statusCode, 202, begun.body);
    return over(String(begun.headers.location));
  };
  const commandsOf = async (job: NewJob) => (await commandsFor(api.store, job)).map(({ kind }) => kind);

  it("cancel what matches and is not final, chunk by chunk, and leave the rest", async () => {
    const jobs = Array.from({ length: CHUNK_EXECUTIONS + 5 }, () => scene.job({ pool: "stop", shard: 1 }));
    await api.store.submit([{ idempotency: null, jobs }]);
    const [final, ...open] = jobs as [NewJob, ...NewJob[]];
    await scene.applied(1, { changes: [scene.succeeded(final)] });
    const other = await scene.submitted({ pool: "kept" });
    const filter = { pool: "stop" };
    assert.deepEqual((await post("/v1/execution-runs/preview", { action: "CANCEL", filter })).json(), {
      matching: open.length,
      hasMore: false,
    });
    assert.deepEqual(await commandsOf(open[0] as NewJob), [], "a preview changes nothing");
    const run = await ran({ action: "CANCEL", filter });
    assert.deepEqual([run.state, run.done, run.refused, run.refusals], ["FINISHED", open.length, 0, {}]);
    assert.deepEqual([run.filter, run.expected.matching], [filter, open.length]);
    const commands = await api.store.readCommands([1], new Set(), 1_000);
    const cancelled = commands.flatMap((command) => (command.kind === "CANCEL" ? [command.executionId] : []));
    assert.deepEqual(cancelled.sort(), open.map(({ executionId }) => executionId).sort());
    assert.ok(!cancelled.includes(final.executionId));
    assert.deepEqual(await commandsOf(other), []);
    assert.deepEqual((await get("/v1/execution-runs?limit=1")).items, [run]);
  });

  it("leave executions alone that were created after the start", async () => {
    const early = await scene.submitted({ pool: "bound" });
    const createdAt = early.createdAt + 1;
    const late = await scene.submitted({ pool: "bound", createdAt });
    const run = {
      runId: scene.runtime.uuid(),
      tenant: "default",
      action: "CANCEL",
      filter: '{"pool":"bound"}',
    } as const;
    await api.store.executionRuns.begin({ ...run, idempotencyKey: null, expected: null, createdAt });
    const next = await api.another({ apiKey: null });
    assert.equal((await over(`/v1/execution-runs/${run.runId}`)).done, 1);
    await next.close();
    assert.deepEqual([await commandsOf(early), await commandsOf(late)], [["CANCEL"], []]);
  });

  it("retry what is final as a single retry does, and say why not", async () => {
    const letters = [await dead("one", { pool: "again" }), await dead("two", { pool: "again" })];
    await dead("three", { pool: "again", uniqueKey: "held" });
    await scene.submitted({ uniqueKey: "held" });
    const gone = await dead("four", { pool: "again" });
    await api.inject({ method: "DELETE", url: `/v1/jobs/${gone.jobId}` });
    const run = await ran({ action: "RETRY", filter: { pool: "again", state: "DEAD" } });
    assert.deepEqual([run.done, run.refused], [2, 2]);
    assert.deepEqual(run.refusals, { "key-in-use": 1, "wrong-state": 1 });
    const retried = (await listed("pool=again&state=PENDING")).map(({ retryOf }) => retryOf).sort();
    assert.deepEqual(retried, letters.map(({ executionId }) => executionId).sort());
  });

  it("go on where a killed node has left a chunk, and retry nothing twice", async () => {
    const jobs: NewJob[] = [];
    for (let n = 0; n < 3; n++) jobs.push(await dead("half", { pool: "half" }));
    const runs = api.store.executionRuns;
    const { runtime } = scene;
    const filter = '{"pool":"half","state":"DEAD"}';
    const run = { runId: runtime.uuid(), tenant: "default", action: "RETRY", filter } as const;
    await runs.begin({ ...run, idempotencyKey: null, expected: null, createdAt: runtime.now() + 1 });
    const held = await runs.take(run.runId, 1, 2);
    assert.ok(held);
    const items = jobs.slice(1).map(({ executionId }) => ({ executionId, newId: runtime.uuid() }));
    assert.equal(await runs.plan(held, { items, next: jobs[1]?.executionId ?? null }, 2), true);
    const [item] = items;
    const further = { executionId: item?.newId as string, retryOf: item?.executionId as string, jobVersion: 1 };
    const outcome = await api.store.jobs.run({ ...(jobs[1] as NewJob), ...further });
    assert.equal(outcome.kind, "ACCEPTED");
    const next = await api.another({ apiKey: null });
    const done = await over(`/v1/execution-runs/${run.runId}`);
    await next.close();
    assert.deepEqual([done.done, done.refusals], [3, {}]);
    const retried = (await listed("pool=half&state=PENDING")).map(({ retryOf }) => retryOf).sort();
    assert.deepEqual(retried, jobs.map(({ executionId }) => executionId).sort());
  });

  it("begin once for an idempotency key", async () => {
    const headers = { "idempotency-key": "nightly" };
    const body = { action: "CANCEL", filter: { pool: "nothing" } };
    const first = await post("/v1/execution-runs", body, headers);
    const again = await post("/v1/execution-runs", body, headers);
    assert.equal(again.json().runId, first.json().runId);
    assert.deepEqual([first.headers["idempotent-replayed"], again.headers["idempotent-replayed"]], [undefined, "true"]);
    assert.equal((await post("/v1/execution-runs", { ...body, filter: {} }, headers)).statusCode, 422);
  });

  it("stop, and stay as they are when they have ended", async () => {
    const { runId } = await ran({ action: "CANCEL", filter: { pool: "nothing" } });
    assert.equal((await post(`/v1/execution-runs/${runId}/stop`)).json().state, "FINISHED");
    const run = {
      runId: scene.runtime.uuid(),
      tenant: "default",
      action: "CANCEL",
      filter: '{"pool":"none"}',
    } as const;
    const createdAt = scene.runtime.now();
    await api.store.executionRuns.begin({ ...run, idempotencyKey: null, expected: null, createdAt });
    assert.ok(await api.store.executionRuns.take(run.runId, createdAt, createdAt + DAY_MS));
    const stopped = (await post(`/v1/execution-runs/${run.runId}/stop`)).json();
    assert.equal(stopped.state, "STOPPED");
    assert.deepEqual(await get(`/v1/execution-runs/${run.runId}`), stopped);
    assert.equal((await api.inject({ method: "GET", url: `/v1/execution-runs/${NOBODY}` })).statusCode, 404);
    assert.equal((await post(`/v1/execution-runs/${NOBODY}/stop`)).statusCode, 404);
  });

  it("say which filter an action takes", async () => {
    const since = new Date(scene.runtime.now() - 2 * DAY_MS).toISOString();
    const wrong: [body: object, message: RegExp][] = [
      [{ action: "CANCEL", filter: { state: "DEAD" } }, /filter\.state: must be PENDING, SCHEDULED or RUNNING/],
      [{ action: "RETRY", filter: {} }, /filter\.state: must be SUCCEEDED, CANCELLED, SKIPPED or DEAD/],
      [{ action: "RETRY", filter: { state: "RUNNING" } }, /filter\.state: must be SUCCEEDED/],
      [{ action: "RETRY", filter: { error: "x" } }, /filter\.state: must be given with error/],
      [{ action: "RETRY", filter: { state: "DEAD", error: "x" } }, /filter\.since: must be given with error/],
      [{ action: "RETRY", filter: { state: "DEAD", error: "x", since } }, /at most 24 hours/],
      [{ action: "STOP", filter: {} }, /action/],
      [{ action: "CANCEL" }, /filter/],
      [{ action: "CANCEL", filter: { unknown: 1 } }, /unknown/],
    ];
    for (const path of ["/v1/execution-runs", "/v1/execution-runs/preview"])
      for (const [body, message] of wrong) {
        const { statusCode, json } = await post(path, body);
        assert.equal(statusCode, 400, JSON.stringify(body));
        assert.match(json().detail, message);
      }
  });

  it("have the filters of the list, which counts up to 10,000", async () => {
    const since = new Date(scene.runtime.now() - DAY_MS / 2).toISOString();
    const blue = await dead("the bank refused card 7", { labels: { team: "blue" }, pool: "found" });
    await dead("no answer", { pool: "found" });
    const query = `state=DEAD&pool=found&error=REFUSED&since=${since}`;
    const ids = async (text: string) => (await listed(text)).map(({ executionId }) => executionId);
    assert.deepEqual(await ids(query), [blue.executionId]);
    assert.deepEqual(await ids("label=team%3Dblue&label=team"), [blue.executionId]);
    assert.deepEqual(await get(`/v1/execution-count?${query}`), { matching: 1, hasMore: false });
    assert.deepEqual(await get("/v1/execution-count?pool=found"), { matching: 2, hasMore: false });
    const bare = await api.inject({ method: "GET", url: "/v1/executions?error=refused" });
    assert.equal(bare.statusCode, 400);
    assert.match(bare.json().detail, /state: must be given with error/);
    const run = await ran({ action: "RETRY", filter: { state: "DEAD", pool: "found", error: "refused", since } });
    assert.equal(run.done, 1);
    assert.deepEqual((await api.store.queries.countListed("default", { pool: "found" })).matching, 3);
  });
});
