import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Tally } from "./tally.ts";

describe("a tally", () => {
  it("sees a job that ran twice, and one that did not run", () => {
    const tally = new Tally();
    tally.expect(3);
    for (const n of [0, 2, 2]) void tally.ran({ n });
    const { runs, distinct, startedAtMs } = tally.report();
    assert.deepEqual([runs, distinct], [3, 2]);
    assert.deepEqual(
      [...startedAtMs].map((atMs) => atMs > 0),
      [true, false, true],
    );
  });

  it("sees a run of a job that nobody submitted", () => {
    const tally = new Tally();
    tally.expect(1);
    for (const n of [0, 1]) void tally.ran({ n });
    const { runs, distinct } = tally.report();
    assert.notEqual(runs, distinct);
  });
});
