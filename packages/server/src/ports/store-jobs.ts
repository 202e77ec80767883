import type { EpochMs, ExecutionId, JobId } from "../domain/ids.ts";
import type { JobDefinition, JobState } from "../domain/job.ts";
import type { NewJob, NewRecurringJob } from "./store.ts";
import type { AuditNote } from "./store-audit.ts";
import type { Command, PlanCommand, ReplaceCommand } from "./store-commands.ts";

/**
 * Changes of jobs that were accepted. Each change is atomic: one transaction writes the job's row and the command that
 * tells the owner to update the job's executions, which only the owner may change. Changes of one job are serialised.
 */
export interface StoreJobs {
  /** Gives the job another definition and the next version, unless the job has this definition already. */
  replace(asked: JobReplacement, note?: AuditNote): Promise<ReplaceOutcome>;
  /** Replaces the active job of the same name. Without such a job, submits this one. */
  putNamed(asked: NamedPut, note?: AuditNote): Promise<ReplaceOutcome | NamedOutcome>;
  /** Marks the job as deleted; its history stays. A repeat changes nothing. */
  delete(asked: JobDeletion, note?: AuditNote): Promise<DeleteOutcome>;
  /** Adds an execution to a one-time job whose executions are all final, or to a recurring job. */
  run(asked: NewRun, note?: AuditNote): Promise<RunOutcome>;
  /** Leaves a command for the plan of a recurring job that is not deleted. */
  order(tenant: string, command: PlanCommand, note?: AuditNote): Promise<OrderOutcome>;
}

/** Whether a change of a job has changed something. */
export function hasChanged({ kind }: { kind: string }): boolean {
  return CHANGES.includes(kind);
}

const CHANGES: readonly string[] = ["REPLACED", "CREATED", "DELETED", "ACCEPTED", "TAKEN"];

export interface JobReplacement {
  tenant: string;
  jobId: JobId;
  definition: JobDefinition;
  payload: Uint8Array | null;
  /** Version that the job must have; null: any version. */
  ifVersion: number | null;
  /** Id of the command. */
  commandId: string;
  at: EpochMs;
}

export interface NamedPut {
  /** Job to put. Its definition has a name. */
  job: NewJob | NewRecurringJob;
  commandId: string;
}

export type ReplaceOutcome =
  /** The command stays in the store until the owner has applied it. */
  | { kind: "REPLACED"; version: number; command: ReplaceCommand | PlanCommand }
  | { kind: "UNCHANGED"; jobId: JobId; version: number; scheduledAt: EpochMs; executionIds: ExecutionId[] }
  | { kind: "NOT_FOUND" }
  | { kind: "OTHER_VERSION"; version: number }
  | { kind: "WRONG_STATE"; state: Exclude<JobState, "ACTIVE"> }
  /**
   * The change would make a one-time job recurring, or the reverse, which is not allowed. `isRecurring`: the present
   * type.
   */
  | { kind: "OTHER_TYPE"; isRecurring: boolean }
  | IsWorkflow
  /** Another recurring job has the name. */
  | { kind: "NAME_HELD"; jobId: JobId }
  /**
   * A job keeps its concurrency key and its unique key for as long as it lives. `value`: the key that the job has;
   * null: none.
   */
  | { kind: "KEY_DIFFERS"; key: "concurrencyKey" | "uniqueKey"; value: string | null };

/** The job is a workflow, whose runs are not executions like others; nothing was written. */
interface IsWorkflow {
  kind: "IS_WORKFLOW";
}

export type NamedOutcome =
  | { kind: "CREATED" }
  /** Several active jobs have the name. */
  | { kind: "AMBIGUOUS"; jobIds: JobId[] }
  /** Another job holds the unique key of the new one; nothing was written. */
  | { kind: "KEY_HELD"; jobId: JobId };

export interface JobDeletion {
  tenant: string;
  jobId: JobId;
  /** Whether executions that a worker has are cancelled as well. */
  cancelRunning: boolean;
  /** Makes an id for each command that the deletion leaves for owners. */
  commandId: () => string;
  at: EpochMs;
}

export type DeleteOutcome =
  | { kind: "NOT_FOUND" }
  /** `commands`: commands for the executions that had not ended; empty if all had ended. */
  | { kind: "DELETED"; commands: Command[] };

/** One more execution of a job, by the definition that the job has now. */
export interface NewRun extends NewJob {
  /** Execution that this one repeats (trigger RETRY); null: a recurring job is triggered (MANUAL). */
  retryOf: ExecutionId | null;
  /**
   * Whether the execution gets the records, and the signals that no step has consumed, of the one that it repeats. Left
   * out: it has none.
   */
  keepsSteps?: boolean;
  jobVersion: number;
}

export type OrderOutcome =
  | { kind: "TAKEN" }
  | { kind: "NOT_FOUND" }
  | { kind: "NOT_RECURRING" }
  | { kind: "WRONG_STATE"; state: "FINISHED" | "DELETED" };

export type RunOutcome =
  /** `steps`: the mark of the new row; left out: it has none. */
  | { kind: "ACCEPTED"; steps?: "RECORDED" }
  | { kind: "NOT_FOUND" }
  /** An execution of the one-time job has not ended, or the execution to be repeated has not. */
  | { kind: "NOT_FINAL"; executionId: ExecutionId }
  | { kind: "DELETED" }
  | IsWorkflow
  /** The job has another version by now, so the caller must read it again. */
  | { kind: "OTHER_VERSION"; version: number }
  | { kind: "KEY_HELD"; executionId: ExecutionId };
