import type { EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { RecurrenceRule } from "../domain/recurrence.ts";

/** Commands in the durable inbox of a shard's owner. */

export type Command = CancelCommand | SignalCommand | RunCommand | JobCommand | PlanCommand;
/** Command that a change of a job leaves for the owner of one shard, about the executions there that had not ended. */
export type JobCommand = ReplaceCommand | DeleteCommand;

interface AnyCommand {
  /** UUIDv7 of the command. */
  id: string;
  shard: ShardId;
}

export interface CancelCommand extends AnyCommand {
  kind: "CANCEL";
  executionId: ExecutionId;
}

/**
 * A signal of the execution was stored in the transaction that added the command. A suspended execution runs again, and
 * an attempt that has not seen the signal does when it suspends.
 */
export interface SignalCommand extends AnyCommand {
  kind: "SIGNAL";
  executionId: ExecutionId;
  /** Node that was named instead of its execution, which may not exist yet. Left out: the execution exists. */
  ofNode?: NodeOfCommand;
}

export interface NodeOfCommand {
  run: ExecutionId;
  node: number;
}

/** Pauses or resumes a workflow run. The commands of a run are applied in the order of the inbox, and the last one counts. */
export interface RunCommand extends AnyCommand {
  kind: "PAUSE_RUN" | "RESUME_RUN";
  executionId: ExecutionId;
}

/** Executions that wait get this definition. An execution that a worker has keeps its definition. */
export interface ReplaceCommand extends AnyCommand {
  kind: "REPLACE";
  jobId: JobId;
  executionIds: readonly ExecutionId[];
  version: number;
  definition: JobDefinition;
  payloadBytes: number;
}

/** Executions that wait are cancelled. An execution that a worker has runs on. */
export interface DeleteCommand extends AnyCommand {
  kind: "DELETE";
  jobId: JobId;
  executionIds: readonly ExecutionId[];
}

/** Command for the plan of a recurring job. */
export interface PlanCommand extends AnyCommand {
  kind: "PLAN";
  jobId: JobId;
  order: PlanOrder;
}

export type PlanOrder =
  /**
   * The job has a new version or was deleted. `former`: the replaced rule; instants that it planned are judged by it.
   */
  | { kind: "LOOK"; former?: FormerRule }
  /** Instants that are planned before `at` still fire. */
  | { kind: "PAUSE"; at: EpochMs }
  /** Instants within the pause are SKIPPED or, with `catchUp`, treated as misfired. */
  | { kind: "RESUME"; at: EpochMs; catchUp: boolean }
  /** Planned instants of [since, until), all in the past, with at most `limit` open executions. */
  | { kind: "BACKFILL"; since: EpochMs; until: EpochMs; limit: number };

/** A rule that an edit replaced. */
export interface FormerRule {
  version: number;
  rule: RecurrenceRule;
  /** Time of the edit. Instants that the rule planned before this time stay planned. */
  until: EpochMs;
}
