import type { EpochMs, ExecutionId, JobId } from "../domain/ids.ts";
import type { JobDefinition, JobState } from "../domain/job.ts";
import type { Command, NewJob, NewRecurringJob, PlanCommand, ReplaceCommand } from "./store.ts";

/**
 * Changes of jobs that were accepted. Each is all or nothing: the job's row is written together with the command that
 * tells the owner of its executions to follow, which only the owner may. Changes of one job come one after the other.
 */
export interface StoreJobs {
  /** Gives the job another definition and the next version, unless it has that definition already. */
  replace(asked: JobReplacement): Promise<ReplaceOutcome>;
  /** Replaces the active job of the same name, or submits this one where there is none. */
  putNamed(asked: NamedPut): Promise<ReplaceOutcome | NamedOutcome>;
  /** Marks the job as deleted; its history stays. A repeat changes nothing. */
  delete(asked: JobDeletion): Promise<DeleteOutcome>;
  /** Adds an execution to a one-time job whose executions are all final, or to a recurring job. */
  run(asked: NewRun): Promise<RunOutcome>;
  /** Leaves a command for the plan of a recurring job that is not deleted. */
  order(tenant: string, command: PlanCommand): Promise<OrderOutcome>;
}

export interface JobReplacement {
  tenant: string;
  jobId: JobId;
  definition: JobDefinition;
  payload: Uint8Array | null;
  /** null: whatever the version is. */
  ifVersion: number | null;
  /** Id of the command. */
  commandId: string;
  at: EpochMs;
}

export interface NamedPut {
  /** Its definition has a name. */
  job: NewJob | NewRecurringJob;
  commandId: string;
}

export type ReplaceOutcome =
  /** The command is kept until its owner has obeyed it. */
  | { kind: "REPLACED"; version: number; command: ReplaceCommand | PlanCommand }
  | { kind: "UNCHANGED"; jobId: JobId; version: number; scheduledAt: EpochMs; executionIds: ExecutionId[] }
  | { kind: "NOT_FOUND" }
  | { kind: "OTHER_VERSION"; version: number }
  | { kind: "WRONG_STATE"; state: Exclude<JobState, "ACTIVE"> }
  /** A one-time job stays one, and a recurring one too. */
  | { kind: "OTHER_TYPE"; isRecurring: boolean }
  /** Another recurring job has the name. */
  | { kind: "NAME_HELD"; jobId: JobId }
  /** These stay as they are for as long as the job lives. */
  | { kind: "KEY_DIFFERS"; key: "concurrencyKey" | "uniqueKey"; value: string | null };

export type NamedOutcome =
  | { kind: "CREATED" }
  /** Several active jobs have the name. */
  | { kind: "AMBIGUOUS"; jobIds: JobId[] }
  /** Another job holds the unique key of the new one; nothing was written. */
  | { kind: "KEY_HELD"; jobId: JobId };

export interface JobDeletion {
  tenant: string;
  jobId: JobId;
  /** Includes executions that a worker has. */
  cancelRunning: boolean;
  /** A new id for each command that is left behind. */
  commandId: () => string;
  at: EpochMs;
}

export type DeleteOutcome =
  | { kind: "NOT_FOUND" }
  /** `commands`: what was left behind for the executions that had not ended; none where all had. */
  | { kind: "DELETED"; commands: Command[] };

/** One more execution of a job, by the definition that the job has now. */
export interface NewRun extends NewJob {
  /** null: a recurring job is triggered (MANUAL), else it is a RETRY. */
  retryOf: ExecutionId | null;
  jobVersion: number;
}

export type OrderOutcome =
  | { kind: "TAKEN" }
  | { kind: "NOT_FOUND" }
  | { kind: "NOT_RECURRING" }
  | { kind: "WRONG_STATE"; state: "FINISHED" | "DELETED" };

export type RunOutcome =
  | { kind: "ACCEPTED" }
  | { kind: "NOT_FOUND" }
  /** An execution of the one-time job, or the one to be repeated, has not ended. */
  | { kind: "NOT_FINAL"; executionId: ExecutionId }
  | { kind: "DELETED" }
  /** The job has another version by now: read it again. */
  | { kind: "OTHER_VERSION"; version: number }
  | { kind: "KEY_HELD"; executionId: ExecutionId };
