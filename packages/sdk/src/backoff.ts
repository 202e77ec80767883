/** How long to wait before trying again. */
export interface Backoff {
  /** Longest wait before the first retry. */
  firstMs: number;
  /** No wait is longer. */
  maxMs: number;
}

/**
 * Exponential with full jitter: those who failed together must not return together.
 * @param failures how many there were in a row; 1 or more
 * @param dice evenly spread in [0, 1)
 * @returns milliseconds, 0 to `maxMs`
 */
export function fullJitterMs(backoff: Backoff, failures: number, dice: number): number {
  // The exponent is bounded so that the product stays a number; long before that it is past the cap.
  const ceilingMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.floor(ceilingMs * dice);
}
