import type { FinalState } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { RecurrenceRule } from "../domain/recurrence.ts";

/** Commands in the durable inbox of a shard's owner. */

export type Command = CancelCommand | SignalCommand | RunCommand | NodeEndedCommand | JobCommand | PlanCommand;
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
  /** Reason that an execution gets which has not started, such as WORKFLOW_FAILED; left out: none. */
  reason?: string;
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
  /** Index of the item of a map. Left out: the node itself. */
  item?: number;
  /** The node has a concurrency key: the owner of the run passes the command on to that of the key. Left out: none. */
  isKeyed?: true;
}

/**
 * A node with a concurrency key has ended in the shard of its key. The commit that ended it added the command for the owner
 * of its run.
 */
export interface NodeEndedCommand extends AnyCommand {
  kind: "NODE_ENDED";
  executionId: ExecutionId;
  ofNode: NodeOfCommand;
  state: FinalState;
  /** Branch that the successful attempt named; null: none. */
  branch: string | null;
}

/** Command that a commit adds to the inbox of any shard's owner. A command that the inbox has already stays as it is. */
export type AddedCommand =
  /**
   * About a node with a concurrency key, from the owner of its run. The store adds it unless it misses the change of that
   * run in the same commit.
   */
  | { run: ExecutionId; command: CancelCommand | SignalCommand }
  /**
   * End of a node, for the owner of its run. The store adds it if the commit updates the execution, and finds the shard by
   * the run.
   */
  | { run: ExecutionId; command: Omit<NodeEndedCommand, "shard"> };

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
