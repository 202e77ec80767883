/** History of the runs so far, which the supervisor keeps. */
export interface RestartHistory {
  /** Number of consecutive runs that never became ready. */
  readonly failedStarts: number;
  /** Number of consecutive runs that ended soon. */
  readonly shortRuns: number;
}

export const NO_RUNS: RestartHistory = { failedStarts: 0, shortRuns: 0 };

/** Number of consecutive failed starts after which the supervisor gives up. */
const GIVE_UP_AFTER = 8;

/** Duration of a run, in milliseconds, that resets the counts. */
const LONG_RUN_MS = 10_000;

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;

/**
 * Decides after a run that ended by itself: start again after `delayMs`, or give up (null). The first restart is
 * immediate, because jobs wait; then the delays double, so that a failing PostgreSQL does not use up the machine.
 * @param readyMs time for which the run accepted connections, in milliseconds; null: it never did
 * @param hadRoom false: the disk is full, which may pass and is no reason to give up
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
