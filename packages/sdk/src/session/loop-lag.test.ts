import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualRuntime } from "../../test/manual-runtime.ts";
import { LoopLag } from "./loop-lag.ts";

describe("the lag of a loop", () => {
  it("is how long the last ping waited for its answer", async () => {
    const runtime = new ManualRuntime();
    const lag = new LoopLag(runtime, () => undefined);
    assert.equal(lag.lagMs, 0);
    lag.start();
    await runtime.advance(30);
    lag.answered();
    assert.equal(lag.lagMs, 30);
    await runtime.advance(970);
    assert.equal(lag.lagMs, 30);
    lag.answered();
    assert.equal(lag.lagMs, 0);
  });

  it("grows while a ping waits, and no other one is sent meanwhile", async () => {
    const runtime = new ManualRuntime();
    let pings = 0;
    const lag = new LoopLag(runtime, () => pings++);
    lag.start();
    await runtime.advance(10_500);
    assert.deepEqual([pings, lag.lagMs], [1, 10_500]);
    lag.answered();
    await runtime.advance(500);
    assert.deepEqual([pings, lag.lagMs], [2, 10_500]);
    lag.stop();
    lag.answered();
    await runtime.advance(10_000);
    assert.equal(pings, 2);
  });
});
