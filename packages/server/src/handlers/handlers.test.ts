import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type TaskContext, TerminalError } from "@mainspring/sdk";
import type { Runtime } from "../ports/runtime.ts";
import { builtInTasks } from "./built-in-tasks.ts";

/** A clock that stands until it is told to go. */
function standingClock() {
  const timers = new Set<{ delayMs: number; run: () => void }>();
  const setTimer: Runtime["setTimer"] = (delayMs, run) => {
    const timer = { delayMs, run };
    timers.add(timer);
    return { cancel: () => timers.delete(timer) };
  };
  return { timers, runtime: { setTimer } as Runtime };
}

function start(handler: string, payload: unknown) {
  const clock = standingClock();
  const abort = new AbortController();
  const task = builtInTasks(clock.runtime).find(({ name }) => name === handler);
  assert.ok(task);
  const result = (async () => task.invoke(payload, { signal: abort.signal } as TaskContext))();
  return { ...clock, abort, result };
}

describe("built-in handlers", () => {
  it("echo gives its payload back, and null for none", async () => {
    const payload = { hello: ["world", 1, null] };
    assert.deepEqual(await start("echo", payload).result, payload);
    assert.equal(await start("echo", undefined).result, null);
  });

  it("sleep ends when its time has passed", async () => {
    const { timers, result } = start("sleep", { ms: 250 });
    const [timer] = timers;
    assert.equal(timer?.delayMs, 250);
    timer.run();
    assert.deepEqual(await result, { sleptMs: 250 });
  });

  it("sleep ends at once when it is cancelled, and leaves no timer behind", async () => {
    const { timers, abort, result } = start("sleep", { ms: 60_000 });
    abort.abort(new Error("cancelled"));
    await assert.rejects(result, /cancelled/);
    assert.equal(timers.size, 0);
  });

  it("sleep refuses for good what is not a duration", async () => {
    for (const payload of [null, 5, "5", {}, { ms: -1 }, { ms: 0.5 }, { ms: 86_400_001 }, { ms: 1, s: 1 }]) {
      await assert.rejects(start("sleep", payload).result, TerminalError);
    }
  });
});
