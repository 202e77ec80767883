/** Bounds of the waits between retries. */
export interface Backoff {
  /** Longest wait before the first retry, in milliseconds. */
  firstMs: number;
  /** Longest wait before any retry, in milliseconds. */
  maxMs: number;
}

/**
 * Exponential backoff with full jitter, so that clients that failed together do not retry together.
 * @param failures number of failures in a row; 1 or more
 * @param random random number, evenly spread in [0, 1)
 * @returns wait in milliseconds, 0 to `maxMs`
 */
export function fullJitterMs(backoff: Backoff, failures: number, random: number): number {
  // The bound of the exponent keeps the product finite; the product exceeds `maxMs` long before that.
  const ceilingMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.floor(ceilingMs * random);
}
