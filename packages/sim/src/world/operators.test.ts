import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import { History } from "../history.ts";
import { Operators } from "./operators.ts";
import type { SimServer } from "./sim-server.ts";

const DAY_MS = 86_400_000;
/** Time at which the shorter pauses are over, in simulated milliseconds. */
const LATE_MS = 17_000;

describe("whoever runs the servers", () => {
  it("resumes the pool also where a pause that nobody confirmed takes effect after it was resumed", async () => {
    const clock = new VirtualClock();
    let isPaused = false;
    let resumedMs = 0;
    let late = 0;
    const put = ({ paused }: { paused: boolean }) => {
      const askedMs = clock.nowMs;
      if (!paused) {
        isPaused = false;
        resumedMs = askedMs;
        return Promise.resolve({ unconfirmedBy: [] });
      }
      clock.plan(LATE_MS, () => {
        isPaused = true;
        if (resumedMs <= askedMs) return;
        late++;
        operators.stop();
      });
      return new Promise(() => undefined);
    };
    const store = { deadLetters: { list: async () => ({ items: [] }) } };
    const server = { store, pools: { put } } as unknown as SimServer;
    const operators = new Operators(
      clock,
      new SeededRandom(1),
      new History(clock),
      () => server,
      () => isPaused,
    );
    operators.start(120_000);
    await clock.runUntil(DAY_MS);
    assert.equal(late, 1);
    assert.equal(isPaused, false);
  });
});
