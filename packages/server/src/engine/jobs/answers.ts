import type { CommandOutcome } from "../../ports/messages.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { Step } from "../state.ts";

/**
 * Notes that the batch applies the command: the commit removes the command from the inbox, and the api that waits for
 * it gets the outcome.
 */
export function commandDone(step: Step, command: Command, outcome: CommandOutcome): void {
  commandApplied(step, command);
  answer(step, command, outcome);
}

/** Notes that the batch applies a command for which no api waits. */
export function commandApplied({ state, batch }: Step, command: Command): void {
  batch.shard(command.shard).commandsDone.push(command.id);
  state.openCommands.delete(command.id);
  state.recentWrites.add(command.id, batch.number);
}

/** Sends the command's outcome to the api that waits for it. */
export function answer(step: Step, command: Command, outcome: CommandOutcome): void {
  const message = { kind: "COMMAND_DONE", commandId: command.id, outcome } as const;
  step.batch.toApi.push({ shard: command.shard, message });
}
