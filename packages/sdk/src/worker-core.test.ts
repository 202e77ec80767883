import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualRuntime } from "../test/manual-runtime.ts";
import { ScriptedLink } from "../test/scripted-link.ts";
import { resultsOf, token } from "../test/session-scene.ts";
import { assign } from "../test/tiny-gateway.ts";
import { createWorkerCore, type Task, task, type WorkerLife } from "./worker-core.ts";

describe("a worker without a thread", () => {
  const noop = task({ name: "noop", run: () => "done" });
  const stuck = task({ name: "stuck", run: (_payload: unknown, ctx) => rejectedBy(ctx.signal) });

  function make(tasks: readonly Task<never, unknown>[]) {
    const [runtime, link, warnings] = [new ManualRuntime(), new ScriptedLink(), [] as string[]];
    const identity = { workerId: "w", name: "w", pool: "default", capabilities: [], slots: 2, prefetch: 5 };
    const warn = (message: string) => void warnings.push(message);
    const worker: WorkerLife = createWorkerCore({ ...identity, tasks, runtime, warn }, link);
    return { worker, runtime, link, warnings };
  }

  it("does all of it on the clock and the link that it is given", async () => {
    const { worker, runtime, link } = make([noop]);
    const started = worker.start();
    // The worker starts once, however often `start` is called.
    assert.equal(worker.start(), started);
    assert.equal(link.connections.length, 1);
    assert.deepEqual(link.connection.take()[0]?.hello?.handlers, ["noop"]);
    link.connection.say({ welcome: { heartbeatIntervalMs: 10_000 }, assigns: [assign("a"), assign("b")] });
    await started;
    await runtime.turn();
    assert.deepEqual(resultsOf(link.connection.take()), ["a:1", "b:1"]);
    const stopped = worker.stop();
    link.connection.say({ acks: [token("a"), token("b")] });
    await runtime.advance(200);
    await stopped;
    assert.equal(link.connection.isClosed, true);
  });

  it("leaves at its limit, and aborts what it leaves behind", async () => {
    const { worker, runtime, link, warnings } = make([stuck]);
    void worker.start();
    link.connection.say({
      welcome: { heartbeatIntervalMs: 10_000 },
      assigns: ["a", "b", "c"].map((id) => assign(id, { handler: "stuck" })),
    });
    await runtime.turn();
    const stopped = worker.stop({ timeoutMs: 5_000 });
    await runtime.turn();
    // The worker hands attempts that had not started back at once.
    assert.deepEqual(resultsOf(link.connection.take()), ["c:1"]);
    link.connection.say({ acks: [token("c")] });
    await runtime.advance(5_000);
    await stopped;
    await runtime.turn();
    assert.deepEqual(warnings, ["left with 2 attempts that are not finished or not acknowledged"]);
    assert.deepEqual(aborted, ["WORKER_LEAVES", "WORKER_LEAVES"]);
  });

  const aborted: string[] = [];
  function rejectedBy(signal: AbortSignal): Promise<never> {
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        aborted.push(signal.reason.reason);
        reject(signal.reason);
      });
    });
  }
});
