import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MainspringError, type TaskContext, TerminalError, task } from "@mainspring/sdk";
import { type NotReached, simulate } from "./index.ts";

const MIDNIGHT = "2026-03-01T00:00:00Z";

interface Mail {
  to: string;
}
/** Error with which a promise rejects. */
async function errorOf<E extends Error>(promise: Promise<unknown>): Promise<E> {
  const [{ status, reason }] = (await Promise.allSettled([promise])) as [PromiseRejectedResult];
  assert.equal(status, "rejected");
  return reason as E;
}

const mail = task({ name: "mail", run: ({ to }: Mail) => `sent to ${to}` });

describe("a simulated Mainspring", () => {
  it("starts nothing while its clock stands, and lists what waits", async () => {
    await using m = await simulate({ tasks: [mail], startAt: MIDNIGHT });
    await mail.submit(m.client, { to: "ada" });
    await mail.submit(m.client, { to: "bob" }, { delayMs: 60_000, priority: "HIGH", labels: { kind: "news" } });
    const [ada, bob] = m.enqueued(mail);
    assert.deepEqual(ada?.payload, { to: "ada" });
    assert.deepEqual(bob?.payload, { to: "bob" });
    assert.deepEqual([bob?.priority, bob?.dueAt.toISOString()], [7, "2026-03-01T00:01:00.000Z"]);
    assert.deepEqual(bob?.labels, { kind: "news" });
    await m.clock.advance("1s");
    assert.deepEqual(
      m.enqueued(mail).map(({ payload }) => payload),
      [{ to: "bob" }],
    );
    await m.clock.advance("1 min");
    assert.deepEqual(m.enqueued("mail"), []);
  });

  it("retries by the job's policy, to the millisecond", async () => {
    const startedAt: number[] = [];
    const flaky = task({
      name: "flaky",
      retry: { maxAttempts: 4, backoff: "EXPONENTIAL", initialDelayMs: 10_000, jitter: false },
      run: (_: null, ctx) => {
        startedAt.push(m.clock.now().getTime());
        if (ctx.failures < 3) throw new Error(`failure ${ctx.failures + 1}`);
        return "at last";
      },
    });
    await using m = await simulate({ tasks: [flaky] });
    const execution = await m.waitFor(await flaky.submit(m.client, null));
    assert.equal(execution.result, "at last");
    const [first = 0] = startedAt;
    assert.deepEqual(
      startedAt.map((at) => at - first),
      [0, 10_000, 30_000, 70_000],
    );
    assert.deepEqual(
      m.failures.map(({ task, attempt, error }) => `${task} ${attempt}: ${(error as Error).message}`),
      ["flaky 1: failure 1", "flaky 2: failure 2", "flaky 3: failure 3"],
    );
  });

  it("keeps what handlers log, of each attempt", async () => {
    const talks = task({
      name: "talks",
      retry: { maxAttempts: 2, initialDelayMs: 60_000, jitter: false },
      run: (_: null, ctx) => {
        ctx.log(`attempt ${ctx.attempt}`);
        if (ctx.attempt === 1) throw new Error("once more");
      },
    });
    await using m = await simulate({ tasks: [talks], startAt: MIDNIGHT });
    const { executionId } = await m.waitFor(await talks.submit(m.client, null));
    const linesOf = async (attempt?: number) => {
      const { lines } = await m.client.getLogs(executionId, attempt === undefined ? {} : { attempt });
      return lines.map(({ line }) => line);
    };
    assert.deepEqual([await linesOf(1), await linesOf()], [["attempt 1"], ["attempt 2"]]);
    await m.clock.advance("3 days");
    assert.deepEqual([await linesOf(1), await linesOf(2)], [["attempt 1"], ["attempt 2"]]);
  });

  it("runs what is delayed when it is due, however far that is, and not before", async () => {
    await using m = await simulate({ tasks: [mail], startAt: MIDNIGHT });
    const later = await mail.submit(m.client, { to: "ada" }, { runAt: "2026-03-08T09:00:00Z" });
    await m.clock.advance("7 days 8h 59min 59s");
    assert.equal((await later.get()).state, "PENDING");
    await m.clock.advance("2s");
    const execution = await later.get();
    assert.deepEqual([execution.state, execution.latenessMs], ["SUCCEEDED", 0]);
    assert.equal(execution.startedAt, "2026-03-08T09:00:00.000Z");
  });

  it("takes the greater priority first", async () => {
    const order: string[] = [];
    const note = task({ name: "note", run: (name: string) => void order.push(name) });
    await using m = await simulate({ tasks: [note], slots: 1 });
    // The server learns of all jobs of one batch at once.
    await m.client.submitBatch([
      await note.job("low", { priority: "LOW" }),
      await note.job("normal"),
      await note.job("critical", { priority: "CRITICAL" }),
    ]);
    await m.clock.advance("1s");
    assert.deepEqual(order, ["critical", "normal", "low"]);
  });

  it("keeps to the limit of a concurrency key", async () => {
    let running = 0;
    let most = 0;
    const importOne = task({
      name: "import",
      run: async (_: number, ctx) => {
        most = Math.max(most, ++running);
        await ctx.sleep(10_000);
        running--;
      },
    });
    await using m = await simulate({ tasks: [importOne] });
    const limit = { concurrencyKey: "acme", concurrencyLimit: 2 };
    for (let i = 0; i < 5; i++) await importOne.submit(m.client, i, limit);
    await m.clock.advance("15s");
    assert.deepEqual([running, m.enqueued(importOne).length], [2, 1]);
    await m.clock.advance("16s");
    assert.deepEqual([running, most, m.enqueued(importOne).length], [0, 2, 0]);
  });

  it("knows unique and idempotency keys", async () => {
    await using m = await simulate({ tasks: [mail] });
    const first = await mail.submit(m.client, { to: "ada" }, { uniqueKey: "welcome:ada" });
    const second = await mail.submit(m.client, { to: "ada" }, { uniqueKey: "welcome:ada" });
    assert.deepEqual([second.executionId, second.deduplicated], [first.executionId, true]);
    const third = await mail.submit(m.client, { to: "bob" }, { idempotencyKey: "order-1" });
    const again = await mail.submit(m.client, { to: "bob" }, { idempotencyKey: "order-1" });
    assert.equal(again.executionId, third.executionId);
    await assert.rejects(mail.submit(m.client, { to: "eve" }, { idempotencyKey: "order-1" }), { code: "KEY_REUSED" });
    assert.equal(m.enqueued(mail).length, 2);
  });

  it("refuses what production refuses, in the same words", async () => {
    await using m = await simulate({ tasks: [mail] });
    const submit = mail.submit(m.client, { to: "ada" }, { priority: 11, delayMs: -1 });
    const error = await errorOf<MainspringError>(submit);
    assert.equal(error.code, "BAD_REQUEST");
    assert.deepEqual(error.errors.map(({ field }) => field).sort(), ["delayMs", "priority"]);
    await assert.rejects(m.client.getExecution("01900000-0000-7000-8000-000000000000"), { code: "NOT_FOUND" });
    assert.deepEqual(m.enqueued(mail), []);
  });

  it("gives up a handler at its timeout", async () => {
    let reason: unknown = null;
    const stuck = task({
      name: "stuck",
      retry: { maxAttempts: 2, initialDelayMs: 0 },
      run: async (_: null, ctx) => {
        await ctx.sleep(3_600_000).catch((error) => {
          reason = error.reason;
          throw error;
        });
      },
    });
    await using m = await simulate({ tasks: [stuck] });
    const dead = await m.waitFor(await stuck.submit(m.client, null, { timeoutSec: 30 }), "DEAD");
    assert.deepEqual(
      dead.attempts.map(({ state }) => state),
      ["TIMED_OUT", "TIMED_OUT"],
    );
    assert.equal(reason, "TIMED_OUT");
    const tookMs = Date.parse(dead.finishedAt ?? "") - Date.parse(dead.createdAt);
    assert.ok(tookMs > 59_990 && tookMs < 62_000, `${tookMs} ms`);
  });

  it("cancels what waits at once, and what runs by its signal", async () => {
    let seen: TaskContext | null = null;
    const long = task({
      name: "long",
      run: async (_: null, ctx) => {
        seen = ctx;
        await ctx.sleep(60_000);
      },
    });
    await using m = await simulate({ tasks: [long] });
    const waiting = await long.submit(m.client, null);
    assert.equal(await waiting.cancel(), "CANCELLED");
    const running = await long.submit(m.client, null);
    await m.waitFor(running, "RUNNING");
    assert.equal(await running.cancel(), "REQUESTED");
    assert.equal((await m.waitFor(running, "CANCELLED")).attempts.length, 1);
    assert.equal((seen as TaskContext | null)?.signal.aborted, true);
    await assert.rejects(m.waitFor(waiting), /expected SUCCEEDED after 0 ms of simulated time, but long .* CANCELLED/);
  });

  it("lets time pass for code that waits for a result, also for a handler that does", async () => {
    const child = task({ name: "child", run: async (n: number, ctx) => ctx.sleep(90_000).then(() => n + 1) });
    const parent = task({
      name: "parent",
      run: async (n: number) => (await child.submit(m.client, n)).result(),
    });
    await using m = await simulate({ tasks: [parent, child], startAt: MIDNIGHT });
    assert.equal(await (await parent.submit(m.client, 1)).result(), 2);
    assert.equal(m.clock.now().toISOString().slice(0, 16), "2026-03-01T00:01");
  });

  it("skips what nobody does anything in, also while handlers sleep", async () => {
    const stages: string[] = [];
    const trial = task({
      name: "trial",
      run: async (_: null, ctx) => {
        for (const days of [14, 28]) {
          await ctx.sleep(14 * 86_400_000);
          stages.push(`${days} days: ${m.clock.now().toISOString()}`);
        }
      },
    });
    await using m = await simulate({ tasks: [trial], startAt: MIDNIGHT });
    const job = await trial.submit(m.client, null, { timeoutSec: 86_400 * 29 });
    await m.clock.advance("29 days");
    assert.deepEqual(
      stages.map((stage) => stage.slice(0, 25)),
      ["14 days: 2026-03-15T00:00", "28 days: 2026-03-29T00:00"],
    );
    assert.deepEqual(
      (await job.get()).attempts.map(({ state }) => state),
      ["SUCCEEDED"],
    );
  });

  it("bears waits that go on side by side", async () => {
    const nap = task({ name: "nap", run: async (ms: number, ctx) => ctx.sleep(ms).then(() => ms) });
    await using m = await simulate({ tasks: [nap] });
    const jobs = await Promise.all([3_000, 1_000, 2_000].map((ms) => nap.submit(m.client, ms)));
    const [waited, results] = await Promise.all([
      Promise.all(jobs.map((job) => m.waitFor(job))),
      Promise.all(jobs.map((job) => job.result())),
      m.clock.advance("10s"),
    ]);
    assert.deepEqual(results, [3_000, 1_000, 2_000]);
    assert.deepEqual(
      waited.map(({ result }) => result),
      results,
    );
  });

  it("runs while the test has put other timers into the platform's place", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.UTC(2026, 2, 1) });
    await using m = await simulate({ tasks: [mail] });
    assert.equal(m.clock.now().toISOString(), "2026-03-01T00:00:00.000Z");
    const job = await mail.submit(m.client, { to: "ada" }, { delayMs: 1_000 });
    assert.equal((await m.waitFor(job)).result, "sent to ada");
  });

  it("serves pools and capabilities that it is told of", async () => {
    await using m = await simulate({ tasks: [mail], pools: ["default", "bulk"], capabilities: ["smtp"] });
    const job = await mail.submit(m.client, { to: "ada" }, { pool: "bulk", requires: ["smtp"] });
    assert.equal((await m.waitFor(job)).pool, "bulk");
  });

  it("serves the pools that tasks name, and goes by their policies for jobs that leave them out", async () => {
    const bulk = task({ name: "bulk", pool: "bulk", timeoutSec: 5, run: () => "sent" });
    await using m = await simulate({ tasks: [mail, bulk] });
    const { jobId, executionId } = await m.client.submit({ target: { handler: "bulk" } });
    const { target, timeoutSec } = await m.client.getJob(jobId);
    assert.deepEqual([target.pool, timeoutSec], ["bulk", 5]);
    assert.equal((await m.waitFor(executionId)).result, "sent");
    const { value } = await m.client.handlers.list({ handler: "bulk" }).next();
    assert.deepEqual(value && [value.pool, value.home, value.workers], ["bulk", true, 1]);
  });

  it("does the same from the same start, jitter included", async () => {
    const times = async () => {
      const flaky = task({ name: "flaky", run: () => Promise.reject(new Error("no")) });
      await using m = await simulate({ tasks: [flaky], startAt: MIDNIGHT });
      const dead = await m.waitFor(await flaky.submit(m.client, null), "DEAD");
      return dead.attempts.map(({ startedAt }) => startedAt);
    };
    const first = await times();
    assert.equal(first.length, 5);
    assert.deepEqual(await times(), first);
  });

  it("aborts what still runs when it is stopped, and stops once", async () => {
    const signals: AbortSignal[] = [];
    const long = task({
      name: "long",
      run: async (_: null, ctx) => {
        signals.push(ctx.signal);
        await ctx.sleep(60_000);
      },
    });
    const m = await simulate({ tasks: [long] });
    await m.waitFor(await long.submit(m.client, null), "RUNNING");
    await m.stop();
    await m.stop();
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true],
    );
  });

  it("says what is wrong with its options", async () => {
    await assert.rejects(simulate({ startAt: "2026-03-01T00:00:00" }), /startAt: must be .* with a zone/);
    await assert.rejects(simulate({ tasks: [mail], slots: 0 }), /slots: must be a whole number from 1 to 10000/);
    await using m = await simulate();
    await assert.rejects(m.clock.advance("3 dayz"), /advance: must be .*"3 days".* not "3 dayz"/);
    await assert.rejects(m.clock.advance(-1), MainspringError);
    await assert.rejects(m.waitFor("01900000-0000-7000-8000-000000000000"), { code: "NOT_FOUND" });
  });
});

