import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outcome } from "@mainspring/proto";
import { assignment, ExecutorScene, ref } from "../../test/executor-scene.ts";
import { token } from "../../test/session-scene.ts";
import { StepScene } from "../../test/step-scene.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import type { Middleware } from "../handlers/middleware.ts";
import type { WorkerHooks } from "../handlers/worker-hooks.ts";
import { task } from "../task.ts";

const DAY_MS = 86_400_000;

describe("an attempt whose steps wait", () => {
  it("suspends for all its waits at once", async () => {
    const scene = new StepScene();
    const both = ({ step }: TaskContext) =>
      Promise.all([
        step.sleep("a", { hours: 1 }),
        step.waitForSignal("b", { timeoutMs: DAY_MS }),
        step.sleep("c", DAY_MS),
      ]);
    await scene.run(both, { earlier: [{ name: "c", remainingMs: 70_000 }] });
    assert.deepEqual(await scene.waits(), ["a 3600000", `b ${DAY_MS} b`, "c 70000!"]);
  });

  it("does not suspend while a step runs, or its record is not acknowledged", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<string>();
    await scene.run(({ step }) =>
      Promise.all([step.sleep("a", DAY_MS), step.run("b", () => gate.promise).then(() => step.run("c", () => 3))]),
    );
    assert.equal(await scene.ending(), undefined);
    await scene.runtime.advance(10_000);
    gate.resolve("done");
    assert.equal(await scene.ending(), undefined);
    await scene.acknowledge([1]);
    assert.equal(await scene.ending(), undefined, "the next step has begun");
    await scene.acknowledge([2]);
    assert.deepEqual(await scene.waits(), [`a ${DAY_MS - 10_000}`]);
  });

  it("does not suspend while a step is tried again in place, nor before its checkpoint is stored", async () => {
    const scene = new StepScene();
    let calls = 0;
    const flaky = () => (++calls === 1 ? Promise.reject(new Error("no")) : 7);
    await scene.run(({ step, checkpoint }) => {
      void checkpoint(1);
      return Promise.all([step.sleep("a", DAY_MS), step.run("b", flaky, { retries: 1 })]);
    });
    assert.equal(await scene.ending(), undefined);
    await scene.runtime.advance(1_000);
    assert.equal(calls, 2);
    await scene.acknowledge([2]);
    assert.equal(await scene.ending(), undefined);
    await scene.acknowledge([1]);
    assert.deepEqual(await scene.waits(), [`a ${DAY_MS - 1_000}`]);
  });

  it("ends instead if the handler ends, whatever still waits", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) => Promise.race([step.waitForSignal("stop"), step.run("a", () => 7)]));
    await scene.store();
    assert.equal(await scene.ending(), "SUCCEEDED 7");
    await scene.runtime.advance(60_000);
    assert.equal(await scene.ending(), "SUCCEEDED 7");
  });

  it("goes on if the handler catches the error of a step and begins another one", async () => {
    const scene = new StepScene();
    await scene.run(async ({ step }) => {
      void step.sleep("a", DAY_MS);
      await step.run("b", () => Promise.reject(new Error("no"))).catch(() => step.run("c", () => 7));
      return "done";
    });
    await scene.store();
    assert.equal(await scene.ending(), 'SUCCEEDED "done"');
  });

  it("waits first for a short sleep, and for a sleep that is about to end", async () => {
    const scene = new StepScene();
    const slept: string[] = [];
    await scene.run(
      async ({ step }) => {
        const nap = step.sleep("short", 4_000).then(() => slept.push("short"));
        const rest = step.sleep("recorded", DAY_MS).then(() => slept.push("recorded"));
        await Promise.all([step.sleep("long", DAY_MS), nap, rest]);
      },
      { earlier: [{ name: "recorded", remainingMs: 4_500 }] },
    );
    await scene.runtime.advance(3_999);
    assert.equal(await scene.ending(), undefined);
    await scene.runtime.advance(501);
    assert.deepEqual(slept, ["short", "recorded"]);
    assert.deepEqual(scene.steps(), [], "neither needs a record");
    assert.deepEqual(await scene.waits(), [`long ${DAY_MS - 4_500}`]);
  });

  it("records a sleep that ends beside a step that runs, so that later attempts do not sleep again", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    await scene.run(({ step }) =>
      Promise.all([step.run("a", () => gate.promise), step.sleep("b", 10_000).then(() => "slept")]),
    );
    await scene.runtime.advance(10_000);
    assert.deepEqual(await scene.store(), [{ number: 1, name: "b", data: "" }]);
    gate.resolve();
    await scene.runtime.turn();
    await scene.store();
    assert.equal(await scene.ending(), 'SUCCEEDED [null,"slept"]');
  });

  it("suspends for a wait that was not over when the assignment arrived: the next attempt knows what has come", async () => {
    const gate = Promise.withResolvers<void>();
    const scene = new StepScene();
    const run = async ({ step }: TaskContext) => {
      const [, signal] = await Promise.all([
        step.run("a", () => gate.promise),
        step.waitForSignal("c", { timeoutMs: 20_000 }),
      ]);
      return signal;
    };
    await scene.run(run, { attempt: 2, earlier: [{ name: "c", remainingMs: 20_000 }] });
    await scene.runtime.advance(22_000);
    assert.deepEqual(scene.steps(), [], "a signal may have come in time");
    gate.resolve();
    await scene.runtime.turn();
    await scene.store(2);
    assert.deepEqual(await scene.waits(), ["c 0 c!"]);
    const next = new StepScene();
    await next.run(run, {
      attempt: 3,
      earlier: [
        { name: "a", data: "1" },
        { name: "c", remainingMs: 0 },
      ],
    });
    assert.deepEqual(await next.store(3), [{ number: 1, name: "c", data: "null" }]);
    assert.equal(await next.ending(), "SUCCEEDED null");
  });

  it("counts waits among the steps of the execution, and those of earlier attempts once", async () => {
    const earlier = Array.from({ length: 999 }, (_, n) => ({ name: `old-${n}`, remainingMs: DAY_MS }));
    const scene = new StepScene();
    await scene.run(
      async ({ step }) => {
        const old = Array.from({ length: 999 }, (_, n) => step.sleep(`old-${n}`, DAY_MS));
        await Promise.all([...old, step.sleep("new", DAY_MS)]);
      },
      { earlier },
    );
    assert.equal((await scene.waits())?.length, 1_000);
    const full = new StepScene();
    await full.run(({ step }) => Promise.all([step.sleep("new", DAY_MS), step.waitForSignal("one too many")]), {
      earlier,
    });
    assert.match((await full.ending()) ?? "", /^FAILED StepTooLarge: an execution may have 1000 steps/);
  });

  it("waits for no more names than one message holds", async () => {
    const scene = new StepScene();
    const names = (n: number) => Array.from({ length: 100 }, (_, index) => `${n}-${index}-`.padEnd(128, "ü"));
    await scene.run(({ step }) =>
      Promise.all(Array.from({ length: 60 }, (_, n) => step.waitForSignal(names(n), { name: ["many", n] }))),
    );
    assert.match(
      (await scene.ending()) ?? "",
      /^FAILED StepTooLarge: the steps that wait at once have \d+ bytes .*; 262144 /,
    );
  });
});

