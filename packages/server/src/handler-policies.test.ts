import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { type Client, type Handler, type JobRequest, type Task, task, Worker } from "@mainspring/sdk";
import { startTestNode, type TestNode } from "./node.fixture.ts";

const DEFAULT_RETRY = { backoff: "EXPONENTIAL", initialDelayMs: 1_000, maxDelayMs: 3_600_000, jitter: true };

/** The whole of it: a worker over gRPC, the real embedded store, jobs over HTTP as curl sends them. */
describe("policies of a task", () => {
  let node: TestNode;
  let client: Client;
  const workers: Worker[] = [];
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop();
  });
  after(() => node.stop());

  async function work(...tasks: Task<never, unknown>[]): Promise<Worker> {
    const worker = new Worker({ tasks, url: node.grpcAddress, warn: () => undefined });
    workers.push(worker);
    await worker.start();
    return worker;
  }

  /** The handler of this name, once the server shows it as wanted. */
  async function handlerWhen(handler: string, isWanted: (found: Handler) => boolean): Promise<Handler> {
    for (;;) for await (const found of client.handlers.list({ handler })) if (isWanted(found)) return found;
  }

  /** The job as the server has taken it, once a job of the handler gets what the policies say. */
  async function jobWhen(request: JobRequest, isWanted: (timeoutSec: number) => boolean) {
    for (;;) {
      const { jobId } = await client.submit({ delayMs: 3_600_000, ...request });
      const job = await client.getJob(jobId);
      if (isWanted(job.timeoutSec)) return job;
      await client.deleteJob(jobId);
    }
  }

  const run = () => null;

  it("hold for jobs that leave them out, and a job's own values come first", async () => {
    const retry = { maxAttempts: 3, backoff: "FIXED", initialDelayMs: 10 } as const;
    const limits = { timeoutSec: 5, maxLifetimeSec: 60, cancelGraceSec: 1, maxLost: 2 };
    const policies = { ...limits, onWorkerLost: "DEAD", priority: "HIGH" } as const;
    const keys = { concurrencyKey: "customer-{payload.customer.id}", concurrencyLimit: 2, uniqueKey: "mail" } as const;
    await work(task({ name: "mail", pool: "mails", retry, ...policies, ...keys, run }));
    const shown = await handlerWhen("mail", ({ declaredAt }) => declaredAt !== null);
    assert.deepEqual(shown.policies, { retryPolicy: retry, ...policies, ...keys });
    assert.deepEqual([shown.pool, shown.home, shown.workers, shown.contradictions], ["mails", true, 1, []]);

    const target = { handler: "mail" };
    const payload = { customer: { id: 7 } };
    const job = await jobWhen({ target, payload }, (sec) => sec === 5);
    assert.equal(job.maxLifetimeSec, 60);
    const {
      retryPolicy,
      cancelGraceSec,
      maxLost,
      onWorkerLost,
      priority,
      concurrencyKey,
      concurrencyLimit,
      uniqueKey,
    } = job;
    assert.deepEqual(
      { retryPolicy, cancelGraceSec, maxLost, onWorkerLost, priority, concurrencyKey, concurrencyLimit, uniqueKey },
      {
        retryPolicy: { ...retry, maxDelayMs: 3_600_000, jitter: true },
        ...{ cancelGraceSec: 1, maxLost: 2, onWorkerLost: "DEAD", priority: 7 },
        ...{ concurrencyKey: "customer-7", concurrencyLimit: 2, uniqueKey: "mail" },
      },
    );
    assert.equal(job.target.pool, "mails");

    const own = {
      timeoutSec: 9,
      priority: 0,
      concurrencyKey: "own",
      uniqueKey: "own",
      retryPolicy: { maxAttempts: 1 },
    };
    const [answer] = await client.submitBatch([{ target: { ...target, pool: "mails" }, delayMs: 3_600_000, ...own }]);
    assert.ok(answer !== undefined && "jobId" in answer, JSON.stringify(answer));
    const mine = await client.getJob(answer.jobId);
    assert.deepEqual(
      [mine.timeoutSec, mine.priority, mine.concurrencyKey, mine.concurrencyLimit, mine.uniqueKey],
      [9, 0, "own", 2, "own"],
    );
    assert.deepEqual(mine.retryPolicy, { ...DEFAULT_RETRY, maxAttempts: 1 });
  });

  it("hold for jobs of a batch, recurring jobs and replacements", async () => {
    await work(task({ name: "report", timeoutSec: 6, uniqueKey: "r-{payload.n}-x", run }));
    await handlerWhen("report", ({ declaredAt }) => declaredAt !== null);
    const target = { handler: "report" };
    await jobWhen({ target, payload: { n: 0 } }, (sec) => sec === 6);
    const answers = await client.submitBatch([
      { target, payload: { n: 1 }, delayMs: 3_600_000 },
      { target, payload: {}, delayMs: 3_600_000 },
      { target, payload: { n: "two" }, delayMs: 3_600_000, timeoutSec: 1 },
    ]);
    const ids = answers.map((one) => ("jobId" in one ? one.jobId : ""));
    const missing = answers[1];
    assert.ok(missing !== undefined && "error" in missing);
    assert.match(
      missing.error.detail ?? "",
      /^uniqueKey: is missing: the task "report" declares "r-\{payload\.n\}-x", which needs payload\.n/,
    );
    assert.equal((await client.getJob(ids[0] ?? "")).uniqueKey, "r-1-x");
    assert.deepEqual(
      [(await client.getJob(ids[2] ?? "")).uniqueKey, (await client.getJob(ids[2] ?? "")).timeoutSec],
      ["r-two-x", 1],
    );

    const put = await client.jobs.upsert("nightly", { target, payload: { n: 3 }, schedule: "0 3 * * *" });
    assert.equal((await client.getJob(put.jobId)).timeoutSec, 6);
    const again = await client.jobs.upsert("nightly", { target, payload: { n: 3 }, schedule: "0 3 * * *" });
    assert.deepEqual([again.jobId, again.changed], [put.jobId, false]);
    await client.replaceJob(ids[2] ?? "", { target, payload: { n: 4 }, delayMs: 3_600_000 });
    const replaced = await client.getJob(ids[2] ?? "");
    assert.deepEqual([replaced.uniqueKey, replaced.timeoutSec, replaced.payload], ["r-two-x", 6, { n: 4 }]);
  });

  it("leave a job the keys that it was submitted with, when the job is put again", async () => {
    const request = { target: { handler: "rekeyed" }, payload: { n: 1 }, everySec: 3_600 } as const;
    const { jobId } = await client.jobs.upsert("rekeyed", request);
    const keys = { concurrencyKey: "c-{payload.n}", concurrencyLimit: 3, uniqueKey: "u-{payload.n}" };
    await work(task({ name: "rekeyed", timeoutSec: 5, ...keys, run }));
    await jobWhen({ target: request.target, payload: { n: 0 } }, (sec) => sec === 5);
    const put = await client.jobs.upsert("rekeyed", request);
    const job = await client.getJob(jobId);
    assert.deepEqual([put.jobId, job.timeoutSec, job.concurrencyKey, job.uniqueKey], [jobId, 5, null, null]);
    assert.equal((await client.jobs.upsert("rekeyed", request)).changed, false);
    await assert.rejects(client.jobs.upsert("rekeyed", { ...request, uniqueKey: "own" }), /uniqueKey: cannot change/);
  });

  it("answer a repeat of a submit as the first one, whatever a task has declared since", async () => {
    const request = { target: { handler: "late" }, payload: {}, delayMs: 3_600_000 };
    const first = await client.submit(request, { idempotencyKey: "late" });
    const [item] = await client.submitBatch([request], { idempotencyKey: "late-batch" });
    await work(task({ name: "late", timeoutSec: 5, concurrencyKey: "{payload.id}", run }));
    await jobWhen({ target: request.target, payload: { id: 1 } }, (sec) => sec === 5);
    await assert.rejects(client.submit(request), { code: "BAD_REQUEST", message: /needs payload\.id: send it/ });
    assert.equal((await client.submit(request, { idempotencyKey: "late" })).jobId, first.jobId);
    const [again] = await client.submitBatch([request], { idempotencyKey: "late-batch" });
    assert.deepEqual(
      [item && "jobId" in item, again && "jobId" in again && again.jobId],
      [true, item && "jobId" in item && item.jobId],
    );
  });

  it("of the worker that started last hold, and others are shown as contradictions", async () => {
    const declares = (timeoutSec: number) => task({ name: "twice", timeoutSec, run });
    const first = await work(declares(1));
    await handlerWhen("twice", ({ policies }) => policies.timeoutSec === 1);
    await work(declares(2));
    const shown = await handlerWhen("twice", ({ policies }) => policies.timeoutSec === 2);
    assert.equal(shown.workers, 2);
    assert.deepEqual(shown.contradictions, [{ policies: { timeoutSec: 1 }, home: false, workers: 1 }]);
    await first.stop();
    await handlerWhen("twice", ({ contradictions, workers: count }) => contradictions.length === 0 && count === 1);
    await work(task({ name: "twice", run }));
    const none = await handlerWhen("twice", ({ policies }) => policies.timeoutSec === undefined);
    assert.deepEqual(none.contradictions, [{ policies: { timeoutSec: 2 }, home: false, workers: 1 }]);
  });

  it("move with their task to another pool", async () => {
    const inPool = (pool: string) => task({ name: "mover", pool, timeoutSec: 5, run });
    await work(inPool("one"));
    await handlerWhen("mover", ({ pool, home }) => pool === "one" && home);
    await work(inPool("two"));
    await handlerWhen("mover", ({ pool, home }) => pool === "two" && home);
    const { target } = await jobWhen({ target: { handler: "mover" } }, (sec) => sec === 5);
    assert.equal(target.pool, "two");
  });

  it("outlive the worker and the server", async () => {
    const worker = await work(task({ name: "kept", timeoutSec: 4, run }));
    await handlerWhen("kept", ({ declaredAt }) => declaredAt !== null);
    await worker.stop();
    node = await node.restart();
    client = node.client;
    const shown = await handlerWhen("kept", () => true);
    assert.deepEqual([shown.policies, shown.workers], [{ timeoutSec: 4 }, 0]);
    const { jobId } = await client.submit({ target: { handler: "kept" }, delayMs: 3_600_000 });
    assert.equal((await client.getJob(jobId)).timeoutSec, 4);
  });

  it("that cannot hold are refused with a sentence, and fields of a newer SDK are left out", async () => {
    const forged = (policies: string) => ({ ...task({ name: "forged", run }), policies });
    const refusals: [string, RegExp][] = [
      ['{"timeoutSec":-1}', /the task "forged": timeoutSec must be at least 0\.001/],
      [
        '{"uniqueKey":"{payload}"}',
        /the task "forged": uniqueKey has the placeholder \{payload\}: write \{payload\.field\}/,
      ],
      ['{"retryPolicy":{"maxAttempts":0}}', /the task "forged": retryPolicy\.maxAttempts must be at least 1/],
      ['{"pool":"other"}', /the task "forged": pool is "other", and its worker serves "default"/],
      ["[]", /the task "forged": its policies are no JSON object/],
    ];
    for (const [policies, message] of refusals) {
      await assert.rejects(work(forged(policies)), { code: "WORKER_REFUSED", message });
      await workers.pop()?.closed.catch(() => undefined);
    }
    await work(forged('{"timeoutSec":3,"colour":"red","retryPolicy":{"maxAttempts":2,"mood":1}}'));
    const shown = await handlerWhen("forged", ({ declaredAt }) => declaredAt !== null);
    assert.deepEqual(shown.policies, { retryPolicy: { maxAttempts: 2 }, timeoutSec: 3 });
  });
});

