import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene, ref } from "../../test/executor-scene.ts";
import { task } from "../task.ts";
import { AttemptAborted } from "./context.ts";

describe("an executor", () => {
  it("runs as many as it has slots, and the rest in the order they came", async () => {
    const scene = new ExecutorScene(2);
    scene.assign("a", "b", "c", "d");
    scene.assign("e");
    assert.deepEqual(scene.called, ["a", "b"]);
    scene.running("b").return();
    await scene.runtime.turn();
    assert.deepEqual(scene.called, ["a", "b", "c"]);
    scene.running("a").return();
    scene.running("c").throw(new Error("no"));
    await scene.runtime.turn();
    assert.deepEqual(scene.called, ["a", "b", "c", "d", "e"]);
    assert.equal(scene.executor.occupied, 2);
  });

  it("reports a turn at once: what started, and what finished with its own start", async () => {
    const quick = task({ name: "quick", run: (n: number) => n + 1 });
    const scene = new ExecutorScene(10, [quick]);
    scene.apply({ assigns: [assignment("q", { handler: "quick", payload: "1" }), assignment("a")] });
    assert.equal(scene.reports.length, 0);
    await scene.runtime.turn();
    const [report, ...others] = scene.reports;
    assert.deepEqual(others, []);
    assert.deepEqual(report?.started, [{ ...ref("a"), startedAtMs: 1_000_000 }]);
    assert.deepEqual(report?.finished, [
      { ...ref("q"), ...SUCCESS, result: "2", startedAtMs: 1_000_000, finishedAtMs: 1_000_000, stillRunning: false },
    ]);
    await scene.runtime.advance(7);
    scene.running("a").return("later");
    const [, last] = await scene.finished();
    assert.deepEqual([last?.startedAtMs, last?.finishedAtMs, last?.result], [1_000_000, 1_000_007, '"later"']);
  });

  it("reports for how long a handler has run, although the wall clock was set meanwhile", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    await scene.runtime.advance(20_000);
    scene.runtime.wallSetByMs = -3_600_000;
    scene.running("a").return();
    const [report] = await scene.finished();
    assert.deepEqual([report?.startedAtMs, report?.finishedAtMs], [1_000_000, 1_020_000]);
  });

  it("gets through handlers that end at once, however many wait", async () => {
    const sync = task({ name: "sync", run: () => undefined });
    const scene = new ExecutorScene(1, [sync]);
    const ids = Array.from({ length: 20_000 }, (_, index) => `x${index}`);
    scene.apply({ assigns: ids.map((id) => assignment(id, { handler: "sync" })) });
    assert.deepEqual(
      (await scene.finished()).map(({ executionId }) => executionId),
      ids,
    );
    assert.equal(scene.executor.occupied, 0);
  });

  it("starts no more in a turn of the loop than it may parse, and the rest in the turns that follow", async () => {
    const large = task({ name: "large", run: () => undefined });
    const scene = new ExecutorScene(10, [large]);
    const payload = JSON.stringify("x".repeat(200 * 1024));
    scene.apply({ assigns: ["a", "b", "c", "d", "e"].map((id) => assignment(id, { handler: "large", payload })) });
    await scene.runtime.turn();
    // One report covers one turn of the event loop.
    assert.deepEqual(
      scene.reports.map(({ finished }) => finished.length),
      [2, 2, 1],
    );
  });

  it("gives the text of a payload to a handler that forwards it, without parsing it", async () => {
    const forwarding = {
      ...task({ name: "forwards", run: () => assert.fail("invoked") }),
      forward: (text: string) => text,
    };
    const scene = new ExecutorScene(1, [forwarding]);
    const payload = '{"a": 1.0, "a": 2}';
    scene.apply({ assigns: [assignment("a", { handler: "forwards", payload })] });
    assert.deepEqual(
      (await scene.finished()).map(({ outcome, result }) => [outcome, result]),
      [["SUCCEEDED", payload]],
    );
  });

  it("frees one slot for one handler, even where what it returned answers twice", async () => {
    const odd = task({ name: "odd", run: () => ANSWERS_TWICE as unknown });
    const scene = new ExecutorScene(1, [odd]);
    scene.apply({ assigns: [assignment("odd", { handler: "odd" })] });
    scene.assign("a", "b");
    assert.deepEqual(await scene.outcomes(), ["odd SUCCEEDED"]);
    assert.deepEqual(scene.called, ["a"]);
  });

  it("tells a handler who it is, when it was to run and when it must be done", () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("a", { attempt: 3, failures: 1, payload: '{"n":1}', timeoutMs: 5_000 })] });
    const { ctx, payload } = scene.running("a", 3);
    assert.deepEqual(payload, { n: 1 });
    assert.deepEqual([ctx.executionId, ctx.attempt, ctx.fence], ["a", 3, "a:3"]);
    assert.deepEqual([ctx.failures, ctx.maxAttempts, ctx.cancelGraceMs], [1, 5, 10_000]);
    assert.deepEqual([ctx.scheduledAt.getTime(), ctx.deadline.getTime()], [900_000, 1_005_000]);
    assert.equal(ctx.signal.aborted, false);
  });
});