describe("a handler that waits", () => {
  const waiting = (seen: unknown[]) => async (ctx: TaskContext) => {
    const gate = ctx.step.run("holds the attempt", () => new Promise(() => undefined));
    const waits = [ctx.step.sleep("short", 4_000), ctx.step.sleep("long", DAY_MS), ctx.step.waitForSignal("b")];
    for (const wait of waits) wait.catch((error: AttemptAborted) => seen.push(error.reason));
    await Promise.race([gate, ...waits]);
  };

  it("is told of a cancellation, a timeout, its successor, and the end of its worker", async () => {
    const cases: [string, (scene: StepScene) => Promise<unknown> | void][] = [
      ["CANCELLED", (scene) => scene.link.connection.say({ cancels: [{ token: token("e"), reason: 1 }] })],
      ["SUPERSEDED", (scene) => scene.link.connection.say({ refused: [token("e")] })],
      ["WORKER_LEAVES", (scene) => scene.runtime.advance(0).then(() => void scene.worker.stop({ timeoutMs: 100 }))],
    ];
    for (const [reason, act] of cases) {
      const seen: unknown[] = [];
      const scene = new StepScene();
      await scene.run(waiting(seen));
      await act(scene);
      await scene.runtime.advance(1_000);
      assert.deepEqual(seen, [reason, reason, reason]);
    }
    const seen: unknown[] = [];
    const scene = new StepScene();
    await scene.run(({ step }) => {
      const hold = step.run("a", () => new Promise(() => undefined));
      return Promise.race([hold, step.sleep("b", DAY_MS).catch((error: AttemptAborted) => seen.push(error.reason))]);
    });
    await scene.runtime.advance(60_000);
    assert.deepEqual(seen, ["TIMED_OUT"]);
    assert.match((await scene.ending()) ?? "", /^TIMED_OUT/);
  });

  it("begins no wait after that, and still gets what is recorded", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    const reasons: unknown[] = [];
    await scene.run(
      async ({ step }) => {
        await gate.promise;
        for (const wait of [step.sleep("a", 10), step.sleep("b", DAY_MS), step.waitForSignal("c")]) {
          await wait.catch((error: AttemptAborted) => reasons.push(error.reason));
        }
        return await step.waitForSignal("d");
      },
      { earlier: [{ name: "d", data: "null" }] },
    );
    scene.link.connection.say({ cancels: [{ token: token("e"), reason: 1 }] });
    gate.resolve();
    assert.equal(await scene.ending(), "SUCCEEDED null");
    assert.deepEqual(reasons, ["CANCELLED", "CANCELLED", "CANCELLED"]);
  });

  it("suspends while its worker drains", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    await scene.run(({ step }) => gate.promise.then(() => step.sleep("a", DAY_MS)));
    void scene.worker.stop();
    gate.resolve();
    assert.deepEqual(await scene.waits(), [`a ${DAY_MS}`]);
  });

  it("is given up if it does not end within the grace time, and its attempt is suspended all the same", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    await scene.run(async ({ step }) => {
      await step.sleep("a", DAY_MS).catch(() => gate.promise);
      return "late";
    });
    // A cancellation comes too late: the owner knows of it, and decides.
    scene.link.connection.say({ cancels: [{ token: token("e"), reason: 1 }] });
    await scene.runtime.advance(999);
    assert.equal(await scene.ending(), undefined);
    await scene.runtime.advance(100);
    assert.deepEqual(await scene.waits(), [`a ${DAY_MS - 1_000}`], "measured from the end of the attempt");
    const finished = scene.messages.flatMap((message) => message.finished).at(-1);
    assert.deepEqual([Outcome[finished?.outcome ?? 0], finished?.stillRunning], ["SUSPENDED", true]);
    gate.resolve();
    await scene.runtime.turn();
    assert.equal(scene.link.connection.take().flatMap(({ ended }) => ended).length, 1);
  });
});

