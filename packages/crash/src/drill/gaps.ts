export const SHARDS = 64;

/** Something that was done to the owner of shards. */
export interface Incident {
  /** From when on a gap is to be looked for, and in which shards. */
  atMs: number;
  shards: ReadonlySet<number>;
  /** How long after it the shards all had other owners; left out: nobody else was to take them. */
  takenOverMs?: number;
}

/** A handler that began. */
export interface Start {
  atMs: number;
  shard: number;
  /** When its job was asked for. */
  askedAtMs: number;
}

export interface Quantiles {
  p50: number;
  p99: number;
  max: number;
}

/**
 * How long no handler of the shards began, at most, from the incident on.
 * @param starts in order of time
 * @param withinMs how long after it one looks
 */
export function gapAfter({ atMs, shards }: Incident, starts: readonly Start[], withinMs: number): number {
  let [before, longest] = [atMs, 0];
  for (const start of starts) {
    if (!shards.has(start.shard) || start.atMs <= atMs) continue;
    if (start.atMs > atMs + withinMs) break;
    longest = Math.max(longest, start.atMs - before);
    before = start.atMs;
  }
  // Nothing after the last one is a gap too, unless somebody else's time has come.
  return before === atMs ? withinMs : longest;
}

/** Numbers, one a line. */
export function shardsOf(rows: string): ReadonlySet<number> {
  return new Set(rows.split("\n").map(Number));
}

/** An empty list gives zeros. */
export function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
