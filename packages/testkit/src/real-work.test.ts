import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import { task } from "@mainspring/sdk";
import { simulate } from "./index.ts";
import { realTime } from "./real-time.ts";

describe("the clock, while handlers do something real,", () => {
  it("waits for a file", async () => {
    const read = task({ name: "read", run: async () => (await readFile(import.meta.filename)).length });
    await using m = await simulate({ tasks: [read] });
    const job = await read.submit(m.client, null, { timeoutSec: 1 });
    await m.clock.advance("2 days");
    assert.equal((await job.get()).state, "SUCCEEDED");
  });

  it("waits for a server, over a connection that was open before too", async (t) => {
    const server = createServer((_, response) => void realTime.pause(50).then(() => response.end("hello")));
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const ask = task({ name: "ask", run: async () => (await fetch(`http://127.0.0.1:${port}`)).text() });
    await using m = await simulate({ tasks: [ask] });
    for (let i = 0; i < 3; i++) {
      const job = await ask.submit(m.client, null, { timeoutSec: 1, retryPolicy: { maxAttempts: 1 } });
      await m.clock.advance("2 days");
      assert.equal((await job.get()).state, "SUCCEEDED");
    }
  });

  it("waits for a timer of the platform", async () => {
    const slow = task({ name: "slow", run: async () => realTime.pause(300) });
    await using m = await simulate({ tasks: [slow] });
    const job = await slow.submit(m.client, null, { timeoutSec: 1 });
    await m.waitFor(job);
    assert.equal((await job.get()).attempts.length, 1);
  });

  it("waits for a handler in a thread or process of its own", async () => {
    const module = new URL("./isolated.fixture.ts", import.meta.url);
    const thread = task<{ n: number }, number>({ name: "thread", isolate: { in: "thread", module } });
    const child = task<{ n: number }, number>({ name: "child", isolate: { in: "process", module } });
    await using m = await simulate({ tasks: [thread, child] });
    for (const doubling of [thread, child]) {
      const job = await doubling.submit(m.client, { n: 21 }, { timeoutSec: 1 });
      await m.clock.advance("1 hour");
      const { result, attempts } = await job.get();
      assert.deepEqual([result, attempts.length], [42, 1]);
    }
  });

  it("goes on where only the test can end the handler", async () => {
    const gate = Promise.withResolvers<string>();
    const held = task({ name: "held", run: () => gate.promise });
    await using m = await simulate({ tasks: [held] });
    const job = await held.submit(m.client, null);
    await m.clock.advance("10 min");
    assert.equal((await job.get()).state, "RUNNING");
    gate.resolve("released");
    assert.equal((await m.waitFor(job)).result, "released");
  });

  it("goes on to the timeout of a handler that never ends", async () => {
    const stuck = task({ name: "stuck", run: () => new Promise<never>(() => undefined) });
    await using m = await simulate({ tasks: [stuck] });
    const job = await stuck.submit(m.client, null, { retryPolicy: { maxAttempts: 1 } });
    assert.deepEqual(
      (await m.waitFor(job, "DEAD")).attempts.map(({ state }) => state),
      ["TIMED_OUT"],
    );
  });

  it("forgets a handler that goes on after its timeout", async () => {
    const stubborn = task({ name: "stubborn", run: () => new Promise<never>(() => undefined) });
    await using m = await simulate({ tasks: [stubborn] });
    const retryPolicy = { maxAttempts: 2, initialDelayMs: 60 * 86_400_000, maxDelayMs: 60 * 86_400_000 };
    const job = await stubborn.submit(m.client, null, { timeoutSec: 30, retryPolicy });
    await m.clock.advance("1 min");
    assert.deepEqual(
      m.enqueued(stubborn).map(({ failures }) => failures),
      [1],
    );
    await m.clock.advance("61 days");
    assert.equal((await job.get()).state, "DEAD");
  });

  it("counts from when the handler that it waited for went on", async () => {
    const steps = task({
      name: "steps",
      run: async (_: null, ctx) => {
        const before = m.clock.now().getTime();
        await realTime.pause(20);
        await ctx.sleep(60_000);
        await realTime.pause(20);
        return m.clock.now().getTime() - before;
      },
    });
    await using m = await simulate({ tasks: [steps] });
    assert.equal((await m.waitFor(await steps.submit(m.client, null))).result, 60_000);
  });
});