describe("a handler that sleeps", () => {
  it("goes on after that time, also where no timer of the platform is that long", async () => {
    const weekMs = 7 * 86_400_000;
    const nap = task({ name: "nap", run: async (_: unknown, ctx) => ctx.sleep(weekMs) });
    const scene = new ExecutorScene(1, [nap]);
    scene.apply({ assigns: [assignment("n", { handler: "nap", timeoutMs: 2 * weekMs })] });
    await scene.runtime.advance(weekMs - 1);
    assert.deepEqual(await scene.outcomes(), []);
    await scene.runtime.advance(1);
    assert.deepEqual(await scene.outcomes(), ["n SUCCEEDED"]);
  });

  it("is woken by its cancellation, and cannot sleep after it", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    const { ctx } = scene.running("a");
    const woken = assert.rejects(ctx.sleep(60_000), (error) => error === ctx.signal.reason);
    scene.apply({ cancels: [{ ...ref("a"), cause: "REQUESTED" }] });
    await woken;
    await assert.rejects(ctx.sleep(0), AttemptAborted);
    await assert.rejects(ctx.sleep(Number.NaN), /sleep: must be 0 or more milliseconds, not NaN/);
  });
});

describe("a cancelled attempt", () => {
  it("ends at once where it has not started, and never runs", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a", "b", "c");
    scene.apply({ cancels: [{ ...ref("b"), cause: "REQUESTED" }] });
    assert.deepEqual(await scene.outcomes(), ["b CANCELLED"]);
    assert.equal((await scene.finished())[0]?.startedAtMs, 0);
    scene.running("a").return();
    await scene.runtime.turn();
    assert.deepEqual(scene.called, ["a", "c"]);
  });

  it("is CANCELLED where its handler stops because of it", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    const { ctx, throw: end } = scene.running("a");
    ctx.signal.addEventListener("abort", () => end(ctx.signal.reason));
    scene.apply({ cancels: [{ ...ref("a"), cause: "REQUESTED" }] });
    const [report] = await scene.finished();
    assert.equal(report?.outcome, "CANCELLED");
    assert.deepEqual(
      [report?.error?.name, report?.error?.message],
      ["AbortError", "attempt a:1 was aborted: CANCELLED"],
    );
    assert.ok(ctx.signal.reason instanceof AttemptAborted && ctx.signal.reason.reason === "CANCELLED");
  });

  it("is SUCCEEDED where its handler got done all the same", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    scene.apply({ cancels: [{ ...ref("a"), cause: "REQUESTED" }] });
    scene.running("a").return(7);
    const [report] = await scene.finished();
    assert.deepEqual([report?.outcome, report?.result], ["SUCCEEDED", "7"]);
  });

  it("shows its aborted signal also to a handler that looks late", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    scene.apply({ cancels: [{ ...ref("a"), cause: "REQUESTED" }] });
    const { ctx } = scene.running("a");
    assert.equal(ctx.signal.aborted, true);
    assert.equal(ctx.signal.reason.reason, "CANCELLED");
  });

  it("is not another attempt of the execution", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("a", { attempt: 2 })] });
    scene.apply({ cancels: [{ ...ref("a", 1), cause: "REQUESTED" }], forget: [ref("a", 1)] });
    assert.equal(scene.running("a", 2).ctx.signal.aborted, false);
  });
});

