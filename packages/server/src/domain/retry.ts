import type { EpochMs } from "./ids.ts";

/** Rules by which failures of one execution are retried. */
export interface RetryPolicy {
  /** Failures (FAILED, TIMED_OUT) after which the execution is DEAD; 1 or more. */
  maxAttempts: number;
  backoff: "FIXED" | "EXPONENTIAL";
  /** Delay in ms before the second attempt; 0 or more. */
  initialDelayMs: number;
  /** Longest delay in ms. */
  maxDelayMs: number;
  /**
   * Whether each delay is spread evenly over its second half, so that executions which failed together do not return
   * together.
   */
  jitter: boolean;
}

/** The handler's decision about a retry; null: the policy decides. */
export type RetryAdvice = { kind: "NEVER" } | { kind: "AT"; at: EpochMs } | null;

/**
 * Milliseconds from a failure to the next attempt.
 * @param failures number of failures, including this one; 1 or more
 * @param random evenly distributed in [0, 1)
 */
export function backoffMs(policy: RetryPolicy, failures: number, random: number): number {
  // The bound only keeps the exponent small: past `maxDelayMs` it does not matter.
  const doublings = policy.backoff === "FIXED" ? 0 : Math.min(failures - 1, 60);
  const full = Math.min(policy.initialDelayMs * 2 ** doublings, policy.maxDelayMs);
  return Math.round(policy.jitter ? full / 2 + (full / 2) * random : full);
}