describe("a gateway that is too old to suspend", () => {
  const failed =
    /^FAILED StepsUnsupported: the server gateway-1 cannot store steps: its release is older than this worker's/;

  it("makes steps that wait fail, and lets those return that are over", async () => {
    for (const wait of [
      ({ step }: TaskContext) => step.sleep("a", DAY_MS),
      ({ step }: TaskContext) => step.sleep("a", 100),
      ({ step }: TaskContext) => step.waitForSignal("a"),
    ]) {
      const scene = new StepScene(0);
      await scene.run(wait);
      assert.match((await scene.ending()) ?? "", failed);
    }
    const scene = new StepScene(0);
    await scene.run(({ step }) => step.sleep("a", DAY_MS).then(() => 1), { earlier: [{ name: "a", remainingMs: 0 }] });
    assert.equal(await scene.ending(), "SUCCEEDED 1");
  });

  it("makes waits fail that were pending when the worker came to it", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) =>
      Promise.race([step.run("a", () => new Promise(() => undefined)), step.sleep("b", DAY_MS)]),
    );
    await scene.reconnect(0);
    assert.match((await scene.ending()) ?? "", failed);
  });

  it("leaves the places of waits that it has rejected to other steps", async () => {
    const scene = new StepScene();
    const next = Promise.withResolvers<void>();
    const all = (step: TaskContext["step"], kind: string) =>
      Array.from({ length: 1_000 }, (_, index) => step.sleep([kind, index], DAY_MS));
    await scene.run(async ({ step }) => {
      await Promise.allSettled([
        step.run("a", () => next.promise).catch(() => undefined),
        ...all(step, "rejected").slice(1),
      ]);
      await Promise.all(all(step, "pending"));
    });
    await scene.reconnect(0);
    await scene.reconnect();
    next.reject(new Error("no"));
    assert.equal((await scene.waits())?.length, 1_000);
  });

  it("gets a failure in place of a suspension that it has not acknowledged", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) => step.sleep("a", DAY_MS));
    assert.deepEqual(await scene.waits(), [`a ${DAY_MS}`]);
    await scene.reconnect(0);
    assert.match(
      (await scene.ending()) ?? "",
      /^FAILED StepsUnsupported: the server cannot suspend an attempt: .*Upgrade the/,
    );
    assert.deepEqual(await scene.waits(), []);
  });
});

