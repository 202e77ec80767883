/** Histogram of delays: each bucket is a fifth wider than the one before. */
export type DelayBuckets = readonly number[];

const GROWTH = Math.log(1.2);
/** Number of buckets. The last one counts all delays beyond a month. */
const BUCKETS = 128;

export function emptyBuckets(): number[] {
  return Array.from({ length: BUCKETS }, () => 0);
}

/** @param delayMs 0 or more; a negative delay counts as 0 */
export function countDelay(buckets: number[], delayMs: number): void {
  const bucket = Math.min(Math.ceil(Math.log(Math.max(delayMs, 0) + 1) / GROWTH), BUCKETS - 1);
  buckets[bucket] = (buckets[bucket] ?? 0) + 1;
}

export function addBuckets(all: readonly DelayBuckets[]): number[] {
  const sum = emptyBuckets();
  for (const buckets of all) for (const [i, count] of buckets.entries()) sum[i] = (sum[i] ?? 0) + count;
  return sum;
}

/**
 * Delay in milliseconds that `share` of all delays did not exceed, exact to a fifth; null: no delays were counted.
 * @param share 0 to 1
 */
export function delayQuantile(buckets: DelayBuckets, share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  const bucket = buckets.findIndex((count) => (seen += count) >= share * total && seen > 0);
  return Math.round(Math.exp(bucket * GROWTH) - 1);
}
