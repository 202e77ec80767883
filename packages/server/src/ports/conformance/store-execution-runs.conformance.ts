import assert from "node:assert/strict";
import { it } from "node:test";
import type { NewJob } from "../store.ts";
import { type NewExecutionRun, OPEN_RUNS_MAX } from "../store-execution-runs.ts";
import type { ExecutionFilter, Page } from "../store-queries.ts";
import { type JobSample, type Scene, TENANT } from "./store-scene.conformance.ts";

export function executionRunsConformance(scene: () => Scene): void {
  const store = () => scene().store.executionRuns;
  const newRun = (more: Partial<NewExecutionRun> = {}): NewExecutionRun => ({
    ...{ runId: scene().runtime.uuid(), tenant: TENANT, action: "RETRY", filter: '{"state":"DEAD"}' },
    ...{ idempotencyKey: null, expected: { matching: 3, hasMore: false }, createdAt: scene().runtime.now() },
    ...more,
  });
  const begun = async (more: Partial<NewExecutionRun> = {}) => {
    const outcome = await store().begin(newRun(more));
    assert.ok(outcome.kind === "BEGUN");
    return outcome.run;
  };
  const chunkOf = (count: number, next: string | null) => ({
    items: Array.from({ length: count }, () => ({
      executionId: scene().runtime.uuid(),
      newId: scene().runtime.uuid(),
    })),
    next,
  });

  it("keeps a run with its filter, for its tenant alone", async () => {
    const run = await begun();
    assert.deepEqual([run.done, run.refusals, run.isStopped, run.finishedAt], [0, {}, false, null]);
    assert.deepEqual(await store().get(TENANT, run.runId), run);
    assert.equal(await store().get("acme", run.runId), null);
    const older = run;
    const newer = await begun();
    assert.deepEqual(await store().list(TENANT, { after: null, limit: 1 }), { items: [newer], next: newer.runId });
    assert.deepEqual(await store().list(TENANT, { after: newer.runId, limit: 1 }), { items: [older], next: null });
    assert.deepEqual(await store().list("acme", { after: null, limit: 1 }), { items: [], next: null });
  });

  it("begins one run for a key, and refuses the key for another request", async () => {
    const first = await begun({ idempotencyKey: "k" });
    assert.deepEqual(await store().begin(newRun({ idempotencyKey: "k" })), { kind: "KNOWN", run: first });
    assert.deepEqual(await store().begin(newRun({ idempotencyKey: "k", action: "CANCEL" })), { kind: "KEY_REUSED" });
    assert.deepEqual(await store().begin(newRun({ idempotencyKey: "k", filter: "{}" })), { kind: "KEY_REUSED" });
    await begun({ idempotencyKey: "k", tenant: "acme" });
  });

  it("bounds the open runs of a tenant", async () => {
    const runs: string[] = [];
    for (let i = 0; i < OPEN_RUNS_MAX; i++) runs.push((await begun()).runId);
    assert.deepEqual(await store().begin(newRun()), { kind: "TOO_MANY" });
    await begun({ tenant: "acme" });
    await store().stop(TENANT, runs[0] as string, 5);
    await begun();
  });

  it("gives a run to one node at a time, with the chunk that the node before has left", async () => {
    const { runId } = await begun();
    assert.deepEqual(await store().open(100), [runId]);
    const first = await store().take(runId, 100, 200);
    assert.ok(first);
    assert.deepEqual([first.marker, first.chunk], [null, null]);
    assert.equal(await store().take(runId, 199, 300), null);
    assert.deepEqual(await store().open(199), []);
    const chunk = chunkOf(2, scene().runtime.uuid());
    assert.equal(await store().plan(first, chunk, 250), true);
    const second = await store().take(runId, 250, 400);
    assert.deepEqual(second?.chunk, chunk);
    const outcome = { done: 1, refusals: { "wrong-state": 1 }, next: chunk.next };
    assert.equal(await store().plan(first, chunkOf(1, null), 500), false);
    assert.equal(await store().account(first, outcome, 300, false), false);
    assert.ok(second);
    assert.equal(await store().account(second, outcome, 300, false), true);
    assert.equal(await store().account(second, outcome, 300, false), false, "a chunk counts once");
    const { done, refusals } = (await store().get(TENANT, runId)) ?? {};
    assert.deepEqual([done, refusals], [1, { "wrong-state": 1 }]);
    const third = await store().take(runId, 400, 500);
    assert.deepEqual([third?.marker, third?.chunk], [chunk.next, null]);
  });

  it("ends a run with its last chunk, and adds up what was refused", async () => {
    const { runId } = await begun();
    const held = await store().take(runId, 1, 2);
    assert.ok(held);
    const next = scene().runtime.uuid();
    assert.equal(await store().plan(held, chunkOf(2, next), 2), true);
    await store().account(held, { done: 0, refusals: { "not-found": 2 }, next }, 7, false);
    assert.equal(await store().plan(held, chunkOf(1, null), 2), true);
    await store().account(held, { done: 1, refusals: { "not-found": 1, "key-in-use": 1 }, next: null }, 8, true);
    const run = await store().get(TENANT, runId);
    assert.deepEqual([run?.done, run?.finishedAt, run?.isStopped], [1, 8, false]);
    assert.deepEqual(run?.refusals, { "not-found": 3, "key-in-use": 1 });
    assert.deepEqual([await store().open(1_000), await store().take(runId, 1_000, 2_000)], [[], null]);
  });

  it("stops a run, and still counts the chunk in hand", async () => {
    const { runId } = await begun();
    const held = await store().take(runId, 1, 2);
    assert.ok(held);
    const next = scene().runtime.uuid();
    await store().plan(held, chunkOf(1, next), 2);
    assert.equal(await store().stop("acme", runId, 5), null);
    const stopped = await store().stop(TENANT, runId, 5);
    assert.deepEqual([stopped?.isStopped, stopped?.finishedAt], [true, 5]);
    assert.equal(await store().account(held, { done: 1, refusals: {}, next }, 9, false), false);
    assert.equal(await store().plan(held, chunkOf(1, null), 2), false);
    assert.deepEqual(await store().stop(TENANT, runId, 6), { ...stopped, done: 1 });
  });

  describeSearches(scene);
}

