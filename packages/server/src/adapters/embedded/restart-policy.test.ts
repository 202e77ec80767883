import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { afterRun, NO_RUNS, type RestartHistory } from "./restart-policy.ts";

/** Delays after a series of runs, each given by the time until it accepted connections (null: never). */
function delaysAfter(runs: (number | null)[]): (number | null)[] {
  let history: RestartHistory = NO_RUNS;
  return runs.map((readyMs) => {
    const next = afterRun(history, readyMs);
    history = next.history;
    return next.delayMs;
  });
}

describe("restarting", () => {
  it("is immediate at first, then ever more patient, and given up at last", () => {
    const delays = delaysAfter(Array.from({ length: 8 }, () => null));
    assert.deepEqual(delays, [0, 50, 100, 200, 400, 800, 1_600, null]);
  });

  it("goes on for as long as there is no room on the disk, and counts none of that", () => {
    let history: RestartHistory = NO_RUNS;
    for (let run = 0; run < 100; run++) {
      const next = afterRun(history, null, false);
      assert.ok(next.delayMs !== null && next.delayMs <= 2_000);
      history = next.history;
    }
    for (let run = 0; run < 7; run++) ({ history } = afterRun(history, null));
    assert.equal(afterRun(history, null).delayMs, null);
  });

  it("begins again after a long run", () => {
    assert.deepEqual(delaysAfter([100, 100, 100, 60_000, 60_000]), [0, 50, 100, 0, 0]);
  });

  it("never gives up a PostgreSQL that became ready within its last eight runs, and never waits over 2 s", () => {
    const run = fc.option(fc.nat(100_000), { freq: 3 });
    fc.assert(
      fc.property(fc.array(run, { maxLength: 40 }), (runs) => {
        for (const [index, delayMs] of delaysAfter(runs).entries()) {
          const lastEight = runs.slice(Math.max(0, index - 7), index + 1);
          assert.equal(delayMs === null, lastEight.length === 8 && lastEight.every((readyMs) => readyMs === null));
          if (delayMs !== null) assert.ok(delayMs >= 0 && delayMs <= 2_000);
        }
      }),
    );
  });
});