describe("a suspension", () => {
  const naps = task({ name: "naps", run: (_: unknown, { step }) => step.sleep("nap", { days: 1 }) });

  it("comes again over the next connection, until it is acknowledged", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) => step.sleep("a", DAY_MS));
    assert.deepEqual(await scene.waits(), [`a ${DAY_MS}`]);
    await scene.reconnect();
    const again = scene.link.connection.take().flatMap(({ finished }) => finished);
    assert.deepEqual(
      again.map(({ outcome, waits }) => [Outcome[outcome], waits.map(({ delayMs }) => delayMs)]),
      [["SUSPENDED", [BigInt(DAY_MS)]]],
    );
  });

  it("is no failure for hooks and middleware", async () => {
    const heard: unknown[] = [];
    const hooks: WorkerHooks = {
      onStart: ({ executionId }) => void heard.push(`start ${executionId}`),
      onSuccess: () => void heard.push("success"),
      onFailure: ({ outcome }) => void heard.push(`failure ${outcome}`),
      onSuspend: ({ executionId, waits, durationMs }) =>
        void heard.push(`suspend ${executionId} ${waits.join()} ${durationMs}`),
    };
    const around: Middleware = async (_, next) => {
      await next().catch((error: unknown) => heard.push(error instanceof AttemptAborted && error.reason));
    };
    const scene = new ExecutorScene(1, [naps], hooks, [around]);
    scene.apply({ assigns: [assignment("e", { handler: "naps" })] });
    assert.deepEqual(await scene.outcomes(), ["e SUSPENDED"]);
    assert.deepEqual(heard, ["start e", "SUSPENDED", "suspend e nap 0"]);
    assert.deepEqual([scene.warnings, scene.executor.occupied], [[], 0]);
  });

  it("is dropped where the server has given the execution to another worker", async () => {
    const heard: string[] = [];
    const gate = Promise.withResolvers<void>();
    const slow = task({
      name: "slow",
      run: (_: unknown, { step }) => step.sleep("a", DAY_MS).catch(() => gate.promise),
    });
    const hooks: WorkerHooks = {
      onFailure: ({ outcome }) => void heard.push(outcome),
      onSuspend: () => void heard.push("suspend"),
    };
    const scene = new ExecutorScene(1, [slow], hooks);
    scene.apply({ assigns: [assignment("e", { handler: "slow" })] });
    await scene.runtime.turn();
    scene.apply({ forget: [ref("e")] });
    gate.resolve();
    assert.deepEqual(await scene.outcomes(), []);
    assert.deepEqual([heard, scene.executor.occupied], [["SUPERSEDED"], 0]);
  });
});
