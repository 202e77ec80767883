import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TerminalError } from "@mainspring/sdk";
import { builtInTasks } from "./built-in-tasks.ts";
import { HandTimers, invoke } from "./handlers.fixture.ts";

const settings = { httpAllowPrivate: [], webhookSecret: null, exec: false };

function start(handler: string, payload: unknown) {
  const { runtime, timers } = new HandTimers();
  const task = builtInTasks(runtime, settings).find(({ name }) => name === handler);
  assert.ok(task);
  return { timers, ...invoke(task, payload) };
}

describe("built-in handlers", () => {
  it("are echo, sleep and http; exec only where it is switched on", () => {
    const names = (exec: boolean) =>
      builtInTasks(new HandTimers().runtime, { ...settings, exec }).map(({ name }) => name);
    assert.deepEqual(names(false), ["echo", "sleep", "http"]);
    assert.deepEqual(names(true), ["echo", "sleep", "http", "exec"]);
  });

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
    abort("CANCELLED");
    await assert.rejects(result, { name: "AbortError" });
    assert.equal(timers.size, 0);
  });

  it("sleep refuses for good what is not a duration", async () => {
    for (const payload of [null, 5, "5", {}, { ms: -1 }, { ms: 0.5 }, { ms: 86_400_001 }, { ms: 1, s: 1 }]) {
      await assert.rejects(start("sleep", payload).result, TerminalError);
    }
  });
});
