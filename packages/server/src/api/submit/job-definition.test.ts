import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JobSubmission } from "@mainspring/contract";
import { contradictions, jobDefinition } from "./job-definition.ts";

const NOW = Date.UTC(2026, 0, 1);
const define = (job: Partial<JobSubmission>) => jobDefinition({ target: { handler: "echo" }, ...job }, NOW);

describe("a job's definition", () => {
  it("sorts what a worker must have, and drops repeats", () => {
    const { requires } = define({ target: { handler: "echo", requires: ["region=eu", "gpu", "gpu"] } });
    assert.deepEqual(requires, ["gpu", "region=eu"]);
  });

  it("reads priorities by name and by number", () => {
    const priorities = (["LOW", "NORMAL", "HIGH", "CRITICAL", 0, 9] as const).map((priority) => define({ priority }));
    assert.deepEqual(
      priorities.map(({ priority }) => priority),
      [2, 5, 7, 9, 0, 9],
    );
  });

  it("is due at its time, after its delay, or now, and never in the past", () => {
    assert.equal(define({ runAt: "2026-06-01T00:00:00Z" }).scheduledAt, Date.UTC(2026, 5, 1));
    assert.equal(define({ runAt: "2020-06-01T00:00:00Z" }).scheduledAt, NOW);
    assert.equal(define({ delayMs: 1_500 }).scheduledAt, NOW + 1_500);
    assert.equal(define({}).scheduledAt, NOW);
  });

  it("merges a part of a retry policy with the defaults, and lets the cap follow a long first delay", () => {
    const { retry } = define({ retryPolicy: { maxAttempts: 2, initialDelayMs: 7_200_000 } }).policy;
    const rest = { backoff: "EXPONENTIAL", jitter: true } as const;
    assert.deepEqual(retry, { maxAttempts: 2, initialDelayMs: 7_200_000, maxDelayMs: 7_200_000, ...rest });
  });

  it("keeps times in milliseconds", () => {
    const { policy } = define({ timeoutSec: 1.5, cancelGraceSec: 0, startBefore: "2026-06-01T00:00:00+02:00" });
    const startBefore = Date.UTC(2026, 4, 31, 22);
    assert.deepEqual([policy.timeoutMs, policy.cancelGraceMs, policy.startBefore], [1_500, 0, startBefore]);
  });

  it("keeps a lifetime, and no member for the default one", () => {
    assert.equal(define({ maxLifetimeSec: 1.5 }).policy.maxLifetimeMs, 1_500);
    for (const job of [{}, { timeoutSec: 5 }, { maxLifetimeSec: 365 * 86_400 }])
      assert.ok(!("maxLifetimeMs" in define(job).policy), JSON.stringify(job));
  });

  it("names what contradicts itself", () => {
    const job: JobSubmission = {
      target: { handler: "echo" },
      ...{ runAt: "2026-06-01T00:00:00Z", delayMs: 0, startBefore: "2026-06-01T00:00:00Z" },
      ...{ concurrencyLimit: 1, retryPolicy: { initialDelayMs: 10, maxDelayMs: 5 } },
    };
    const fields = contradictions(job, NOW).map(({ field }) => field);
    assert.deepEqual(fields, ["delayMs", "startBefore", "concurrencyLimit", "retryPolicy.maxDelayMs"]);
  });
});
