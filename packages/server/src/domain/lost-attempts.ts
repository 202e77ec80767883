import type { EpochMs, ExecutionId } from "./ids.ts";
import { idTimeMs } from "./occurrence-id.ts";

/**
 * Numbers of attempts that a store may have given out in a state that it has lost. An execution that may be older than the loss skips them,
 * so that no two workers get the same attempt of one execution.
 */
export interface LostAttempts {
  /** Latest time in the id of an execution that the lost state may have had. */
  until: EpochMs;
  /** Greatest of the numbers. */
  last: number;
}

/** Numbers of one generation, which are more attempts than an execution has. */
const PER_GENERATION = 100_000;
/** Time by which the clock of the program that made an id may be ahead of the store's. */
const AHEAD_MAX_MS = 10_000;

/**
 * @param generation number of changes of the store's server, each of which may have lost writes
 * @param since time of the last one
 * @returns null: nothing was lost
 */
export function lostAttempts(generation: number, since: EpochMs): LostAttempts | null {
  return generation === 0 ? null : { until: since + AHEAD_MAX_MS, last: generation * PER_GENERATION };
}

/** Number of the next attempt. @param attempt number of the last one; 0: there was none */
export function nextAttempt(id: ExecutionId, attempt: number, lost: LostAttempts | null): number {
  const isOlder = lost !== null && idTimeMs(id) <= lost.until;
  return Math.max(attempt, isOlder ? lost.last : 0) + 1;
}
