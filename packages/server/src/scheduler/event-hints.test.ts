import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryBus } from "../adapters/memory/memory-bus.ts";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import { EventHints } from "./event-hints.ts";

describe("hints at events", () => {
  it("go out at once, and then at most every 50 ms, also for the last commit", async () => {
    const runtime = new ManualRuntime();
    const bus = memoryBus(runtime.uuid(), runtime);
    const begunMs = runtime.monotonicMs();
    const heard: number[] = [];
    bus.listen("api", (envelopes) => {
      for (const { message } of envelopes)
        if (message.kind === "EVENTS_WRITTEN") heard.push(runtime.monotonicMs() - begunMs);
    });
    const hints = new EventHints(bus, runtime);
    for (let commit = 0; commit < 12; commit++) {
      hints.written();
      await runtime.advance(0);
      await runtime.advance(10);
    }
    await runtime.advance(1_000);
    hints.written();
    await runtime.advance(0);
    assert.deepEqual(heard, [0, 50, 100, 150, 1_120]);
  });
});