describe("a timeout", () => {
  it("aborts the handler, whose error is then that of a timeout", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("a", { timeoutMs: 5_000 })] });
    const { ctx, throw: end } = scene.running("a");
    ctx.signal.addEventListener("abort", () => end(new Error("had to stop")));
    await scene.runtime.advance(4_999);
    assert.deepEqual(await scene.outcomes(), []);
    await scene.runtime.advance(1);
    const [report] = await scene.finished();
    assert.equal(report?.outcome, "TIMED_OUT");
    assert.equal(report?.error?.message, "had to stop");
    assert.equal(ctx.signal.reason.reason, "TIMED_OUT");
  });

  it("is hard: what a handler returns after it does not count", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("a", { timeoutMs: 5_000 })] });
    await scene.runtime.advance(5_001);
    scene.running("a").return("too late");
    const [report] = await scene.finished();
    assert.deepEqual([report?.outcome, report?.result], ["TIMED_OUT", ""]);
  });

  it("gives up a handler that ignores it, after the grace time; the slot stays taken until it really ends", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("deaf", { timeoutMs: 5_000, cancelGraceMs: 2_000 }), assignment("next")] });
    await scene.runtime.advance(6_999);
    assert.deepEqual(await scene.outcomes(), []);
    await scene.runtime.advance(1);
    assert.deepEqual(await scene.outcomes(), ["deaf TIMED_OUT"]);
    await scene.runtime.advance(60_000);
    assert.deepEqual([scene.called, scene.executor.occupied], [["deaf"], 1]);
    scene.running("deaf").return("nobody listens");
    assert.deepEqual(await scene.outcomes(), ["deaf TIMED_OUT"]);
    assert.deepEqual([scene.called, scene.executor.occupied], [["deaf", "next"], 1]);
  });

  it("does not start its grace time anew when the server says it as well", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("deaf", { timeoutMs: 5_000, cancelGraceMs: 2_000 })] });
    await scene.runtime.advance(6_000);
    scene.apply({ cancels: [{ ...ref("deaf"), cause: "TIMED_OUT" }] });
    await scene.runtime.advance(1_000);
    assert.deepEqual(await scene.outcomes(), ["deaf TIMED_OUT"]);
  });

  it("is CANCELLED where the handler was cancelled before and ignored that too", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("deaf", { timeoutMs: 5_000, cancelGraceMs: 2_000 })] });
    scene.apply({ cancels: [{ ...ref("deaf"), cause: "REQUESTED" }] });
    await scene.runtime.advance(7_000);
    assert.deepEqual(await scene.outcomes(), ["deaf CANCELLED"]);
  });

  it("meets each attempt at its own time, whatever the others do", async () => {
    const scene = new ExecutorScene(10);
    const timeoutsMs = { slow: 7_200_000, short: 100, middle: 3_000, later: 3_050 };
    for (const [id, timeoutMs] of Object.entries(timeoutsMs)) {
      scene.apply({ assigns: [assignment(id, { timeoutMs, cancelGraceMs: 0 })] });
    }
    scene.running("middle").return();
    const endedAfterMs = async () => Object.fromEntries((await scene.finished()).map(lived));
    await scene.runtime.advance(10_000);
    const ended = await endedAfterMs();
    assert.deepEqual(Object.keys(ended), ["middle", "short", "later"]);
    for (const id of ["short", "later"] as const) {
      // The timeout, and at most one step of twenty milliseconds each for the timeout and for the grace time.
      const lateMs = (ended[id] ?? 0) - timeoutsMs[id];
      assert.ok(lateMs >= 0 && lateMs <= 40, `${id} is ${lateMs} ms late`);
    }
    await scene.runtime.advance(7_190_040);
    assert.deepEqual(Object.keys(await endedAfterMs()), ["middle", "short", "later", "slow"]);
  });
});

