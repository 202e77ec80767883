import type { ExecutionError } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId } from "../domain/ids.ts";
import type { ExecutionSummary, Listing, Page } from "./store-queries.ts";

/**
 * Executions that used up their budget, until they are replayed or discarded. Their state stays DEAD: final states absorb. A
 * replay makes a new execution of the same job; both are written at once, so nothing is replayed twice.
 */
export interface StoreDeadLetters {
  list(tenant: string, filter: DeadLetterFilter, page: Page): Promise<Listing<DeadLetter>>;
  /** Replays or discards these. One answer a letter, in order; what cannot be settled stays as it is. At most 1,000. */
  settle(asked: Settlement): Promise<SettledLetter[]>;
  /** Keeps a wish to settle all that a filter matches; it is fulfilled by `advance`. */
  begin(run: NewDeadLetterRun): Promise<void>;
  /**
   * Settles the next letters of a run, up to one for each of `newIds`, together with the marker of how far it came.
   * @returns null: it is over, unknown, or somebody else is at it
   */
  advance(runId: string, newIds: readonly ExecutionId[], at: EpochMs): Promise<Advance | null>;
  readRun(tenant: string, runId: string): Promise<DeadLetterRun | null>;
  /** Runs that are not over, oldest first, up to 100. */
  openRuns(): Promise<string[]>;
}

export type DeadLetterAction = "REPLAY" | "DISCARD";

export interface DeadLetter extends ExecutionSummary {
  error: ExecutionError | null;
}

export interface DeadLetterFilter {
  pool?: string;
  handler?: string;
  jobId?: JobId;
  /** Died at or after. */
  since?: EpochMs;
  /** Died before. */
  until?: EpochMs;
}

export interface Settlement {
  tenant: string;
  action: DeadLetterAction;
  executionIds: readonly ExecutionId[];
  /** For the executions that replays make: as many as there are letters, each greater than the one before. */
  newIds: readonly ExecutionId[];
  at: EpochMs;
}

export interface SettledLetter {
  executionId: ExecutionId;
  /**
   * NOT_A_DEAD_LETTER: unknown, not DEAD, settled before (a retry settles it too), or to be replayed although its job is
   * deleted. KEY_HELD: an execution that is not final has its unique key.
   */
  outcome: "SETTLED" | "NOT_A_DEAD_LETTER" | "KEY_HELD";
  /** Id of the execution that its replay has created. */
  newId: ExecutionId | null;
}

export interface NewDeadLetterRun {
  /** A UUIDv7 */
  runId: string;
  tenant: string;
  action: DeadLetterAction;
  filter: DeadLetterFilter;
  /** The run leaves later dead letters alone: it does not replay a replay that dies again. */
  createdAt: EpochMs;
}

export interface DeadLetterRun extends NewDeadLetterRun {
  settled: number;
  /** Letters that stayed, because their unique key was held. */
  skipped: number;
  finishedAt: EpochMs | null;
}

export interface Advance {
  /** Ids of the executions that replays made. */
  made: ExecutionId[];
  isOver: boolean;
}
