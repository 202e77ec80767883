import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PoolNames } from "./pool-names.ts";

describe("the pools that jobs name", () => {
  it("are bounded: one more is refused with what would be right, and known ones are taken", () => {
    const names = new PoolNames(2, { monotonicMs: () => 0 });
    assert.deepEqual([names.use("a"), names.use("b"), names.use("a")], [null, null, null]);
    const refused = names.use("c");
    assert.equal(refused?.type, "/problems/wrong-state");
    assert.match(refused?.detail ?? "", /^target.pool is one more than the 2 pools .* set MAINSPRING_POOLS_MAX$/);
  });

  it("are forgotten an hour after their last job, if their place is wanted", () => {
    let nowMs = 0;
    const names = new PoolNames(2, { monotonicMs: () => nowMs });
    for (const pool of ["a", "b"]) names.use(pool);
    nowMs = 3_000_000;
    names.use("a");
    nowMs = 3_700_000;
    assert.deepEqual([names.use("c"), names.use("a")], [null, null]);
    assert.notEqual(names.use("d"), null);
  });
});
