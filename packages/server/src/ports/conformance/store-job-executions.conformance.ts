import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { firstExecutionId } from "../../domain/ids.ts";
import type { NewJob } from "../store.ts";
import type { NewRun } from "../store-jobs.ts";
import type { ExecutionFilter, JobFilter } from "../store-queries.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

const PAGE = { after: null, limit: 10 };
const DAY_MS = 86_400_000;

/** Reading the executions of a job that runs once, whatever the ids of its executions are. */
export function jobExecutionsConformance(scene: () => Scene): void {
  describe("whose first execution has the id that follows from the job's", () => ofJobs(scene, firstExecutionId));
  describe("whose first execution has an id of its own, as nodes of the release before make it", () =>
    ofJobs(scene, () => scene().runtime.uuid()));
}

function ofJobs(scene: () => Scene, executionIdOf: (jobId: string) => string): void {
  const submitted = (sample: { name?: string } = {}): Promise<NewJob> => {
    const jobId = scene().runtime.uuid();
    return scene().submitted({ jobId, executionId: executionIdOf(jobId), ...sample });
  };
  const executions = async (filter: ExecutionFilter) =>
    (await scene().store.queries.listExecutions(TENANT, filter, PAGE)).items.map(({ executionId }) => executionId);
  const jobs = async (filter: JobFilter) =>
    (await scene().store.queries.listJobs(TENANT, filter, PAGE)).items.map(({ jobId }) => jobId);
  const letters = async (jobId: string) =>
    (await scene().store.deadLetters.list(TENANT, { jobId }, PAGE)).items.map(({ executionId }) => executionId);
  const latest = async ({ jobId }: NewJob) => {
    const view = await scene().store.queries.getJob(TENANT, jobId);
    return [view?.state, ...(view?.latestExecutions.map(({ executionId }) => executionId) ?? [])];
  };
  /** Runs the job of an execution that has ended again. */
  const again = async (job: NewJob): Promise<NewRun> => {
    const { jobId, executionId, shard, definition } = job;
    const fresh = scene().job({ ...definition, jobId, executionId: scene().runtime.uuid(), shard });
    const run = { ...fresh, retryOf: executionId, jobVersion: 1 };
    assert.deepEqual(await scene().store.jobs.run(run), { kind: "ACCEPTED" });
    return run;
  };

  it("shows the first one and later ones, the newest first", async () => {
    const job = await submitted();
    await submitted();
    assert.deepEqual(await latest(job), ["ACTIVE", job.executionId]);
    assert.deepEqual(await executions({ jobId: job.jobId }), [job.executionId]);
    await scene().applied(job.shard, { changes: [scene().succeeded(job)] });
    assert.deepEqual(await latest(job), ["FINISHED", job.executionId]);
    const later = await again(job);
    assert.deepEqual(await latest(job), ["ACTIVE", later.executionId, job.executionId]);
    assert.deepEqual(await executions({ jobId: job.jobId }), [later.executionId, job.executionId]);
    assert.deepEqual(await executions({ jobId: job.jobId, state: "SUCCEEDED" }), [job.executionId]);
  });

  it("lists its job as active while one of them has not ended", async () => {
    const job = await submitted({ name: "report" });
    const filters = (state: "ACTIVE" | "FINISHED") => [
      { state },
      { state, type: "ONCE" as const },
      { state, name: "report" },
    ];
    const listed = (state: "ACTIVE" | "FINISHED") => Promise.all(filters(state).map(jobs));
    const [here, nowhere] = [
      [[job.jobId], [job.jobId], [job.jobId]],
      [[], [], []],
    ];
    assert.deepEqual([await listed("ACTIVE"), await listed("FINISHED")], [here, nowhere]);
    await scene().applied(job.shard, { changes: [scene().succeeded(job)] });
    assert.deepEqual([await listed("ACTIVE"), await listed("FINISHED")], [nowhere, here]);
    const later = await again(job);
    assert.deepEqual([await listed("ACTIVE"), await listed("FINISHED")], [here, nowhere]);
    await scene().applied(job.shard, { changes: [scene().succeeded(later)] });
    assert.deepEqual([await listed("ACTIVE"), await listed("FINISHED")], [nowhere, here]);
  });

  it("knows which of them a change, a deletion or another run of the job concerns", async () => {
    const { store, runtime } = scene();
    const job = await submitted({ name: "report" });
    const { jobId, definition } = job;
    const put = async (handler: string) => {
      const fresh = scene().job({ name: "report", handler });
      return await store.jobs.putNamed({ job: fresh, commandId: runtime.uuid() });
    };
    const first = await put("second");
    assert.deepEqual(first.kind === "REPLACED" && first.command.kind === "REPLACE" && first.command.executionIds, [
      job.executionId,
    ]);
    await scene().applied(job.shard, { changes: [scene().succeeded(job)] });
    const later = { ...scene().job({ ...definition, jobId, executionId: runtime.uuid() }), retryOf: job.executionId };
    assert.deepEqual(await store.jobs.run({ ...later, jobVersion: 2 }), { kind: "ACCEPTED" });
    const held = await store.jobs.run({ ...later, executionId: runtime.uuid(), jobVersion: 2 });
    assert.deepEqual(held, { kind: "NOT_FINAL", executionId: later.executionId });
    const second = await put("third");
    assert.deepEqual(second.kind === "REPLACED" && second.command.kind === "REPLACE" && second.command.executionIds, [
      later.executionId,
    ]);
    const deletion = {
      tenant: TENANT,
      jobId,
      cancelRunning: false,
      commandId: () => runtime.uuid(),
      at: runtime.now(),
    };
    const deleted = await store.jobs.delete(deletion);
    assert.deepEqual(
      deleted.kind === "DELETED" &&
        deleted.commands.map((command) => "executionIds" in command && command.executionIds),
      [[later.executionId]],
    );
  });

  it("lists and settles the dead ones of a job", async () => {
    const { store, runtime } = scene();
    const [job, other] = [await submitted(), await submitted()];
    for (const dead of [job, other])
      await scene().applied(dead.shard, { changes: [scene().succeeded(dead, { state: "DEAD" })] });
    assert.deepEqual(await letters(job.jobId), [job.executionId]);
    const later = await again(job);
    await scene().applied(job.shard, { changes: [scene().succeeded(later, { state: "DEAD" })] });
    assert.deepEqual(await letters(job.jobId), [later.executionId]);
    const runId = runtime.uuid();
    const filter = { jobId: other.jobId };
    const createdAt = runtime.now() + 1;
    await store.deadLetters.begin({ runId, tenant: TENANT, action: "DISCARD", filter, createdAt });
    await store.deadLetters.advance(runId, [runtime.uuid(), runtime.uuid()], createdAt);
    assert.equal((await store.deadLetters.readRun(TENANT, runId))?.settled, 1);
    assert.deepEqual([await letters(other.jobId), await letters(job.jobId)], [[], [later.executionId]]);
  });

  it("keeps its job for as long as one of them, and payloads of former versions that they ran by", async () => {
    const { store, runtime } = scene();
    const job = await scene().submitted({ payload: Buffer.from("1"), ...idsOf(runtime.uuid()) });
    const { jobId, definition, executionId, shard } = job;
    const asked = {
      tenant: TENANT,
      jobId,
      definition: { ...definition, handler: "second" },
      payload: Buffer.from("2"),
    };
    const outcome = await store.jobs.replace({
      ...asked,
      ifVersion: null,
      commandId: runtime.uuid(),
      at: runtime.now(),
    });
    assert.ok(outcome.kind === "REPLACED");
    const now = runtime.now();
    const ended = scene().succeeded(job, { finishedAt: now - 40 * DAY_MS });
    await scene().applied(shard, { changes: [ended], commandsDone: [outcome.command.id] });
    const retention = { days: 90, deadDays: 90 };
    await store.maintain(now, retention);
    const view = await store.queries.getExecution(TENANT, executionId);
    assert.deepEqual(Buffer.from(view?.payload ?? []), Buffer.from("1"));
    const later = {
      ...scene().job({ ...definition, jobId, executionId: runtime.uuid(), shard }),
      retryOf: executionId,
    };
    assert.deepEqual(await store.jobs.run({ ...later, jobVersion: 2 }), { kind: "ACCEPTED" });
    await store.maintain(now, { days: 30, deadDays: 90 });
    assert.deepEqual(await latest(job), ["ACTIVE", ...(await executions({ jobId }))]);
    assert.ok((await executions({ jobId })).includes(later.executionId));
  });

  function idsOf(jobId: string) {
    return { jobId, executionId: executionIdOf(jobId) };
  }
}
