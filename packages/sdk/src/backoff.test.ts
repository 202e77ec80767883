import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { fullJitterMs } from "./backoff.ts";

const BACKOFF = { firstMs: 100, maxMs: 3_000 };

describe("full jitter", () => {
  it("spreads over a range that doubles up to its end", () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 1_000_000].map((failures) => fullJitterMs(BACKOFF, failures, 0.999_999_9));
    assert.deepEqual(ceilings, [99, 199, 399, 799, 1_599, 2_999, 2_999, 2_999]);
    assert.equal(fullJitterMs(BACKOFF, 5, 0), 0);
    assert.equal(fullJitterMs(BACKOFF, 5, 0.5), 800);
  });

  it("is a whole number within its bounds for every row of failures and every random number", () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const backoffs = fc.record({ firstMs: fc.nat(10_000), maxMs: fc.nat(10_000_000) });
    fc.assert(
      fc.property(backoffs, fc.integer({ min: 1 }), random, (backoff, failures, random) => {
        const waitMs = fullJitterMs(backoff, failures, random);
        assert.ok(Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= backoff.maxMs, `${waitMs}`);
        assert.ok(fullJitterMs(backoff, failures + 1, random) >= waitMs);
      }),
    );
  });
});