describe("an attempt that is not current any more", () => {
  it("is aborted, keeps its slot until it ends, and has nothing to say", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a", "b");
    scene.apply({ forget: [ref("a"), ref("unknown")] });
    const { ctx, return: end } = scene.running("a");
    assert.equal(ctx.signal.reason.reason, "SUPERSEDED");
    assert.deepEqual(scene.called, ["a"]);
    ctx.progress(0.5);
    ctx.log("still there");
    end();
    assert.deepEqual(await scene.outcomes(), []);
    assert.deepEqual(scene.called, ["a", "b"]);
    await scene.runtime.advance(100);
    assert.deepEqual(
      scene.reports.flatMap(({ progress, logs }) => [...progress, ...logs]),
      [],
    );
  });

  it("gives way to the next one, which waits its turn", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    scene.apply({ assigns: [assignment("a", { attempt: 2 })] });
    assert.equal(scene.running("a", 1).ctx.signal.aborted, true);
    scene.running("a", 1).return("old");
    await scene.runtime.turn();
    scene.running("a", 2).return("new");
    assert.deepEqual(
      (await scene.finished()).map(({ attempt, result }) => [attempt, result]),
      [[2, '"new"']],
    );
  });
});

describe("an executor that drains", () => {
  it("hands back what waits and what still comes, and finishes the rest", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a", "b");
    scene.apply({ drain: true });
    scene.assign("late");
    assert.deepEqual(await scene.outcomes(), ["b RELEASED", "late RELEASED"]);
    assert.equal(scene.running("a").ctx.signal.aborted, false);
    scene.running("a").return();
    assert.deepEqual(await scene.outcomes(), ["b RELEASED", "late RELEASED", "a SUCCEEDED"]);
    assert.deepEqual(scene.called, ["a"]);
  });

  it("aborts the older attempt of what it hands back", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    scene.apply({ drain: true });
    scene.apply({ assigns: [assignment("a", { attempt: 2 })] });
    assert.equal(scene.running("a").ctx.signal.reason?.reason, "SUPERSEDED");
    assert.deepEqual(await scene.outcomes(), ["a RELEASED"]);
  });

  it("aborts all that runs when the worker leaves", async () => {
    const scene = new ExecutorScene(2);
    scene.assign("a", "b");
    scene.apply({ drain: true, abandon: true });
    assert.deepEqual(
      ["a", "b"].map((id) => scene.running(id).ctx.signal.reason.reason),
      ["WORKER_LEAVES", "WORKER_LEAVES"],
    );
    scene.running("a").return();
    assert.deepEqual(await scene.outcomes(), []);
  });
});

/** A thenable of a library, such as a query, that resolves twice. */
const ANSWERS_TWICE = {
  // oxlint-disable-next-line unicorn/no-thenable -- the test needs an object such as some libraries return
  then: (resolve: (value: string) => void) => [resolve("one"), resolve("two")],
};
const SUCCESS = { outcome: "SUCCEEDED", error: null, advice: null } as const;

/** Time that the handler ran, in milliseconds. */
function lived(report: { executionId: string; startedAtMs: number; finishedAtMs: number }): [string, number] {
  return [report.executionId, report.finishedAtMs - report.startedAtMs];
}
