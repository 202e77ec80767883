import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AttemptAborted, TerminalError, task } from "@mainspring/sdk";
import { type NotReached, simulate } from "./index.ts";

const MIDNIGHT = "2026-03-01T00:00:00Z";
const DAY_MS = 86_400_000;

/** A sign-up that an operator approves, and that is followed up three days later. */
const signUp = task({
  name: "sign-up",
  run: async ({ to }: { to: string }, { step }) => {
    const number = await step.run("number", () => `${to}-1`);
    const decision = await step.waitForSignal<{ by: string }>(["approved", "rejected"], { timeoutMs: 7 * DAY_MS });
    if (decision === null) return `${number}: nobody decided`;
    await step.sleep("three days", { days: 3 });
    return `${number}: ${decision.name} by ${decision.data.by}`;
  },
});

describe("a simulated handler that waits", () => {
  it("sleeps for days without a slot, and goes on to the millisecond", async () => {
    const seen: unknown[] = [];
    const nap = task({
      name: "nap",
      run: async (_: null, { step, attempt }) => {
        await step.run("mail", () => seen.push(`mail in attempt ${attempt}`));
        await step.sleep("a", { days: 3 });
        await step.sleepUntil("b", new Date("2026-03-10T09:00:00Z"));
        seen.push(`awake at ${m.clock.now().toISOString()}`);
        return attempt;
      },
    });
    const quick = task({ name: "quick", run: () => "done" });
    await using m = await simulate({ tasks: [nap, quick], slots: 1, startAt: MIDNIGHT });
    const job = await nap.submit(m.client, null);
    await m.clock.advance("1 min");
    assert.equal((await m.waitFor(await quick.submit(m.client, null))).result, "done");
    const waiting = await job.get();
    assert.deepEqual([waiting.state, waiting.reason, waiting.failures], ["PENDING", "SLEEPING", 0]);
    assert.equal(m.enqueued(nap).length, 1);
    const execution = await m.waitFor(job, "SUCCEEDED", { within: "2 weeks" });
    assert.equal(execution.result, 3);
    assert.deepEqual(
      execution.attempts.map(({ state }) => state),
      ["SUSPENDED", "SUSPENDED", "SUCCEEDED"],
    );
    assert.deepEqual(seen, ["mail in attempt 1", "awake at 2026-03-10T09:00:00.000Z"]);
    assert.deepEqual(m.failures, []);
  });

  it("ends with its lifetime, asleep or without a worker, and a retry has a lifetime of its own", async () => {
    const nap = task({
      name: "nap",
      maxLifetimeSec: 7 * 86_400,
      run: (_: null, { step }) => step.sleep("a month", { days: 30 }),
    });
    await using m = await simulate({ tasks: [nap], startAt: MIDNIGHT });
    const job = await nap.submit(m.client, null);
    const stranded = await m.client.submit({ target: { handler: "nobody" }, delayMs: DAY_MS, maxLifetimeSec: 60 });
    await m.clock.advance("6 days");
    assert.deepEqual([(await job.get()).reason, m.enqueued(nap).length], ["SLEEPING", 1]);
    const reasons = (await m.client.explain(job.executionId)).reasons.map(({ reason }) => reason);
    assert.deepEqual(reasons, ["SLEEPING", "LIFETIME_ENDS"]);
    const dead = await m.waitFor(job, "DEAD", { within: "2 days" });
    assert.deepEqual([dead.reason, dead.error?.name, dead.attempt], ["LIFETIME_EXCEEDED", "LifetimeExceeded", 1]);
    assert.equal(dead.finishedAt?.slice(0, 19), "2026-03-08T00:00:00");
    const other = await m.client.getExecution(stranded.executionId);
    assert.deepEqual([other.reason, other.finishedAt], ["LIFETIME_EXCEEDED", "2026-03-02T00:01:00.000Z"]);

    const again = await m.client.retryExecution(job.executionId, { keepSteps: true });
    const { finishedAt } = await m.waitFor(again, "DEAD", { within: "8 days" });
    assert.equal(finishedAt?.slice(0, 16), "2026-03-15T00:00");
  });

  it("goes on when a signal comes, and with the time that is left", async () => {
    await using m = await simulate({ tasks: [signUp], startAt: MIDNIGHT });
    const job = await signUp.submit(m.client, { to: "ada" });
    await m.clock.advance("2 days");
    const { waits, signals } = await m.client.getExecutionSteps(job.executionId);
    assert.deepEqual(
      waits.map(({ name, signals }) => [name, signals]),
      [["approved|rejected", ["approved", "rejected"]]],
    );
    assert.deepEqual(signals, []);
    const sent = await m.signal(job, "approved", { by: "eve" }, { id: "s-1" });
    assert.deepEqual([sent.signalId, sent.name, sent.isRepeated], ["s-1", "approved", false]);
    assert.equal((await m.signal(job.executionId, "approved", { by: "eve" }, { id: "s-1" })).isRepeated, true);
    await m.clock.advance("1 min");
    assert.equal((await job.get()).reason, "SLEEPING");
    const { result, finishedAt } = await m.waitFor(job, "SUCCEEDED", { within: "4 days" });
    assert.equal(result, "ada-1: approved by eve");
    assert.match(finishedAt ?? "", /^2026-03-06T00:00:0/);
  });

  it("gets signals that came before it waited, and none twice", async () => {
    const gate = Promise.withResolvers<void>();
    const queue = task({
      name: "queue",
      run: async (_: null, { step }) => {
        await step.run("gate", () => gate.promise);
        const first = await step.waitForSignal<number>("item", { name: "first" });
        const second = await step.waitForSignal<number>("item", { name: "second", timeoutMs: DAY_MS });
        const third = await step.waitForSignal<number>("item", { name: "third", timeoutMs: DAY_MS });
        return [first?.data, second?.data, third];
      },
    });
    await using m = await simulate({ tasks: [queue] });
    const job = await queue.submit(m.client, null);
    await m.signal(job, "item", 1);
    await m.waitFor(job, "RUNNING");
    await m.signal(job, "item", 2);
    gate.resolve();
    assert.deepEqual((await m.waitFor(job, "SUCCEEDED", { within: "2 days" })).result, [1, 2, null]);
  });

  it("goes on without a signal when its time is over", async () => {
    await using m = await simulate({ tasks: [signUp], startAt: MIDNIGHT });
    const job = await signUp.submit(m.client, { to: "ada" });
    const { result, finishedAt } = await m.waitFor(job, "SUCCEEDED", { within: "8 days" });
    assert.equal(result, "ada-1: nobody decided");
    assert.match(finishedAt ?? "", /^2026-03-08T00:00:0/);
  });

  it("can be cancelled while it sleeps", async () => {
    await using m = await simulate({ tasks: [signUp] });
    const job = await signUp.submit(m.client, { to: "ada" });
    await m.clock.advance("1 day");
    assert.equal(await job.cancel(), "CANCELLED");
    await assert.rejects(m.signal(job, "approved"), { code: "CONFLICT" });
  });

  it("keeps its failures apart from its suspensions", async () => {
    const flaky = task({
      name: "flaky",
      retry: { maxAttempts: 2, initialDelayMs: 60_000, jitter: false },
      run: async (_: null, { step, failures }) => {
        await step.sleep("a", { hours: 1 });
        if (failures === 0) throw new Error("once more");
        await step.sleep("b", { hours: 1 });
        throw new TerminalError("never");
      },
    });
    await using m = await simulate({ tasks: [flaky] });
    const dead = await m.waitFor(await flaky.submit(m.client, null), "DEAD");
    assert.deepEqual(
      dead.attempts.map(({ state }) => state),
      ["SUSPENDED", "FAILED", "SUSPENDED", "FAILED"],
    );
    assert.deepEqual(
      m.failures.map(({ error }) => (error as Error).message),
      ["once more", "never"],
    );
  });

  it("waits in place for a short time, to the millisecond", async () => {
    const short = task({
      name: "short",
      run: async (_: null, { step }) => {
        const before = m.clock.now().getTime();
        await step.sleep("a", 4_000);
        return m.clock.now().getTime() - before;
      },
    });
    await using m = await simulate({ tasks: [short] });
    const { result, attempt } = await m.waitFor(await short.submit(m.client, null));
    assert.deepEqual([result, attempt], [4_000, 1]);
  });

  it("runs isolated too", async () => {
    const module = new URL("./isolated.fixture.ts", import.meta.url);
    const apart = task<null, string>({ name: "apart", isolate: { in: "thread", module, export: "waits" } });
    await using m = await simulate({ tasks: [apart] });
    const job = await apart.submit(m.client, null);
    await m.clock.advance("2 hours");
    assert.equal((await job.get()).reason, "AWAITS_SIGNAL");
    const { steps } = await m.client.getExecutionSteps(job.executionId);
    assert.deepEqual(
      steps.map(({ name }) => name),
      ["one", "two"],
    );
    await m.signal(job, "go", 7);
    assert.equal((await m.waitFor(job)).result, "1 2 7");
  });

  it("goes on with its steps, its checkpoint and its signals where a final execution runs again and keeps them", async () => {
    const ran: unknown[] = [];
    let isMended = false;
    const order = task({
      name: "order",
      retry: { maxAttempts: 1 },
      run: async (_: null, ctx) => {
        await ctx.step.run("charge", () => void ran.push("charge"));
        ran.push(ctx.checkpoint.last);
        await ctx.checkpoint({ row: 7 });
        if (!isMended) throw new Error("the parcel service does not answer");
        return (await ctx.step.waitForSignal("shipped"))?.data;
      },
    });
    await using m = await simulate({ tasks: [order] });
    const job = await order.submit(m.client, null);
    await m.signal(job, "shipped", "today");
    await m.waitFor(job, "DEAD");
    isMended = true;
    const again = await m.client.retryExecution(job.executionId, { keepSteps: true });
    assert.equal((await m.waitFor(again)).result, "today");
    assert.deepEqual(ran, ["charge", undefined, { row: 7 }]);
    isMended = false;
    await m.waitFor(await m.client.retryExecution(again), "DEAD");
    assert.deepEqual(ran.slice(3), ["charge", undefined]);
  });

  it("tells a test what it waits for", async () => {
    await using m = await simulate({ tasks: [signUp], startAt: MIDNIGHT });
    const job = await signUp.submit(m.client, { to: "ada" });
    const [{ reason }] = (await Promise.allSettled([m.waitFor(job)])) as [PromiseRejectedResult];
    const said = (reason as NotReached).message.split("\n").at(-1)?.trim();
    assert.match(
      said ?? "",
      /^its handler waits for a signal \("approved", "rejected"\) until 2026-03-08T00:00:0\S+Z: a test sends one with signal\(job, name\)$/,
    );
  });

  it("ends no test by a step that nobody awaits", async () => {
    const reasons: unknown[] = [];
    const drops = task({
      name: "drops",
      run: async (_: null, { step }) => {
        void step.sleep("", 1);
        void step.run("fails", () => Promise.reject(new Error("nobody listens")));
        await step.sleep("a", { days: 1 }).catch((error: unknown) => {
          reasons.push((error as AttemptAborted).reason);
          throw error;
        });
      },
    });
    await using m = await simulate({ tasks: [drops] });
    const job = await drops.submit(m.client, null);
    await m.waitFor(job, "SUCCEEDED", { within: "2 days" });
    assert.deepEqual(reasons, ["SUSPENDED"]);
  });
});
