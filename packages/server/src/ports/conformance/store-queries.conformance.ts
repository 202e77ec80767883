import assert from "node:assert/strict";
import { it } from "node:test";
import type { NewJob } from "../store.ts";
import type { ExecutionFilter, JobFilter, Listing, Page } from "../store-queries.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

const FIRST: Page = { after: null, limit: 100 };

export function queriesConformance(scene: () => Scene): void {
  it("shows an execution as it was submitted", async () => {
    const job = await scene().submitted({ requires: ["gpu"], priority: 7, payload: Buffer.from('"\\u0000"') });
    const { definition } = job;
    const { payload, ...view } = (await scene().store.queries.getExecution(TENANT, job.executionId)) ?? {};
    assert.deepEqual(Buffer.from(payload ?? []), job.payload);
    assert.deepEqual(view, {
      executionId: job.executionId,
      jobId: job.jobId,
      shard: job.shard,
      tenant: TENANT,
      trigger: "API",
      retryOf: null,
      jobVersion: 1,
      state: "PENDING",
      reason: null,
      attempt: 0,
      failures: 0,
      lost: 0,
      maxAttempts: definition.policy.retry.maxAttempts,
      pool: definition.pool,
      handler: definition.handler,
      priority: 7,
      scheduledAt: definition.scheduledAt,
      dueAt: definition.scheduledAt,
      workerId: null,
      startedAt: null,
      finishedAt: null,
      createdAt: job.createdAt,
      updatedAt: job.createdAt,
      requires: ["gpu"],
      policy: definition.policy,
      result: null,
      error: null,
      attempts: [],
      hasSteps: false,
    });
  });

  it("shows a job with its definition and its newest executions", async () => {
    const job = await scene().submitted({
      name: "nightly",
      requires: ["gpu"],
      concurrencyKey: "acme",
      concurrencyLimit: 2,
      uniqueKey: "u1",
      labels: { team: "billing" },
      payload: Buffer.from("[]"),
    });
    const view = await scene().store.queries.getJob(TENANT, job.jobId);
    assert.ok(view);
    assert.deepEqual(view.definition, job.definition);
    assert.deepEqual(Buffer.from(view.payload ?? []), job.payload);
    assert.deepEqual([view.state, view.version, view.name, view.labels], ["ACTIVE", 1, "nightly", { team: "billing" }]);
    assert.deepEqual([view.createdAt, view.updatedAt], [job.createdAt, job.createdAt]);
    assert.deepEqual(
      view.latestExecutions.map((execution) => execution.executionId),
      [job.executionId],
    );
  });

  it("knows nothing of other tenants' jobs, nor of ids that it never saw", async () => {
    const job = await scene().submitted({ tenant: "acme" });
    const { queries } = scene().store;
    assert.equal(await queries.getExecution(TENANT, job.executionId), null);
    assert.equal(await queries.getJob(TENANT, job.jobId), null);
    assert.equal(await queries.getJob("acme", scene().runtime.uuid()), null);
    assert.deepEqual(await queries.listExecutions(TENANT, {}, FIRST), { items: [], next: null });
    assert.deepEqual(await queries.listJobs(TENANT, {}, FIRST), { items: [], next: null });
    assert.equal((await queries.getJob("acme", job.jobId))?.tenant, "acme");
  });

  it("lists newest first, page by page, and each item once", async () => {
    const jobs: NewJob[] = [];
    for (let i = 0; i < 7; i++) jobs.push(await scene().submitted());
    const { queries } = scene().store;
    const executions = await pages((page) => queries.listExecutions(TENANT, {}, page), 3);
    assert.deepEqual(
      executions.map((page) => page.map((item) => item.executionId)),
      inPages(jobs.map((job) => job.executionId).reverse(), 3),
    );
    const listed = await pages((page) => queries.listJobs(TENANT, {}, page), 7);
    assert.deepEqual(
      listed.map((page) => page.map((item) => item.jobId)),
      [jobs.map((job) => job.jobId).reverse()],
    );
  });

  it("filters executions", async () => {
    const now = scene().runtime.now();
    const [ready, later, running, done, dead, gpu] = [
      await scene().submitted({ createdAt: now - 5_000 }),
      await scene().submitted({ scheduledAt: now + 60_000 }),
      await scene().submitted(),
      await scene().submitted(),
      await scene().submitted(),
      await scene().submitted({ pool: "gpu" }),
    ];
    await scene().applied(running.shard, { changes: [scene().running(running)] });
    await scene().applied(done.shard, { changes: [scene().succeeded(done)] });
    await scene().applied(dead.shard, { changes: [scene().succeeded(dead, { state: "DEAD" })] });
    const listed = async (filter: ExecutionFilter) => {
      const { items } = await scene().store.queries.listExecutions(TENANT, filter, FIRST);
      return items.map((item) => item.executionId).sort();
    };
    const idsOf = (...jobs: NewJob[]) => jobs.map((job) => job.executionId).sort();
    assert.deepEqual(await listed({ state: "PENDING" }), idsOf(ready, later, gpu));
    assert.deepEqual(await listed({ state: "RUNNING" }), idsOf(running));
    assert.deepEqual(await listed({ state: "SUCCEEDED" }), idsOf(done));
    assert.deepEqual(await listed({ state: "DEAD" }), idsOf(dead));
    assert.deepEqual(await listed({ state: "CANCELLED" }), []);
    assert.deepEqual(await listed({ state: "SCHEDULED" }), []);
    assert.deepEqual(await listed({ pool: "gpu" }), idsOf(gpu));
    const { handler } = done.definition;
    assert.deepEqual(await listed({ handler }), idsOf(ready, later, running, done, dead, gpu));
    assert.deepEqual(await listed({ handler: "unheard-of" }), []);
    assert.deepEqual(await listed({ handler, pool: "gpu" }), idsOf(gpu));
    assert.deepEqual(await listed({ handler, pool: done.definition.pool, state: "SUCCEEDED" }), idsOf(done));
    assert.deepEqual(await listed({ jobId: dead.jobId, state: "DEAD" }), idsOf(dead));
    assert.deepEqual(await listed({ until: now - 4_000 }), idsOf(ready));
    assert.deepEqual(await listed({ since: now - 5_000, until: now - 4_999 }), idsOf(ready));
    assert.deepEqual(await listed({ since: now - 4_999, pool: "default" }), idsOf(later, running, done, dead));
  });

  it("lists the executions and jobs within a range of ids, both ends included", async () => {
    const jobs = [
      await scene().submitted(),
      await scene().submitted(),
      await scene().submitted(),
      await scene().submitted(),
    ];
    const executionIds = jobs.map(({ executionId }) => executionId).sort();
    const jobIds = jobs.map(({ jobId }) => jobId).sort();
    const rangeOf = (ids: string[]) => ({ first: ids[1] as string, last: ids[2] as string });
    const { queries } = scene().store;
    const executions = await queries.listExecutions(TENANT, { ids: rangeOf(executionIds) }, FIRST);
    assert.deepEqual(executions.items.map(({ executionId }) => executionId).sort(), executionIds.slice(1, 3));
    const listed = await queries.listJobs(TENANT, { ids: rangeOf(jobIds) }, FIRST);
    assert.deepEqual(listed.items.map(({ jobId }) => jobId).sort(), jobIds.slice(1, 3));
  });

  it("counts what is not final and what is dead, up to a limit", async () => {
    const now = scene().runtime.now();
    await scene().submitted({ scheduledAt: now + 60_000 });
    await scene().submitted();
    await scene().submitted();
    const [running, dead, done] = [await scene().submitted(), await scene().submitted(), await scene().submitted()];
    await scene().applied(running.shard, { changes: [scene().running(running)] });
    await scene().applied(dead.shard, { changes: [scene().succeeded(dead, { state: "DEAD" })] });
    await scene().applied(done.shard, { changes: [scene().succeeded(done)] });
    const { queries } = scene().store;
    const { openRuns: _, ...counts } = await queries.countExecutions(null, 100);
    assert.deepEqual(counts, { waiting: 1, ready: 2, held: 1, deadLetters: 1 });
    assert.equal((await queries.countExecutions(null, 1)).ready, 1);
  });

  it("tells the backlog of each pool, and since when the next of it has waited", async () => {
    const now = scene().runtime.now();
    const { queries } = scene().store;
    assert.deepEqual(await queries.backlog(10), []);
    await scene().submitted({ pool: "mail", createdAt: now - 5_000, scheduledAt: now - 5_000 });
    await scene().submitted({ pool: "mail", requires: ["gpu"], scheduledAt: now - 9_000, createdAt: now - 9_000 });
    await scene().submitted({ pool: "mail", scheduledAt: now - 1_000, createdAt: now - 1_000 });
    await scene().submitted({ pool: "pdf", scheduledAt: now - 2_000, createdAt: now - 2_000 });
    await scene().submitted({ pool: "pdf", scheduledAt: now + 60_000 });
    assert.deepEqual(await queries.backlog(10), [
      { pool: "mail", ready: 3, oldestDueAt: now - 9_000 },
      { pool: "pdf", ready: 1, oldestDueAt: now - 2_000 },
    ]);
    assert.equal((await queries.backlog(2))[0]?.ready, 2);
  });

  it("filters jobs, and calls one finished when its execution is final", async () => {
    const [active, held, finished] = [
      await scene().submitted({ name: "a" }),
      await scene().submitted({ pool: "gpu" }),
      await scene().submitted({ handler: "render" }),
    ];
    await scene().applied(held.shard, { changes: [scene().running(held)] });
    await scene().applied(finished.shard, { changes: [scene().succeeded(finished, { state: "CANCELLED" })] });
    const listed = async (filter: JobFilter) => {
      const { items } = await scene().store.queries.listJobs(TENANT, filter, FIRST);
      return items.map((item) => `${item.jobId} ${item.state}`).sort();
    };
    const said = (state: string, ...jobs: NewJob[]) => jobs.map((job) => `${job.jobId} ${state}`).sort();
    assert.deepEqual(await listed({ state: "ACTIVE" }), said("ACTIVE", active, held));
    assert.deepEqual(await listed({ state: "FINISHED" }), said("FINISHED", finished));
    assert.deepEqual(await listed({ pool: "gpu" }), said("ACTIVE", held));
    assert.deepEqual(await listed({ handler: "render" }), said("FINISHED", finished));
    assert.deepEqual(await listed({ name: "a" }), said("ACTIVE", active));
    assert.deepEqual(await listed({ name: "a", handler: "render" }), []);
  });
}

async function pages<T>(list: (page: Page) => Promise<Listing<T>>, limit: number): Promise<T[][]> {
  const all: T[][] = [];
  for (let after: string | null = null; ; ) {
    const { items, next }: Listing<T> = await list({ after, limit });
    all.push(items);
    if (next === null) return all;
    after = next;
  }
}

function inPages<T>(items: readonly T[], size: number): T[][] {
  const cut: T[][] = [];
  for (let i = 0; i < items.length; i += size) cut.push(items.slice(i, i + size));
  return cut;
}
