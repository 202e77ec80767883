import { EPOCH_MS } from "../sim-process.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";

/**
 * Nothing starts before it is due, and the time between a failure and the next attempt is what the policy says: doubling
 * from the first delay up to the longest, of which jitter takes up to a half.
 */
export function retriesWait(ledger: Ledger): Checker {
  return {
    name: "retries wait",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        // Assigned again and lost or handed back, in the same commit: its time is still by the failure before.
        const failed = after.attempts.findLast(({ state }) => state === "FAILED" || state === "TIMED_OUT");
        const isRetry = after.state === "PENDING" && after.failures > before.failures && failed !== undefined;
        if (isRetry && after.failures === before.failures + 1) judge(after, failed.finishedAt, event.at);
      }
    },
    noticed(moment) {
      if (moment.kind !== "HANDLER_STARTED") return;
      const dueAt = ledger.get(moment.executionId)?.assigned.get(moment.attempt)?.dueAt ?? 0;
      const earlyMs = dueAt - EPOCH_MS - moment.atMs;
      // The store's clock shows whole milliseconds.
      if (earlyMs < 1) return;
      throw new Violation(`attempt ${moment.attempt} of ${moment.executionId} began ${Math.ceil(earlyMs)} ms early`);
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