describe("an execution that does not get where it was expected", () => {
  it("tells its attempts and their errors", async () => {
    const charge = task({
      name: "charge",
      run: (_: null, ctx) => {
        if (ctx.failures === 0) throw new Error("the bank does not answer");
        throw new TerminalError("card declined");
      },
    });
    await using m = await simulate({ tasks: [charge], startAt: MIDNIGHT });
    const job = await charge.submit(m.client, null);
    const error = await errorOf<NotReached>(m.waitFor(job));
    assert.match(error.message, /^expected SUCCEEDED after .* but charge \(execution \S+\) is DEAD, 2 of 5 failures\n/);
    assert.match(
      error.message,
      /\n {2}attempt 1 ended FAILED at 2026-03-01T00:00:00\S+Z: Error: the bank does not answer\n/,
    );
    assert.match(error.message, /\n {2}attempt 2 ended FAILED at \S+: TerminalError: card declined/);
    assert.equal(error.execution.state, "DEAD");
  });

  it("tells why it waits", async () => {
    const long = task({ name: "long", run: async (_: null, ctx) => ctx.sleep(600_000) });
    await using m = await simulate({ tasks: [mail, long], slots: 2 });
    const why = async (job: { executionId: string }) => {
      const wait = m.waitFor(job.executionId, "SUCCEEDED", { within: "1s" });
      return (await errorOf(wait)).message.split("\n").at(-1)?.trim();
    };
    const key = { concurrencyKey: "acme" };
    const first = await long.submit(m.client, null, key);
    assert.equal(await why(first), "its handler has not ended; its time is 1 h");
    const second = await long.submit(m.client, null, key);
    assert.equal(await why(second), `its concurrency key "acme" is at its limit of 1: ${first.executionId} runs`);
    assert.match(
      String(await why(await mail.submit(m.client, { to: "a" }, { delayMs: 90_500 }))),
      /^it is due in 1 min 29 s/,
    );
    assert.match(
      String(await why(await mail.submit(m.client, { to: "a" }, { pool: "bulk" }))),
      /serves the pool "bulk"/,
    );
    assert.match(
      String(await why(await mail.submit(m.client, { to: "a" }, { requires: ["gpu"] }))),
      /no worker has "gpu"/,
    );
    const unknown = await m.client.submit({ target: { handler: "unknown" } });
    assert.match(String(await why(unknown)), /no worker has the handler "unknown".* "mail", "long"/);
    await long.submit(m.client, null);
    assert.match(String(await why(await mail.submit(m.client, { to: "a" }))), /one of its 2 slots/);
  });

  it("tells it also to code that waits for a result, at once where nothing is left that could bring one", async () => {
    await using m = await simulate();
    const job = await mail.submit(m.client, { to: "ada" });
    const message = /nothing came of waiting for 3 s of simulated time: .*no worker has the handler "mail"/s;
    await assert.rejects(job.result(), { code: "INTERNAL", message });
  });

  it("tells it after a day where other things are still to come", async () => {
    await using m = await simulate();
    await mail.submit(m.client, { to: "bob" }, { delayMs: 30 * 86_400_000 });
    const job = await mail.submit(m.client, { to: "ada" });
    await assert.rejects(job.result(), { code: "INTERNAL", message: /nothing came of waiting for 1 d/ });
  });
});
