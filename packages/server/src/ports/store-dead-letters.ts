import type { ExecutionError } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId } from "../domain/ids.ts";
import type { AuditNote } from "./store-audit.ts";
import type { ExecutionSummary, Listing, Page } from "./store-queries.ts";

/**
 * Executions that used up their budget, until they are replayed or discarded. Their state stays DEAD, because final
 * states never change. A replay creates a new execution of the same job. One transaction writes both, so no dead letter
 * is replayed twice.
 */
export interface StoreDeadLetters {
  list(tenant: string, filter: DeadLetterFilter, page: Page): Promise<Listing<DeadLetter>>;
  /**
   * Replays or discards dead letters, at most 1,000. The answer has one outcome per letter, in order. A letter that
   * cannot be settled stays as it is.
   */
  settle(asked: Settlement, note?: AuditNote): Promise<SettledLetter[]>;
  /** Stores a run that settles all dead letters which match a filter. `advance` carries it out. */
  begin(run: NewDeadLetterRun, note?: AuditNote): Promise<void>;
  /**
   * Settles the next letters of a run, up to one for each of `newIds`, together with the marker of the run's progress.
   * @returns null: the run has ended, is unknown, or another node is advancing it
   */
  advance(runId: string, newIds: readonly ExecutionId[], at: EpochMs): Promise<Advance | null>;
  readRun(tenant: string, runId: string): Promise<DeadLetterRun | null>;
  /** Ids of runs that have not ended, oldest first, up to 100. */
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
  /** Ids for the executions that replays create: as many as there are letters, in ascending order. */
  newIds: readonly ExecutionId[];
  at: EpochMs;
}

export interface SettledLetter {
  executionId: ExecutionId;
  /**
   * NOT_A_DEAD_LETTER: the execution is unknown, not DEAD or settled before (a retry settles it too), the job of a letter to be
   * replayed is deleted, or a node of a workflow was to be discarded. KEY_HELD: an execution that is not final holds the
   * unique key of the letter. OF_WORKFLOW: a run of a workflow, or a DEAD node of one, was to be replayed.
   */
  outcome: "SETTLED" | "NOT_A_DEAD_LETTER" | "KEY_HELD" | "OF_WORKFLOW";
  /** Id of the execution that the replay has created; null: there was no replay. */
  newId: ExecutionId | null;
}

export interface NewDeadLetterRun {
  /** UUIDv7 of the run. */
  runId: string;
  tenant: string;
  action: DeadLetterAction;
  filter: DeadLetterFilter;
  /** Start of the run. The run ignores later dead letters, so it does not replay a replay that dies again. */
  createdAt: EpochMs;
}

export interface DeadLetterRun extends NewDeadLetterRun {
  settled: number;
  /** Letters that the run left as they were, because their unique key was held, or because a replay came to a run of a workflow. */
  skipped: number;
  /** null: the run has not ended. */
  finishedAt: EpochMs | null;
}

export interface Advance {
  /** Ids of the executions that the replays have created. */
  made: ExecutionId[];
  isOver: boolean;
}
