/** A supervisor's memory of the runs so far. */
export interface RestartHistory {
  /** Runs in a row that never became ready. */
  readonly failedStarts: number;
  /** Runs in a row that ended soon. */
  readonly shortRuns: number;
}

export const NO_RUNS: RestartHistory = { failedStarts: 0, shortRuns: 0 };

/** PostgreSQL that fails to start so often in a row is given up. */
const GIVE_UP_AFTER = 8;

/** A run that lasted so long begins a new count. */
const LONG_RUN_MS = 10_000;

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;

/**
 * Decides after a run that ended by itself: start again after `delayMs`, or give up (null). The first restart is
 * immediate, as jobs wait; then the delays double, so that a sick PostgreSQL does not eat the machine.
 * @param readyMs how long it took connections; null: it never did
 * @param hadRoom false: its disk is full. That passes, and is no reason to give up
 */
export function afterRun(
  history: RestartHistory,
  readyMs: number | null,
  hadRoom = true,
): { history: RestartHistory; delayMs: number | null } {
  const failedStarts = readyMs === null ? history.failedStarts + Number(hadRoom) : 0;
  const shortRuns = readyMs !== null && readyMs >= LONG_RUN_MS ? 0 : history.shortRuns + 1;
  const delayMs = shortRuns <= 1 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (shortRuns - 2));
  return { history: { failedStarts, shortRuns }, delayMs: failedStarts >= GIVE_UP_AFTER ? null : delayMs };
}
