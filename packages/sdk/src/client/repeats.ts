import { type Backoff, fullJitterMs } from "../backoff.ts";

/** Limits of the retries of one request. */
export interface RepeatLimits {
  /** Largest number of retries; may be Infinity. */
  times: number;
  /** Time from the first failure to the last retry, in milliseconds; 0: no retry. */
  forMs: number;
}

/** A failed try of a request that may be retried. */
export interface FailedTry {
  /** Number of failed tries, this one included; 1 or more. */
  failures: number;
  /** Time since the first failure, in milliseconds. */
  elapsedMs: number;
  /** Wait that the server asked for, in milliseconds; null: none. */
  retryAfterMs: number | null;
  /** Random number, evenly spread in [0, 1). */
  random: number;
}

const BACKOFF: Backoff = { firstMs: 100, maxMs: 5_000 };

/**
 * Wait before the next retry. Jitter keeps clients that failed together from retrying together, even where a server
 * asked all of them to wait for the same time. The last retry happens at the end of the time limit, so that it reaches
 * a server that has come back by then.
 * @returns wait in milliseconds; null: no retry is left, the request has failed
 */
export function repeatInMs(
  limits: RepeatLimits,
  { failures, elapsedMs, retryAfterMs, random }: FailedTry,
): number | null {
  const leftMs = limits.forMs - elapsedMs;
  const askedMs = retryAfterMs ?? 0;
  if (failures > limits.times || leftMs <= 0 || askedMs > leftMs) return null;
  return Math.min(leftMs, askedMs + fullJitterMs(BACKOFF, failures, random));
}
