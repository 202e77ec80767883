/** Part of time from the start of a navigation, in milliseconds. */
export interface Stretch {
  fromMs: number;
  /** Infinity: it has not ended. */
  untilMs: number;
}

/** Length of the quiet time that a page needs to count as ready, in milliseconds. */
export const QUIET_MS = 5_000;
/** Requests that may be open in a quiet time. */
const QUIET_REQUESTS = 2;

interface Loading {
  firstContentfulPaintMs: number;
  /** Tasks of more than 50 ms. */
  tasks: readonly Stretch[];
  requests: readonly Stretch[];
  /** End of the observation. */
  seenUntilMs: number;
}

/**
 * Time to interactive: the end of the last long task before the first quiet time, or the first paint. A quiet time has no long task and at most
 * two open requests for five seconds. @returns null: there was none until the end of the observation
 */
export function interactiveMs({ firstContentfulPaintMs, tasks, requests, seenUntilMs }: Loading): number | null {
  const busy = [...tasks, ...crowdedOf(requests)].sort((a, b) => a.fromMs - b.fromMs);
  let quietFromMs = firstContentfulPaintMs;
  for (const { fromMs, untilMs } of busy) {
    if (fromMs - quietFromMs >= QUIET_MS) break;
    quietFromMs = Math.max(quietFromMs, untilMs);
  }
  if (seenUntilMs - quietFromMs < QUIET_MS) return null;
  const before = tasks.filter(({ fromMs }) => fromMs < quietFromMs).map(({ untilMs }) => untilMs);
  return Math.max(firstContentfulPaintMs, ...before);
}

/** Stretches with more than two open requests. */
function crowdedOf(requests: readonly Stretch[]): Stretch[] {
  const changes = requests.flatMap(({ fromMs, untilMs }) => [
    { atMs: fromMs, by: 1 },
    { atMs: untilMs, by: -1 },
  ]);
  changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  const crowded: Stretch[] = [];
  let open = 0;
  let sinceMs: number | null = null;
  for (const { atMs, by } of changes) {
    open += by;
    if (open > QUIET_REQUESTS) sinceMs ??= atMs;
    else if (sinceMs !== null) {
      crowded.push({ fromMs: sinceMs, untilMs: atMs });
      sinceMs = null;
    }
  }
  return crowded;
}