function describeSearches(scene: () => Scene): void {
  const first: Page = { after: null, limit: 100 };
  const listed = async (filter: ExecutionFilter) => {
    const { items } = await scene().store.queries.listExecutions(TENANT, filter, first);
    return items.map(({ executionId }) => executionId).sort();
  };
  const idsOf = (...jobs: NewJob[]) => jobs.map(({ executionId }) => executionId).sort();
  const dead = async (message: string, sample: JobSample = {}) => {
    const job = await scene().submitted(sample);
    const error = { name: "BankError", message };
    await scene().applied(job.shard, { changes: [scene().succeeded(job, { state: "DEAD", error })] });
    return job;
  };

  it("finds executions by the labels of their jobs, by the text of their error, and those that are not final", async () => {
    const blue = await scene().submitted({ labels: { team: "blue", tier: "1" } });
    const red = await dead('refused "card 7"\n', { labels: { team: "red" } });
    const other = await dead("no answer");
    assert.deepEqual(await listed({ labels: ["team"] }), idsOf(blue, red));
    assert.deepEqual(await listed({ labels: ["team=blue", "tier"] }), idsOf(blue));
    assert.deepEqual(await listed({ labels: ["team=blue", "tier=2"] }), []);
    assert.deepEqual(await listed({ state: "DEAD", labels: ["team=red"] }), idsOf(red));
    assert.deepEqual(await listed({ state: "DEAD", error: 'REFUSED "Card' }), idsOf(red));
    assert.deepEqual(await listed({ state: "DEAD", error: "bankerror: no" }), idsOf(other));
    assert.deepEqual(await listed({ state: "DEAD", error: "%" }), []);
    assert.deepEqual(await listed({ state: "PENDING", error: "no" }), []);
    assert.deepEqual(await listed({ isOpen: true }), idsOf(blue));
    assert.deepEqual(await listed({ isOpen: true, handler: red.definition.handler }), idsOf(blue));
  });

  it("counts what it would list", async () => {
    const { queries } = scene().store;
    const count = async (filter: ExecutionFilter) => {
      const { matching, hasMore } = await queries.countListed(TENANT, filter);
      assert.equal(hasMore, false);
      return matching;
    };
    const open = await scene().submitted({ labels: { a: "b" } });
    await dead("one");
    await dead("two");
    assert.equal(await count({}), 3);
    assert.equal(await count({ state: "DEAD" }), 2);
    assert.equal(await count({ state: "DEAD", error: "two" }), 1);
    assert.equal(await count({ isOpen: true }), 1);
    assert.equal(await count({ labels: ["a"] }), 1);
    assert.equal(await count({ jobId: open.jobId }), 1);
    assert.equal(await count({ handler: open.definition.handler }), 3);
    assert.deepEqual(await queries.countListed("acme", {}), { matching: 0, hasMore: false });
  });
}
