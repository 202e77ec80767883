import type { ExecutionId, ShardId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { Command, PlanCommand, ReplaceCommand } from "./store-commands.ts";
import type { JobDeletion, JobReplacement } from "./store-jobs.ts";

/** A job as it is before a change. */
interface Changing {
  shard: ShardId;
  version: number;
  definition: Pick<JobDefinition, "recurrence">;
  /** Its executions that are not final. */
  open: readonly ExecutionId[];
}

/**
 * The command that follows a replacement. Executions of a recurring job keep the definition by which they were created,
 * so only the plan changes.
 * @param version of the job from now on
 */
export function commandOfReplacement(
  { shard, version: was, definition: { recurrence: rule }, open: executionIds }: Changing,
  { jobId, definition, payload, commandId: id, at: until }: JobReplacement,
  version: number,
): ReplaceCommand | PlanCommand {
  if (rule !== null)
    return { id, shard, kind: "PLAN", jobId, order: { kind: "LOOK", former: { version: was, rule, until } } };
  return { id, shard, kind: "REPLACE", jobId, executionIds, version, definition, payloadBytes: payload?.length ?? 0 };
}

/** The commands that follow a deletion, in their order. @param isPlanEnded whether the deletion has ended the job's plan */
export function commandsOfDeletion(
  { shard, open: executionIds }: Pick<Changing, "shard" | "open">,
  { jobId, cancelRunning, commandId }: JobDeletion,
  isPlanEnded: boolean,
): Command[] {
  const commands: Command[] = [];
  if (cancelRunning)
    for (const executionId of executionIds) commands.push({ id: commandId(), shard, kind: "CANCEL", executionId });
  if (executionIds.length > 0) commands.push({ id: commandId(), shard, kind: "DELETE", jobId, executionIds });
  if (isPlanEnded) commands.push({ id: commandId(), shard, kind: "PLAN", jobId, order: { kind: "LOOK" } });
  return commands;
}
