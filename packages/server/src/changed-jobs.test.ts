import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type JobFilter, task, Worker } from "@mainspring/sdk";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { startTestNode, type TestNode } from "./node.fixture.ts";

const HOUR_MS = 3_600_000;

/** Jobs that change after they were accepted, tested from outside: the SDK over HTTP, a real store, a real worker. */
describe("jobs that change", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  const echo = (payload: unknown) => ({ target: { handler: "echo" }, payload });

  const listed = async (filter: JobFilter) => {
    const ids: string[] = [];
    for await (const { jobId } of client.listJobs(filter)) ids.push(jobId);
    return ids;
  };

  /** Starts a worker whose handler waits until the test tells it how to end. */
  async function patientWorker(name: string) {
    const began = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    const patient = task({
      name,
      run: async (payload: unknown, { signal }) => {
        seen.push(payload);
        began.resolve();
        signal.addEventListener("abort", () => end.reject(signal.reason));
        await end.promise;
        return payload;
      },
    });
    const worker = new Worker({ url: node.grpcAddress, tasks: [patient] });
    await worker.start();
    return { worker, began: began.promise, end, seen };
  }

  it("run by the new definition where they waited", async () => {
    const job = await client.submit({ ...echo("old"), delayMs: HOUR_MS, labels: { team: "a" } });
    const later = await client.replaceJob(job.jobId, { ...echo("later"), delayMs: 2 * HOUR_MS, name: "n" });
    assert.deepEqual([later.version, later.execution, later.changed], [2, "REPLACED", true]);
    assert.ok(Date.parse(later.nextFireAt ?? "") > systemRuntime().now() + HOUR_MS);
    const waiting = await client.getJob(job.jobId);
    assert.deepEqual([waiting.payload, waiting.name, waiting.labels, waiting.version], ["later", "n", {}, 2]);
    assert.equal(waiting.nextFireAt, later.nextFireAt);
    const now = await client.replaceJob(job.jobId, echo("now"));
    assert.deepEqual([now.version, now.nextFireAt, now.executionId], [3, null, job.executionId]);
    const ended = await client.getExecution(job.executionId, { waitSec: 30 });
    assert.deepEqual([ended.state, ended.result, ended.payload, ended.jobVersion], ["SUCCEEDED", "now", "now", 3]);
  });

  it("keep what they started with, and run by the new definition when they are run again", async () => {
    const { worker, began, end, seen } = await patientWorker("patient");
    const job = await client.submit({ target: { handler: "patient" }, payload: 1, retryPolicy: { maxAttempts: 1 } });
    await began;
    await assert.rejects(client.retryExecution(job.executionId), { code: "CONFLICT" });
    const changed = await client.replaceJob(job.jobId, echo(2));
    assert.deepEqual([changed.execution, changed.nextFireAt], ["KEPT", null]);
    const running = await client.getExecution(job.executionId);
    assert.deepEqual([running.payload, running.handler, running.jobVersion], [1, "patient", 1]);
    end.reject(new Error("no"));
    assert.equal((await client.getExecution(job.executionId, { waitSec: 30 })).state, "DEAD");
    assert.deepEqual(seen, [1]);
    const again = await client.retryExecution(job.executionId);
    const ended = await client.getExecution(again, { waitSec: 30 });
    assert.deepEqual([ended.state, ended.result, ended.trigger, ended.jobVersion], ["SUCCEEDED", 2, "RETRY", 2]);
    assert.equal(ended.retryOf, job.executionId);
    const { latestExecutions } = await client.getJob(job.jobId);
    assert.deepEqual(
      latestExecutions.map(({ executionId }) => executionId),
      [again, job.executionId],
    );
    await worker.stop();
  });

  it("are changed only where they have the version that was asked for, and are not final", async () => {
    const job = await client.submit({ ...echo(1), delayMs: HOUR_MS });
    await assert.rejects(client.replaceJob(job.jobId, echo(2), { ifVersion: 2 }), { code: "PRECONDITION_FAILED" });
    assert.equal((await client.getJob(job.jobId)).version, 1);
    assert.equal((await client.replaceJob(job.jobId, echo(2), { ifVersion: 1 })).version, 2);
    await client.waitForExecution(job.executionId);
    await assert.rejects(client.replaceJob(job.jobId, echo(3)), { code: "CONFLICT", message: /FINISHED/ });
  });

  it("are put by name: submitted, left alone, replaced", async () => {
    const hour = new Date(systemRuntime().now() + HOUR_MS).toISOString();
    const first = await client.putJobByName("näme/1", { ...echo(1), runAt: hour });
    assert.deepEqual([first.execution, first.changed, first.version], ["CREATED", true, 1]);
    const same = await client.putJobByName("näme/1", { ...echo(1), runAt: hour });
    assert.deepEqual([same.jobId, same.execution, same.changed], [first.jobId, "UNCHANGED", false]);
    const other = await client.putJobByName("näme/1", echo(2));
    assert.deepEqual([other.jobId, other.execution, other.version], [first.jobId, "REPLACED", 2]);
    assert.equal((await client.waitForExecution(first.executionId ?? "")).result, 2);
  });

  it("are deleted: what waits is cancelled, and their history stays", async () => {
    const job = await client.submit({ ...echo(1), delayMs: HOUR_MS });
    await client.deleteJob(job.jobId);
    const ended = await client.getExecution(job.executionId);
    assert.deepEqual([ended.state, ended.reason], ["CANCELLED", "JOB_DELETED"]);
    assert.equal((await client.getJob(job.jobId)).state, "DELETED");
    await client.deleteJob(job.jobId);
    await assert.rejects(client.replaceJob(job.jobId, echo(2)), { code: "CONFLICT", message: /DELETED/ });
    await assert.rejects(client.retryExecution(job.executionId), { code: "CONFLICT", message: /DELETED/ });
    assert.deepEqual(await listed({ state: "DELETED" }), [job.jobId]);
  });

  it("run on when they are deleted, unless they are to be cancelled too", async () => {
    const { worker, began } = await patientWorker("stopped");
    const job = await client.submit({ target: { handler: "stopped" } });
    await began;
    await client.deleteJob(job.jobId);
    assert.match((await client.getExecution(job.executionId)).state, /^(SCHEDULED|RUNNING)$/);
    await client.deleteJob(job.jobId, { cancelRunning: true });
    assert.equal((await client.waitForExecution(job.executionId)).state, "CANCELLED");
    await worker.stop();
  });

  it("are found by their labels", async () => {
    const labels = { team: "search", tier: "1" };
    const { jobId } = await client.submit({ ...echo(1), labels });
    assert.deepEqual(await listed({ label: ["team=search"] }), [jobId]);
    assert.deepEqual(await listed({ label: ["team=search", "tier"] }), [jobId]);
    assert.deepEqual(await listed({ label: ["team=search", "tier=2"] }), []);
  });
});
