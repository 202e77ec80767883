import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { assignment, ExecutorScene, NO_STEPS, ref } from "../../test/executor-scene.ts";
import { ManualRuntime } from "../../test/manual-runtime.ts";
import { type AbortCause, AttemptAborted, type TaskContext } from "../handlers/context.ts";
import { adviceOf } from "../handlers/retry-errors.ts";
import { task } from "../task.ts";
import { isolatedRun } from "./isolation.ts";
import { isFromIsolated } from "./isolation-messages.ts";

const module = new URL("../../test/isolated-handlers.ts", import.meta.url);

/** Starts one attempt of a handler and records its messages. */
function start(where: "process" | "thread", handler: string, payload: unknown = null) {
  const runtime = new ManualRuntime();
  const abort = new AbortController();
  const said: string[] = [];
  const waiting = new Map<string, () => void>();
  const say = (line: string) => {
    said.push(line);
    waiting.get(line)?.();
  };
  const ctx: TaskContext = {
    executionId: "e",
    attempt: 2,
    failures: 1,
    maxAttempts: 5,
    fence: "e:2",
    traceparent: null,
    scheduledAt: new Date(0),
    deadline: new Date(60_000),
    cancelGraceMs: 10_000,
    signal: abort.signal,
    sleep: () => assert.fail("a handler apart sleeps by its own clock"),
    progress: (fraction, message) => say(`${fraction} ${message}`),
    log: say,
    branch: (name) => say(`branch ${name}`),
    spawn: (nodes, options) => say(`spawn ${JSON.stringify(nodes)} ${JSON.stringify(options)}`),
    ...NO_STEPS,
  };
  const result = isolatedRun({ in: where, module, export: handler }, runtime)(payload, ctx);
  return {
    runtime,
    said,
    result,
    /** Resolves when the handler logs this line; call it before that. */
    says: (line: string) => new Promise<void>((resolve) => void waiting.set(line, resolve)),
    abort: (cause: AbortCause) => abort.abort(new AttemptAborted("e:2", cause)),
  };
}

for (const where of ["process", "thread"] as const) {
  describe(`a handler in a ${where} of its own`, () => {
    it("gets payload and context, and gives its result", async () => {
      assert.deepEqual(await start(where, "default", { n: 21 }).result, { twice: 42, attempt: 2 });
    });

    it("is heard while it runs", async () => {
      const { result, said } = start(where, "talk");
      assert.equal(await result, undefined);
      assert.deepEqual(said, ["0.5 half", "0.75 undefined", "e:2 until 1970-01-01T00:01:00.000Z, 10000 ms to stop"]);
    });

    it("names branches while it runs, and may catch the error of a wrong name", async () => {
      const { result, said } = start(where, "takeBranches", ["good", "no name", "b.2_-"]);
      assert.deepEqual(await result, ["InvalidBranch true"]);
      assert.deepEqual(said, ["branch good", "branch b.2_-"]);
    });

    it("brings its last branch into the report of its success", async () => {
      const apart = task<string[], unknown>({ name: "apart", isolate: { in: where, module, export: "takeBranches" } });
      const scene = new ExecutorScene(1, [apart]);
      scene.apply({ assigns: [assignment("x", { handler: "apart", payload: '["good","bad"]' })] });
      while (scene.executor.occupied > 0) await new Promise(setImmediate);
      const [report] = await scene.finished();
      assert.deepEqual([report?.outcome, report?.branch], ["SUCCEEDED", "bad"]);
    });

    it("fails for good where it does not catch the error of a wrong name", async () => {
      const error = await failureOf("takeBranch", "no name");
      assert.equal(error.name, "InvalidBranch");
      assert.deepEqual(adviceOf(error), { kind: "NEVER" });
    });

    const failureOf = (handler: string, payload: unknown): Promise<Error> =>
      start(where, handler, payload).result.then(
        () => assert.fail("it succeeded"),
        (error) => error,
      );

    it("throws as if it were here: name, message and what it says about trying again", async () => {
      const [plain, terminal, at] = await Promise.all(["", "terminal", "at"].map((kind) => failureOf("fail", kind)));
      assert.deepEqual([String(plain), adviceOf(plain)], ["RangeError: out of range", null]);
      assert.match(plain?.stack ?? "", /isolated-handlers/);
      assert.deepEqual([String(terminal), adviceOf(terminal)], ["TerminalError: never again", { kind: "NEVER" }]);
      assert.deepEqual([String(at), adviceOf(at)], ["RetryAtError: later", { kind: "AT", atMs: 5_000 }]);
    });

    it("fails for good where it cannot be loaded, or its result is no JSON", async () => {
      const missing = await failureOf("nothing", null);
      assert.match(missing.message, /isolated-handlers.ts exports no function nothing$/);
      assert.deepEqual(adviceOf(missing), { kind: "NEVER" });
      const elsewhere = { in: where, module: new URL("nowhere.ts", module) };
      assert.deepEqual(adviceOf(await failureOf("returnCycle", null)), { kind: "NEVER" });
      const scene = new ExecutorScene(1, [task({ name: "elsewhere", isolate: elsewhere })]);
      scene.apply({ assigns: [assignment("x", { handler: "elsewhere" })] });
      while (scene.executor.occupied > 0) await new Promise(setImmediate);
      const [report] = await scene.finished();
      assert.deepEqual([report?.error?.name, report?.advice], ["HandlerNotLoaded", { kind: "NEVER" }]);
    });

    it("fails, and may be tried again, where it ends without a word", async () => {
      const error = await failureOf("exit", 3);
      assert.equal(error.message, `the handler's ${where} ended before the handler did: exit code 3`);
      assert.equal(adviceOf(error), null);
    });

    it("fails where what a schema made of its payload cannot be sent", async () => {
      await assert.rejects(start(where, "default", { n: () => 1 }).result, /could not be cloned/);
    });

    it("is over when it has returned, whatever it left open", async () => {
      assert.equal(await start(where, "leaveServer").result, "done");
    });

    it("is told to stop, and may end by itself", async () => {
      const { result, says, abort, runtime } = start(where, "listen");
      await says("running");
      abort("CANCELLED");
      await assert.rejects(result, { name: "AbortError", message: "attempt e:2 was aborted: CANCELLED" });
      // No timer is left that would kill something later.
      await runtime.advance(60_000);
    });

    for (const handler of ["ignore", "block"]) {
      it(`is killed when its grace time is over and it ${handler}s`, async () => {
        const { result, says, abort, runtime } = start(where, handler);
        await says("running");
        const heard = handler === "ignore" ? says("heard") : null;
        abort("TIMED_OUT");
        await heard;
        await runtime.advance(9_999);
        await runtime.advance(1);
        await assert.rejects(result, {
          message: `the handler's ${where} was killed: it had not stopped within 10000 ms`,
        });
      });
    }

    it("is told of the suspension as such, whatever it threw", async () => {
      const { result, says, abort } = start(where, "listen");
      await says("running");
      abort("SUSPENDED");
      const error = await result.catch((thrown: unknown) => thrown);
      assert.ok(error instanceof AttemptAborted);
      assert.equal(error.reason, "SUSPENDED");
    });

    it("is killed at once when the worker leaves", async () => {
      const { result, says, abort } = start(where, "block");
      await says("running");
      abort("WORKER_LEAVES");
      await assert.rejects(result, /ended before the handler did/);
    });
  });
}

