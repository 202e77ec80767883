import type { EpochMs } from "./ids.ts";

/** How failures of one execution are retried. */
export interface RetryPolicy {
  /** Failures (FAILED, TIMED_OUT) after which it is DEAD; 1 or more. */
  maxAttempts: number;
  backoff: "FIXED" | "EXPONENTIAL";
  /** Delay before the second attempt; 0 or more. */
  initialDelayMs: number;
  /** No delay is longer. */
  maxDelayMs: number;
  /** Spreads each delay evenly over its second half, so that a herd that failed together does not return together. */
  jitter: boolean;
}

/** The handler's word on retrying; null: the policy decides. */
export type RetryAdvice = { kind: "NEVER" } | { kind: "AT"; at: EpochMs } | null;

/**
 * Milliseconds from a failure to the next attempt.
 * @param failures how many failures there were, this one included; 1 or more
 * @param dice evenly spread in [0, 1)
 */
export function backoffMs(policy: RetryPolicy, failures: number, dice: number): number {
  // 2 ** 60 would overflow nothing but the reader's patience: past the cap the exponent does not matter.
  const doublings = policy.backoff === "FIXED" ? 0 : Math.min(failures - 1, 60);
  const full = Math.min(policy.initialDelayMs * 2 ** doublings, policy.maxDelayMs);
  return Math.round(policy.jitter ? full / 2 + (full / 2) * dice : full);
}
