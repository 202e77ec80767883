import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import type { Candidate } from "../domain/execution.ts";
import { ALL_SHARDS, applied, type JobSample, Scene } from "../ports/conformance/store-scene.conformance.ts";
import type { ToScheduler, WorkerStatus } from "../ports/messages.ts";
import { applyPools, playOwner, startTestApi, type TestApi } from "./api.fixture.ts";
import { CHUNK_LETTERS } from "./dead-letters/dead-letter-runs.ts";

describe("operating over HTTP", () => {
  let api: TestApi;
  let scene: Scene;
  before(async () => {
    api = await startTestApi();
    scene = await Scene.open({ store: api.store, runtime: systemRuntime(), close: async () => {} });
    await scene.takeOver(ALL_SHARDS, api.bus.node);
  });
  after(() => api.stop());

  const get = async (url: string) => (await api.inject({ method: "GET", url })).json();
  const post = (url: string, payload?: object) =>
    api.inject({ method: "POST", url, ...(payload !== undefined && { payload }) });

  const dead = async (sample: JobSample = {}) => {
    const job = await scene.submitted(sample);
    const error = { name: "Error", message: "no" };
    await scene.applied(job.shard, { changes: [scene.succeeded(job, { state: "DEAD", error })] });
    return job;
  };
  const over = async (location: string) => {
    for (;;) {
      const run = await get(location);
      if (run.state === "FINISHED") return run;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  it("lists dead letters, replays them by id, and tells their owner of the new executions", async () => {
    const letter = await dead({ pool: "replay" });
    const listed = await get("/v1/dead-letters?pool=replay");
    assert.deepEqual([listed.items.length, listed.items[0].error.message], [1, "no"]);
    const hinted: Candidate[] = [];
    const end = playOwner(api.bus, (message: ToScheduler) => {
      if (message.kind === "HINT") hinted.push(...message.rows.map(({ row }) => row));
    });
    const { items } = (await post("/v1/dead-letters/replay", { executionIds: [letter.executionId] })).json();
    end();
    assert.equal(items[0].outcome, "REPLAYED");
    assert.deepEqual(
      hinted.map(({ id }) => id),
      [items[0].newExecutionId],
    );
    const retried = await get(`/v1/executions/${items[0].newExecutionId}`);
    assert.deepEqual([retried.trigger, retried.retryOf, retried.state], ["RETRY", letter.executionId, "PENDING"]);
    assert.deepEqual((await get("/v1/dead-letters?pool=replay")).items, []);
    const again = await post("/v1/dead-letters/discard", { executionIds: [letter.executionId] });
    assert.equal(again.json().items[0].outcome, "NOT_A_DEAD_LETTER");
  });

  it("discards by filter, behind, and says how far it is", async () => {
    for (let i = 0; i < 3; i++) await dead({ pool: "discard" });
    const other = await dead({ pool: "kept" });
    const begun = await post("/v1/dead-letters/discard", {
      filter: { pool: "discard", since: "2020-01-01T00:00:00Z" },
    });
    assert.equal(begun.statusCode, 202);
    const run = await over(String(begun.headers.location));
    assert.deepEqual([run.action, run.settled, run.skipped], ["DISCARD", 3, 0]);
    assert.deepEqual(run.filter, { pool: "discard", since: "2020-01-01T00:00:00.000Z" });
    assert.deepEqual((await get("/v1/dead-letters?pool=discard")).items, []);
    assert.equal((await get("/v1/dead-letters?pool=kept")).items[0].executionId, other.executionId);
  });

  it("goes on with a replay that a killed server has left in the middle", async () => {
    const jobs = Array.from({ length: CHUNK_LETTERS + 5 }, () => scene.job({ pool: "half", shard: 1 }));
    await api.store.submit([{ idempotency: null, jobs }]);
    const changes = jobs.map((job) => scene.succeeded(job, { state: "DEAD" }));
    assert.deepEqual(await api.store.commit([scene.tick(1, { changes })]), [applied(1)]);
    const { runtime } = scene;
    const run = { runId: runtime.uuid(), tenant: "default", action: "REPLAY", filter: { pool: "half" } } as const;
    await api.store.deadLetters.begin({ ...run, createdAt: runtime.now() + 1 });
    const newIds = Array.from({ length: 3 }, () => runtime.uuid());
    await api.store.deadLetters.advance(run.runId, newIds, runtime.now());
    const next = await api.another({ apiKey: null });
    const done = await over(`/v1/dead-letters/runs/${run.runId}`);
    await next.close();
    assert.equal(done.settled, jobs.length);
    assert.deepEqual((await get("/v1/dead-letters?pool=half")).items, []);
  });

  it("says what a selection must be", async () => {
    for (const body of [{}, { executionIds: [jobId], filter: {} }, { executionIds: [] }, { executionIds: ["x"] }]) {
      assert.equal((await post("/v1/dead-letters/replay", body)).statusCode, 400);
    }
    assert.equal((await api.inject({ method: "GET", url: `/v1/dead-letters/runs/${jobId}` })).statusCode, 404);
  });

  it("sets up a pool, changes what is named, and lists it by name", async () => {
    const put = async (name: string, payload: object) =>
      (await api.inject({ method: "PUT", url: `/v1/pools/${name}`, payload })).json();
    const end = playOwner(api.bus, (message, from) => void applyPools(api, message, from));
    const usual = await get("/v1/pools/batch");
    assert.deepEqual(usual, {
      ...{ name: "batch", paused: false, strategy: "PRIORITY", priorityStepSec: 3600, placement: "LEAST_LOADED" },
      ...{
        owner: null,
        maxRunning: null,
        ratePerSec: null,
        headroom: 0,
        workers: 0,
        slots: 0,
        running: 0,
        limitUse: null,
      },
    });
    assert.equal((await put("batch", { paused: true })).paused, true);
    const changed = { ...usual, paused: true, strategy: "FIFO", priorityStepSec: 1.5 };
    const confirmed = { ...changed, unconfirmedBy: [] };
    assert.deepEqual(await put("batch", { strategy: "FIFO", priorityStepSec: 1.5 }), confirmed);
    await put("adhoc", {});
    end();
    const first = await get("/v1/pools?limit=1");
    const second = await get(`/v1/pools?limit=1&cursor=${first.nextCursor}`);
    assert.deepEqual([first.items[0].name, second.items[0], second.nextCursor], ["adhoc", changed, null]);
    const wrong = await api.inject({ method: "PUT", url: "/v1/pools/batch", payload: { strategy: "FAIR", limit: 1 } });
    assert.equal(wrong.statusCode, 400);
    assert.deepEqual(
      wrong.json().errors.map(({ field }: { field: string }) => field),
      ["limit", "strategy"],
    );
  });

  it("limits a pool, and shows what its coordinator says is used of it", async () => {
    const put = async (payload: object) => api.inject({ method: "PUT", url: "/v1/pools/narrow", payload });
    const asked: string[] = [];
    const stop = playOwner(api.bus, (message, from) => {
      void applyPools(api, message, from);
      if (message.kind !== "ASK_POOLS") return;
      asked.push(message.kind);
      const pools = [{ pool: "narrow", taken: 2, nextStartAt: Date.UTC(2030, 0, 1) }];
      api.bus.send({ node: from, role: "api" }, { kind: "POOLS_USED", request: message.request, pools });
    });
    const limited = (await put({ maxRunning: 2, ratePerSec: 0.5 })).json();
    assert.deepEqual([limited.maxRunning, limited.ratePerSec], [2, 0.5]);
    assert.deepEqual(limited.limitUse, { taken: 2, nextStartAt: "2030-01-01T00:00:00.000Z" });
    assert.equal((await put({ paused: true })).json().maxRunning, 2);
    const free = (await put({ maxRunning: null, ratePerSec: null })).json();
    assert.deepEqual([free.maxRunning, free.ratePerSec, free.limitUse], [null, null, null]);
    assert.equal(asked.length, 2);
    stop();
    for (const wrong of [
      { headroom: 51 },
      { headroom: -1 },
      { headroom: 0.5 },
      { maxRunning: 0 },
      { maxRunning: 1.5 },
      { ratePerSec: 0 },
      { ratePerSec: "1" },
    ]) {
      assert.equal((await put(wrong)).statusCode, 400, JSON.stringify(wrong));
    }
  });

  it("asks gateways to drain a worker, and knows when nobody has it", async () => {
    const asked: string[] = [];
    const worker = {
      ...{ workerId: "w 1", name: "w", pool: "default", handlers: ["echo"], capabilities: [], slots: 1, prefetch: 0 },
      ...{ state: "DRAINING" as const, running: 1, connectedAt: 1, lastHeartbeatAt: 1, loopLagMs: 0 },
    };
    const end = api.bus.listen("gateway", (envelopes) => {
      for (const { from, message } of envelopes) {
        if (message.kind !== "LIST_WORKERS" && message.kind !== "DRAIN_WORKER") continue;
        if (message.kind === "DRAIN_WORKER") asked.push(message.workerId);
        const workers = message.workerId === worker.workerId ? [worker] : [];
        api.bus.send({ node: from, role: "api" }, { kind: "WORKERS", request: message.request, workers });
      }
    });
    const told = await post("/v1/workers/w%201/drain");
    const unknown = await post("/v1/workers/w2/drain");
    end();
    assert.deepEqual([told.statusCode, told.json().state], [202, "DRAINING"]);
    assert.deepEqual([unknown.statusCode, asked], [404, ["w 1"]]);
  });

  it("shows one worker with what it has, also where a gateway of the release before answers with all of its workers", async () => {
    const workerOf = (workerId: string, more: Partial<WorkerStatus> = {}): WorkerStatus => ({
      ...{ workerId, name: "w", pool: "default", handlers: ["echo"], capabilities: [], slots: 4, prefetch: 0 },
      ...{ state: "ALIVE", running: 1, connectedAt: 1, lastHeartbeatAt: 1, loopLagMs: 0 },
      ...more,
    });
    const executionId = api.bus.node;
    const stuck = { executionId, attempt: 2, handler: null, state: "STUCK", startedAt: 1_000 } as const;
    const detail = { free: 2, stuck: 1, executions: [stuck], executionsTotal: 7 };
    const end = api.bus.listen("gateway", (envelopes) => {
      for (const { from, message } of envelopes) {
        if (message.kind !== "LIST_WORKERS") continue;
        const workers =
          message.workerId === "w 1" ? [workerOf("w 1", detail)] : [workerOf("w2"), workerOf("w3", { state: "DEAD" })];
        api.bus.send({ node: from, role: "api" }, { kind: "WORKERS", request: message.request, workers });
      }
    });
    const known = await get("/v1/workers/w%201");
    const older = await get("/v1/workers/w2");
    const dead = await get("/v1/workers/w3");
    const unknown = await api.inject({ method: "GET", url: "/v1/workers/w4" });
    end();
    assert.deepEqual([known.free, known.stuck, known.executionsTotal], [2, 1, 7]);
    assert.deepEqual(known.executions, [{ ...stuck, startedAt: "1970-01-01T00:00:01.000Z" }]);
    assert.deepEqual([older.free, older.stuck, older.executions, older.executionsTotal], [3, 0, null, null]);
    assert.equal(dead.free, 0);
    assert.deepEqual([unknown.statusCode, unknown.json().type], [404, "/problems/not-found"]);
  });

  it("explains by its owner's words, by the row where it is silent, and what is final by itself", async () => {
    const job = await scene.submitted({ scheduledAt: scene.runtime.now() + 60_000 });
    const url = `/v1/executions/${job.executionId}/explain`;
    const dueAt = new Date(job.definition.scheduledAt).toISOString();
    const silent = await get(url);
    assert.deepEqual(silent.reasons, [{ reason: "DUE_LATER", dueAt }, { reason: "OWNER_SILENT" }]);
    const heldBy = [{ executionId: job.executionId, attempt: 1, workerId: "w" }];
    const key = { reason: "KEY_AT_LIMIT", key: "acme", limit: 1, running: 1, heldBy } as const;
    const backoff = { reason: "BACKOFF", until: job.definition.scheduledAt, failures: 1, maxAttempts: 5 } as const;
    const end = playOwner(api.bus, (message, node) => {
      if (message.kind !== "EXPLAIN") return;
      assert.equal(message.row.id, job.executionId);
      api.bus.send({ node, role: "api" }, { kind: "EXPLAINED", request: message.request, reasons: [key, backoff] });
    });
    const told = await get(url);
    end();
    assert.deepEqual(told.reasons, [key, { ...backoff, until: dueAt, lastError: null }]);
    const letter = await dead();
    const final = await get(`/v1/executions/${letter.executionId}/explain`);
    assert.deepEqual([final.state, final.reasons[0].reason, final.reasons[0].state], ["DEAD", "FINAL", "DEAD"]);
    assert.equal((await api.inject({ method: "GET", url: `/v1/executions/${job.jobId}/explain` })).statusCode, 404);
  });
});

const jobId = "019a0000-0000-7000-8000-000000000001";
