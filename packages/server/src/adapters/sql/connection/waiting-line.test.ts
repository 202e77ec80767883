import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import { ManualRuntime } from "../../../ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "../../../ports/store.ts";
import { WaitingLine } from "./waiting-line.ts";

const LIMITS = { inside: 2, waitMs: 1_000, perTurn: 10 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A line whose pieces of work end when the test says so. */
function line() {
  const runtime = new ManualRuntime();
  const waiting = new WaitingLine(runtime, LIMITS);
  const begun: (() => void)[] = [];
  const refused: unknown[] = [];
  const add = (count: number) => {
    for (let left = count; left > 0; left--) {
      waiting
        .through(() => new Promise<void>((resolve) => begun.push(resolve)))
        .catch((error: unknown) => refused.push(error));
    }
  };
  return { runtime, waiting, begun, refused, add };
}

describe("the line in front of the connections of a pool", () => {
  it("lets so many works in at once, and the next one when one has ended", async () => {
    const { waiting, begun, add } = line();
    add(4);
    await settled();
    assert.deepEqual([begun.length, waiting.length], [2, 2]);
    begun[0]?.();
    await settled();
    assert.deepEqual([begun.length, waiting.length], [3, 1]);
  });

  it("refuses the works that waited too long some at a time, so that thousands do not hold the event loop", async () => {
    const { runtime, refused, add } = line();
    add(2 + 25);
    const timers = mock.method(runtime, "setTimer");
    await runtime.advance(LIMITS.waitMs);
    await settled();
    assert.equal(refused.length, 25);
    // Each call refuses ten, and sets the next timer.
    assert.equal(timers.mock.callCount(), 2);
    assert.ok(refused.every((error) => error instanceof StoreUnavailable && error.isUnasked));
  });

  it("lets works through some at a time where each of them ends at once", async () => {
    const runtime = new ManualRuntime();
    const waiting = new WaitingLine(runtime, LIMITS);
    let end = () => {};
    const first = [1, 2].map(() => waiting.through(() => new Promise<void>((resolve) => (end = resolve))));
    let done = 0;
    for (let n = 0; n < 100; n++) void waiting.through(async () => void done++);
    end();
    await settled();
    assert.equal(done, LIMITS.perTurn);
    // All turns of the event loop.
    await runtime.advance(1);
    await settled();
    assert.equal(done, 100);
    assert.equal(first.length, 2);
  });
});