describe("a message of an isolated handler", () => {
  it("names a branch only by a name that the worker may pass on", () => {
    const heard = (name: unknown) => isFromIsolated({ kind: "BRANCH", name });
    assert.deepEqual([heard("good"), heard("no name"), heard(""), heard(undefined)], [true, false, false, false]);
  });
});

describe("an isolated handler", () => {
  it("gives its slot back when it was killed", async () => {
    const running = Promise.withResolvers<void>();
    const over = Promise.withResolvers<unknown>();
    const runtime = new ManualRuntime();
    const run = isolatedRun({ in: "process", module, export: "block" }, runtime);
    const blocking = task({
      name: "blocking",
      run: (payload: unknown, ctx: TaskContext) => {
        const { signal, cancelGraceMs } = ctx;
        const facts = {
          executionId: "b",
          attempt: 1,
          failures: 0,
          maxAttempts: 5,
          fence: "b:1",
          traceparent: null,
          cancelGraceMs,
          signal,
        };
        const heard = { ...facts, scheduledAt: ctx.scheduledAt, deadline: ctx.deadline, progress: () => undefined };
        const { sleep } = ctx;
        const result = run(payload, {
          ...heard,
          ...NO_STEPS,
          sleep,
          branch: ctx.branch,
          spawn: ctx.spawn,
          log: () => running.resolve(),
        });
        result.catch(over.resolve);
        return result;
      },
    });
    const scene = new ExecutorScene(1, [blocking]);
    scene.apply({ assigns: [assignment("b", { handler: "blocking" }), assignment("next")] });
    await running.promise;
    scene.apply({ cancels: [{ ...ref("b"), cause: "REQUESTED" }] });
    assert.deepEqual([scene.called, scene.executor.occupied], [[], 1]);
    await runtime.advance(10_000);
    await over.promise;
    assert.deepEqual(await scene.outcomes(), ["b CANCELLED"]);
    assert.deepEqual(scene.called, ["next"]);
  });

  /** Accepts connections of two processes: the handler's, and that of the program that the handler starts. */
  async function twoProcesses(test: TestContext) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    test.after(() => server.close());
    const ended: Promise<unknown>[] = [];
    const begun = new Promise<void>((resolve) =>
      server.on("connection", (socket) => {
        socket.on("error", () => undefined).resume();
        if (ended.push(new Promise((end) => socket.once("close", end))) === 2) resolve();
      }),
    );
    return { port: (server.address() as AddressInfo).port, begun, ended };
  }

  it("takes with it what its process started", async (test) => {
    const { port, begun, ended } = await twoProcesses(test);
    const { result, abort } = start("process", "startProgram", port);
    await begun;
    abort("WORKER_LEAVES");
    await assert.rejects(result, /SIGKILL/);
    assert.equal((await Promise.all(ended)).length, 2);
  });

  it("does not outlive its worker, even where that is killed", async (test) => {
    const { port, begun, ended } = await twoProcesses(test);
    const isolation = `{ in: "process", module: new URL(${JSON.stringify(module.href)}), export: "startProgram" }`;
    const program = `const { isolatedRun } = await import(${JSON.stringify(new URL("isolation.ts", import.meta.url).href)});
      void isolatedRun(${isolation}, {})(${port}, { signal: new AbortController().signal, checkpoint: {} });`;
    const worker = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "ignore" });
    test.after(() => worker.kill("SIGKILL"));
    await begun;
    worker.kill("SIGKILL");
    assert.equal((await Promise.all(ended)).length, 2);
  });
});