describe("a job that no worker can run now", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  it("is taken with a warning, and explain names the pools that have the handler", async () => {
    const nobody = await client.submit({ target: { handler: "echo", pool: "nobody" } });
    assert.deepEqual(nobody.warnings, [
      'no worker serves the pool "nobody" now: the job waits until one does; workers of the pool "default" offer the handler',
    ]);
    const { warnings } = await client.submit({ target: { handler: "ecco" } });
    assert.deepEqual(warnings, [
      'no worker of the pool "default" offers the handler "ecco" now: the job waits until one does',
    ]);
    assert.equal((await client.submit({ target: { handler: "echo" } })).warnings, undefined);
    for (;;) {
      const { reasons } = await client.explain(nobody.executionId);
      const reason = reasons.find((one) => one.reason === "NO_WORKER_FOR_HANDLER");
      if (reason === undefined) continue;
      assert.deepEqual([reason.handler, reason.workersInPool, reason.offeredIn], ["echo", 0, ["default"]]);
      break;
    }
  });

  it("is told of once in the answer to a batch, and in the answer to a change", async () => {
    const target = { handler: "echo", pool: "empty" };
    const answers = await client.submitBatch([{ target }, { target }, { target: { handler: "echo" } }]);
    const warned = answers.map((one) => ("warnings" in one ? one.warnings?.length : 0) ?? 0);
    assert.deepEqual(warned, [1, 0, 0]);
    const put = await client.jobs.upsert("unserved", { target, everySec: 60 });
    assert.match(put.warnings?.[0] ?? "", /no worker serves the pool "empty" now/);
  });
});
