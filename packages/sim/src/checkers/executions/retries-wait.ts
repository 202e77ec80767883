import type { ExecutionRow } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Ledger } from "../recurring/ledger.ts";

/**
 * Nothing starts before it is due, and the time between a failure and the next attempt follows the policy: doubling
 * from the first delay up to the longest, shortened by jitter to no less than half.
 */
export function retriesWait(ledger: Ledger): Checker {
  return {
    name: "retries wait",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        // The attempt was assigned again and lost or handed back in the same commit, so the earlier failure still
        // determines its time.
        const failed = after.attempts.findLast(({ state }) => state === "FAILED" || state === "TIMED_OUT");
        const isRetry = after.state === "PENDING" && after.failures > before.failures && failed !== undefined;
        if (isRetry && after.failures === before.failures + 1) judge(after, failed.finishedAt, event.at);
      }
    },
    noticed(event) {
      if (event.kind !== "HANDLER_STARTED") return;
      const dueAt = ledger.get(event.executionId)?.assigned.get(event.attempt)?.dueAt ?? 0;
      const earlyMs = dueAt - EPOCH_MS - event.atMs;
      // The store's clock shows whole milliseconds.
      if (earlyMs < 1) return;
      throw new Violation(`attempt ${event.attempt} of ${event.executionId} began ${Math.ceil(earlyMs)} ms early`);
    },
  };
}

function judge({ id, dueAt, failures, job }: ExecutionRow, failedAt: number, writtenAt: number): void {
  const { backoff, initialDelayMs, maxDelayMs, jitter } = job.definition.policy.retry;
  let fullMs = initialDelayMs;
  if (backoff === "EXPONENTIAL") for (let i = 1; i < failures && fullMs < maxDelayMs; i++) fullMs *= 2;
  fullMs = Math.min(fullMs, maxDelayMs);
  const leastMs = jitter ? Math.floor(fullMs / 2) : fullMs;
  if (dueAt >= failedAt + leastMs && dueAt <= writtenAt + fullMs) return;
  const waitMs = dueAt - failedAt;
  throw new Violation(
    `failure ${failures} of ${id} waits for ${waitMs} ms where ${leastMs} to ${fullMs} were asked for`,
  );
}
