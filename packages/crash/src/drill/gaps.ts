export const SHARDS = 64;

/** An action on the owner of shards. */
export interface Incident {
  /** Start of the search for a gap, and its shards. */
  atMs: number;
  shards: ReadonlySet<number>;
  /** Time until all these shards had other owners, in milliseconds; absent: no other node was to take them. */
  takenOverMs?: number;
}

/** The start of a handler. */
export interface Start {
  atMs: number;
  shard: number;
  /** Time at which the client meant to submit the job. */
  askedAtMs: number;
}

export interface Quantiles {
  p50: number;
  p99: number;
  max: number;
}

/**
 * Longest time in which no handler of the shards started, from the incident on.
 * @param starts in order of time
 * @param withinMs length of the search, in milliseconds
 */
export function gapAfter({ atMs, shards }: Incident, starts: readonly Start[], withinMs: number): number {
  let [before, longest] = [atMs, 0];
  for (const start of starts) {
    if (!shards.has(start.shard) || start.atMs <= atMs) continue;
    if (start.atMs > atMs + withinMs) break;
    longest = Math.max(longest, start.atMs - before);
    before = start.atMs;
  }
  // The time after the last start is a gap too, unless the search ends there.
  return before === atMs ? withinMs : longest;
}

/** Parses numbers, one per line. */
export function shardsOf(rows: string): ReadonlySet<number> {
  return new Set(rows.split("\n").map(Number));
}

/** Quantiles of the values; an empty list gives zeros. */
export function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
