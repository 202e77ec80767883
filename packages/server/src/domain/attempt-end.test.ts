import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { afterAttempt } from "./attempt-end.ts";
import { ATTEMPT_STATES } from "./execution.ts";
import { DEFAULT_POLICY } from "./job.ts";
import type { RetryAdvice } from "./retry.ts";

const NOW = 1_000_000;
const LATER = 10 * NOW;

const ends = fc.record({
  state: fc.constantFrom(...ATTEMPT_STATES),
  advice: fc.constantFrom<RetryAdvice>(
    null,
    { kind: "NEVER" },
    { kind: "AT", at: NOW - 5 },
    { kind: "AT", at: NOW + 5 },
  ),
  cancelRequested: fc.boolean(),
  lifetimeEndsAt: fc.integer({ min: NOW - 5, max: NOW + 5_000 }),
  suspension: fc.record({ until: fc.integer({ min: NOW - 5, max: NOW + 5 }), awaitsSignal: fc.boolean() }),
});
const policies = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 6 }),
  maxLost: fc.integer({ min: 1, max: 4 }),
  onWorkerLost: fc.constantFrom("RETRY" as const, "DEAD" as const),
});

it("never exceeds a budget, never plans into the past, and always ends", () => {
  fc.assert(
    fc.property(policies, fc.array(ends, { minLength: 1, maxLength: 60 }), ({ maxAttempts, ...rest }, news) => {
      const policy = { ...DEFAULT_POLICY, ...rest, retry: { ...DEFAULT_POLICY.retry, maxAttempts } };
      let spent = { failures: 0, lost: 0 };
      for (const end of news) {
        const after = afterAttempt(spent, end, policy, NOW, 0.5);
        assert.ok(after.failures <= maxAttempts && after.lost <= rest.maxLost);
        if (end.state === "RELEASED" || end.state === "SUSPENDED")
          assert.deepEqual([after.failures, after.lost], [spent.failures, spent.lost]);
        if (after.next.state !== "PENDING") return;
        assert.ok(!end.cancelRequested, "what is to be cancelled does not come back");
        const dueAt = after.next.dueAt ?? NOW;
        assert.ok(dueAt >= NOW);
        assert.ok(NOW < end.lifetimeEndsAt && dueAt <= end.lifetimeEndsAt, "nothing outlives its lifetime");
        spent = after;
      }
    }),
  );
});

it("counts failures and timeouts against the attempts, losses against maxLost, releases and suspensions against nothing", () => {
  const counted = ATTEMPT_STATES.map((state) => {
    const after = afterAttempt(
      { failures: 0, lost: 0 },
      { state, advice: null, cancelRequested: false, lifetimeEndsAt: LATER },
      DEFAULT_POLICY,
      NOW,
      0,
    );
    return [state, after.failures, after.lost, after.next.state];
  });
  assert.deepEqual(counted, [
    ["SUCCEEDED", 0, 0, "SUCCEEDED"],
    ["FAILED", 1, 0, "PENDING"],
    ["TIMED_OUT", 1, 0, "PENDING"],
    ["CANCELLED", 0, 0, "CANCELLED"],
    ["WORKER_LOST", 0, 1, "PENDING"],
    ["RELEASED", 0, 0, "PENDING"],
    ["SUSPENDED", 0, 0, "PENDING"],
  ]);
});

it("waits for the end of the first wait, and runs again at once where that has passed", () => {
  const next = (until: number, awaitsSignal: boolean, cancelRequested = false) =>
    afterAttempt(
      { failures: 2, lost: 1 },
      {
        ...{ state: "SUSPENDED", advice: null, cancelRequested, lifetimeEndsAt: LATER },
        suspension: { until, awaitsSignal },
      },
      DEFAULT_POLICY,
      NOW,
      0.5,
    ).next;
  assert.deepEqual(next(NOW + 1, false), { state: "PENDING", dueAt: NOW + 1, reason: "SLEEPING" });
  assert.deepEqual(next(NOW + 1, true), { state: "PENDING", dueAt: NOW + 1, reason: "AWAITS_SIGNAL" });
  assert.deepEqual(next(NOW, true), { state: "PENDING", dueAt: NOW, reason: null });
  assert.deepEqual(next(NOW + 1, false, true), { state: "CANCELLED", reason: null });
});
