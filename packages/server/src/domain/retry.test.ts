import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { backoffMs, type RetryPolicy } from "./retry.ts";

const policies = fc.record<RetryPolicy>({
  maxAttempts: fc.integer({ min: 1, max: 1_000 }),
  backoff: fc.constantFrom("FIXED", "EXPONENTIAL"),
  initialDelayMs: fc.integer({ min: 0, max: 86_400_000 }),
  maxDelayMs: fc.integer({ min: 0, max: 86_400_000 * 30 }),
  jitter: fc.boolean(),
});
const failures = fc.integer({ min: 1, max: 5_000 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

it("never waits longer than the maximum, nor less than nothing, and always whole milliseconds", () => {
  fc.assert(
    fc.property(policies, failures, random, (policy, count, roll) => {
      const delayMs = backoffMs(policy, count, roll);
      assert.ok(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= policy.maxDelayMs);
    }),
  );
});

it("never shrinks from one failure to the next, but for jitter", () => {
  fc.assert(
    fc.property(policies, failures, (policy, count) => {
      const steady = { ...policy, jitter: false };
      assert.ok(backoffMs(steady, count + 1, 0) >= backoffMs(steady, count, 0));
    }),
  );
});

it("keeps jitter within the second half of the delay", () => {
  fc.assert(
    fc.property(policies, failures, random, (policy, count, roll) => {
      const full = backoffMs({ ...policy, jitter: false }, count, 0);
      const jittered = backoffMs({ ...policy, jitter: true }, count, roll);
      assert.ok(jittered >= Math.floor(full / 2) && jittered <= full);
    }),
  );
});

it("doubles from the initial delay up to the cap", () => {
  const policy = {
    maxAttempts: 9,
    backoff: "EXPONENTIAL",
    initialDelayMs: 1_000,
    maxDelayMs: 10_000,
    jitter: false,
  } as const;
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((count) => backoffMs(policy, count, 0)),
    [1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
  );
});
