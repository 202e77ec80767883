import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene, ref } from "../../test/executor-scene.ts";
import type { FailedAttempt, HookedAttempt, Stall, SucceededAttempt, WorkerHooks } from "./worker-hooks.ts";

/** Hooks that record their calls as `hook execution …`. */
function recording(): {
  heard: string[];
  last: { failed?: FailedAttempt; started?: HookedAttempt; done?: SucceededAttempt };
  hooks: WorkerHooks;
} {
  const heard: string[] = [];
  const last: ReturnType<typeof recording>["last"] = {};
  const told = (stall: Stall) =>
    stall.reason === "HANDLER_STUCK" ? `${stall.reason} ${stall.attempt.executionId}` : stall.reason;
  const hooks: WorkerHooks = {
    onStart: (attempt) => void (heard.push(`start ${attempt.executionId}`), (last.started = attempt)),
    onSuccess: (attempt) => void (heard.push(`success ${attempt.executionId}`), (last.done = attempt)),
    onFailure: (attempt) =>
      void (heard.push(`failure ${attempt.executionId} ${attempt.outcome}`), (last.failed = attempt)),
    onStalled: (stall) => void heard.push(`stalled ${told(stall)}`),
  };
  return { heard, last, hooks };
}

describe("the hooks of a worker", () => {
  it("hear when an attempt starts, and how it ends", async () => {
    const { heard, last, hooks } = recording();
    const scene = new ExecutorScene(2, [], hooks);
    scene.apply({ assigns: [assignment("a", { attempt: 2, failures: 1 }), assignment("b"), assignment("waits")] });
    assert.deepEqual(heard, ["start a", "start b"]);
    const known = { handler: "manual", maxAttempts: 5, traceparent: null };
    assert.deepEqual(last.started, { ...ref("b"), ...known, failures: 0, startedAt: new Date(1_000_000) });
    await scene.runtime.advance(7);
    scene.running("a", 2).return("done");
    await scene.runtime.turn();
    const startedAt = new Date(1_000_000);
    assert.deepEqual(last.done, { ...ref("a", 2), ...known, failures: 1, startedAt, durationMs: 7 });
    scene.running("b").throw(new RangeError("no"));
    await scene.runtime.turn();
    assert.deepEqual(
      [last.failed?.error?.name, last.failed?.error?.message, last.failed?.durationMs],
      ["RangeError", "no", 7],
    );
    assert.deepEqual(heard.slice(2), ["success a", "start waits", "failure b FAILED"]);
  });

  it("hear one end of each attempt that has started, however it ends, and nothing of those that have not", async () => {
    const { heard, hooks } = recording();
    const scene = new ExecutorScene(4, [], hooks);
    scene.apply({
      assigns: ["c", "t", "s", "l", "waits"].map((id) => assignment(id, { timeoutMs: id === "t" ? 50 : 60_000 })),
    });
    scene.apply({
      cancels: [
        { ...ref("c"), cause: "REQUESTED" },
        { ...ref("waits"), cause: "REQUESTED" },
      ],
    });
    scene.running("c").throw(new Error("stopped"));
    scene.apply({ forget: [ref("s")] });
    await scene.runtime.advance(60);
    scene.running("t").return("too late");
    await scene.runtime.turn();
    scene.apply({ drain: true, abandon: true });
    scene.running("l").return();
    scene.running("s").return();
    await scene.runtime.turn();
    const ends = heard.filter((line) => !line.startsWith("start ")).sort();
    assert.deepEqual(ends, [
      "failure c CANCELLED",
      "failure l WORKER_LEAVES",
      "failure s SUPERSEDED",
      "failure t TIMED_OUT",
    ]);
  });

  it("hear of a handler that outlives its attempt, and of a process that stood still", async () => {
    const { heard, hooks } = recording();
    const scene = new ExecutorScene(1, [], hooks);
    scene.guard.begin();
    scene.apply({ assigns: [assignment("t", { timeoutMs: 50, cancelGraceMs: 100 })] });
    await scene.runtime.advance(200);
    assert.deepEqual(heard, ["start t", "failure t TIMED_OUT", "stalled HANDLER_STUCK t"]);
    scene.runtime.stall(60_000);
    scene.guard.beat();
    scene.apply({});
    assert.equal(heard.at(-1), "stalled PROCESS_STOPPED");
  });

  it("harm neither the attempt nor the worker by what they throw, and are logged once each", async () => {
    const broken = () => {
      throw new Error("the metrics are down");
    };
    const rejected = () => Promise.reject(new Error("the tracker is down"));
    const scene = new ExecutorScene(2, [], {
      onStart: broken,
      onSuccess: rejected,
      onFailure: broken,
      onStalled: rejected,
    });
    scene.assign("a", "b", "c", "d");
    scene.running("a").return();
    scene.running("b").throw(new Error("no"));
    await scene.runtime.turn();
    scene.running("c").return();
    scene.running("d").throw(new Error("no"));
    assert.deepEqual((await scene.outcomes()).sort(), ["a SUCCEEDED", "b FAILED", "c SUCCEEDED", "d FAILED"]);
    assert.equal(scene.executor.occupied, 0);
    const logged = scene.warnings.map((line) => line.replace(/\. The worker.*/, "")).sort();
    assert.deepEqual(logged, [
      "the hook onFailure failed: Error: the metrics are down",
      "the hook onStart failed: Error: the metrics are down",
      "the hook onSuccess failed: Error: the tracker is down",
    ]);
  });
});
