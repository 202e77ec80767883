import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addBuckets, countDelay, delayQuantile, emptyBuckets } from "./delay-buckets.ts";

describe("delays counted in buckets", () => {
  it("tell quantiles to a fifth", () => {
    const buckets = emptyBuckets();
    for (let ms = 1; ms <= 1_000; ms++) countDelay(buckets, ms);
    const near = (share: number, ms: number) => {
      const told = delayQuantile(buckets, share) ?? -1;
      assert.ok(told >= ms * 0.99 && told <= ms * 1.21, `${share}: ${told} for ${ms}`);
    };
    near(0.5, 500);
    near(0.99, 990);
    near(1, 1_000);
  });

  it("know no delay, an early one, and an absurd one", () => {
    const buckets = emptyBuckets();
    assert.equal(delayQuantile(buckets, 0.5), null);
    countDelay(buckets, -5);
    assert.equal(delayQuantile(buckets, 0.5), 0);
    countDelay(buckets, Number.MAX_SAFE_INTEGER);
    assert.ok((delayQuantile(buckets, 1) ?? 0) > 30 * 86_400_000);
  });

  it("add up over several counts", () => {
    const [a, b] = [emptyBuckets(), emptyBuckets()];
    countDelay(a, 0);
    countDelay(b, 100);
    const both = addBuckets([a, b]);
    assert.equal(delayQuantile(both, 0.5), 0);
    assert.equal(delayQuantile(both, 1), delayQuantile(b, 1));
  });
});
