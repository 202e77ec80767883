import { type Backoff, fullJitterMs } from "./backoff.ts";

/** Limits of the repeats of one request. */
export interface RepeatLimits {
  /** Number of repeats at most; may be Infinity. */
  times: number;
  /** Time from the first failure to the last try, in milliseconds; 0: no repeat. */
  forMs: number;
}

/** A try that failed, of a request that may be repeated. */
export interface FailedTry {
  /** Number of failed tries, this one included; 1 or more. */
  failures: number;
  /** Time since the first failure, in milliseconds. */
  elapsedMs: number;
  /** Wait that the server asks for, in milliseconds; null: none. */
  retryAfterMs: number | null;
  /** Random number, evenly spread in [0, 1). */
  dice: number;
}

const BACKOFF: Backoff = { firstMs: 100, maxMs: 5_000 };

/**
 * Wait before the next try. Clients that failed together do not return together, also where a server asked all of them to wait
 * for the same time. The last try comes when the time is over, so that a server that is back by then is reached.
 * @returns milliseconds; null: the request has failed
 */
export function repeatInMs(
  limits: RepeatLimits,
  { failures, elapsedMs, retryAfterMs, dice }: FailedTry,
): number | null {
  const leftMs = limits.forMs - elapsedMs;
  const askedMs = retryAfterMs ?? 0;
  if (failures > limits.times || leftMs <= 0 || askedMs > leftMs) return null;
  return Math.min(leftMs, askedMs + fullJitterMs(BACKOFF, failures, dice));
}
