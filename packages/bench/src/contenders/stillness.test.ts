import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Stillness } from "./stillness.ts";

/** Times at which a store with these writes, asked every 5 ms, is recounted. */
function recountsOf(writesAt: (ms: number) => number, untilMs: number): number[] {
  const stillness = new Stillness(0);
  const recounts: number[] = [];
  for (let ms = 0; ms <= untilMs; ms += 5) if (stillness.seen(writesAt(ms), ms)) recounts.push(ms);
  return recounts;
}

describe("stillness of a store", () => {
  it("asks for one recount after each burst of writes", () => {
    const bursts = (ms: number) => Math.min(ms, 50) + (ms >= 200 ? Math.min(ms - 200, 20) : 0);
    assert.deepEqual(recountsOf(bursts, 600), [80, 250]);
  });

  it("asks for a recount every second while the writes go on, or none come", () => {
    assert.deepEqual(
      recountsOf((ms) => ms, 2_100),
      [1_000, 2_000],
    );
    assert.deepEqual(
      recountsOf(() => 7, 2_100),
      [30, 1_030, 2_030],
    );
  });

  it("keeps the time of the latest write, and not of the recount", () => {
    const stillness = new Stillness(0);
    for (const [writes, ms] of [
      [1, 0],
      [2, 5],
      [2, 10],
      [2, 40],
    ] as const)
      stillness.seen(writes, ms);
    assert.equal(stillness.changedAtMs, 5);
  });
});
