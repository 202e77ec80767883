import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  APPLICATION_LABEL,
  type Client,
  ExecutionFailed,
  JobHandle,
  MainspringError,
  TerminalError,
  task,
} from "@mainspring/sdk";
import { startTestNode, type TestNode } from "./node.fixture.ts";

/** The SDK against a whole server, with the real embedded store. */
describe("the SDK with a server", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  it("takes the name of a job wherever it takes its id", async () => {
    const target = { handler: "echo" };
    const { jobId } = await client.jobs.upsert("nightly run/1", { target, schedule: "0 3 * * *" });
    const name = "nightly run/1";
    assert.equal((await client.getJob(name)).jobId, jobId);
    assert.equal((await client.jobs.pause(name)).state, "PAUSED");
    assert.equal((await client.jobs.resume(name)).state, "ACTIVE");
    const executionId = await client.jobs.trigger(name);
    const executions = [];
    for await (const one of client.listExecutions({ jobId: name })) executions.push(one.executionId);
    assert.deepEqual(executions, [executionId]);
    assert.equal((await client.jobs.nextFires(name, { count: 2 })).length, 2);
    assert.equal((await client.jobs.describeSchedule(name)).words, "at 03:00 every day in UTC");
    for await (const item of client.jobs.ledger(name)) assert.fail(JSON.stringify(item));
    const changed = await client.replaceJob(name, { name, target, schedule: "0 4 * * *" });
    assert.deepEqual([changed.jobId, changed.version], [jobId, 2]);
    await client.deleteJob(name);
    assert.equal((await client.getJob(jobId)).state, "DELETED");
    await assert.rejects(client.getJob(name), { code: "NOT_FOUND", message: /no job is named "nightly run\/1"/ });
  });

  it("asks which job is meant where several that run once have the name", async () => {
    const request = { name: "many", target: { handler: "echo" }, delayMs: 3_600_000 };
    const first = await client.submit(request);
    assert.equal((await client.getJob("many")).jobId, first.jobId);
    const second = await client.submit(request);
    await assert.rejects(client.deleteJob("many"), {
      code: "CONFLICT",
      message: `several jobs are named "many", as ${second.jobId} and ${first.jobId}: say which by its id`,
    });
    await client.deleteJob(second.jobId);
    assert.equal((await client.getJob("many")).jobId, first.jobId);
  });

  it("submits and waits, one job and many, with a result or an error for each", async () => {
    const half = task({
      name: "half",
      uniqueKey: ({ key }) => key,
      run: ({ n }: { n: number; key: string }) => {
        if (n % 2 === 1) throw new TerminalError(`${n} is odd`);
        return { half: n / 2, at: new Date(0) };
      },
    });
    const worker = node.attachWorker({ tasks: [half] });
    await worker.start();
    const result: { half: number; at: string } = await half.call(client, { n: 4, key: "four" });
    assert.deepEqual(result, { half: 2, at: "1970-01-01T00:00:00.000Z" });
    await assert.rejects(half.call(client, { n: 5, key: "five" }), ExecutionFailed);

    const payloads = Array.from({ length: 250 }, (_, n) => ({ n: 2 * n, key: n === 7 ? "" : `many-${n}` }));
    const jobs = await half.submitMany(client, payloads, (_, index) => ({ idempotencyKey: `many-${index}` }));
    assert.equal(jobs.length, 250);
    for (const [index, job] of jobs.entries()) {
      if (index === 7) assert.ok(job instanceof MainspringError && job.code === "INVALID_PAYLOAD", String(job));
      else assert.ok(job instanceof JobHandle);
    }
    const again = await half.submitMany(client, payloads, (_, index) => ({ idempotencyKey: `many-${index}` }));
    const idsOf = (some: typeof jobs) => some.map((job) => job instanceof JobHandle && job.jobId);
    assert.deepEqual(idsOf(again), idsOf(jobs));
    const last = jobs.at(-1);
    assert.equal(last instanceof JobHandle && (await last.result()).half, 249);
    const keyed = half.submitMany(client, payloads, { idempotencyKey: "one" } as object);
    await assert.rejects(keyed, { code: "BAD_OPTION", message: /one key names one job: give options as a function/ });
    await worker.stop();
  });

  it("keeps the recurring jobs that tasks declare, and deletes those that no task declares any more", async () => {
    const run = () => null;
    const nightly = task({ name: "nightly", timeoutSec: 5, schedule: "0 3 * * *", run });
    const hourly = task({
      name: "sync",
      schedule: { name: "sync hourly", everySec: 3_600, payload: { full: false } },
      run: ({ full }: { full: boolean }) => full,
    });
    const options = { application: "shop", prune: true };
    const names = async () => {
      const found: string[] = [];
      for await (const { name, state } of client.listJobs({ label: APPLICATION_LABEL }))
        if (state !== "DELETED") found.push(name ?? "");
      return found.sort();
    };
    const first = await client.applySchedules([nightly, hourly, task({ name: "plain", run })], options);
    assert.deepEqual(
      first.applied.map(({ execution }) => execution),
      ["CREATED", "CREATED"],
    );
    const job = await client.getJob("sync hourly");
    assert.deepEqual([job.target.handler, job.payload, job.everySec], ["sync", { full: false }, 3_600]);
    assert.deepEqual([(await client.getJob("nightly")).timeoutSec, job.labels], [5, { [APPLICATION_LABEL]: "shop" }]);

    await nightly.schedule(client, "by hand", { schedule: "0 4 * * *", priority: 9 }, null);
    await client.applySchedules([task({ name: "other", schedule: "0 5 * * *", run })], {
      application: "other",
      prune: true,
    });
    const again = await client.applySchedules([nightly, hourly], options);
    assert.deepEqual(
      again.applied.map(({ changed }) => changed),
      [false, false],
    );
    assert.deepEqual(again.pruned, []);

    const kept = await client.applySchedules([nightly], { application: "shop" });
    assert.deepEqual(kept.pruned, []);
    const pruned = await client.applySchedules([nightly], options);
    assert.deepEqual(
      pruned.pruned.map(({ name }) => name),
      ["sync hourly"],
    );
    assert.deepEqual(await names(), ["nightly", "other"]);
    assert.deepEqual(
      [(await client.getJob("by hand")).priority, (await client.getJob("by hand")).state],
      [9, "ACTIVE"],
    );
  });

  it("refuses schedules that cannot hold, before anything is changed", async () => {
    const run = () => null;
    for (const schedule of ["", {}, { schedule: "0 3 * * *", everySec: 1 }, 5]) {
      const make = () => task({ name: "bad", schedule: schedule as string, run });
      assert.throws(make, { code: "BAD_OPTION", message: /^task "bad": schedule: must be a cron expression/ });
    }
    const twice = [
      task({ name: "a", schedule: { name: "same", everySec: 5 }, run }),
      task({ name: "same", schedule: "@daily", run }),
    ];
    const message = /two tasks declare a recurring job named "same": give one of them another name/;
    await assert.rejects(client.applySchedules(twice, { application: "twice" }), { code: "BAD_OPTION", message });
    await assert.rejects(client.getJob("same"), { code: "NOT_FOUND" });
    const wrong = task({ name: "wrong", schedule: "0 25 * * *", run });
    await assert.rejects(client.applySchedules([wrong], { application: "x" }), {
      code: "BAD_REQUEST",
      message: /hour/,
    });
  });
});
