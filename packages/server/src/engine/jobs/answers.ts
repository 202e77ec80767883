import type { CommandOutcome } from "../../ports/messages.ts";
import type { Command } from "../../ports/store.ts";
import type { Step } from "../state.ts";

/** The batch applies the command: it leaves the inbox, and whoever waits for it is told. */
export function commandDone(step: Step, command: Command, outcome: CommandOutcome): void {
  step.batch.shard(command.shard).commandsDone.push(command.id);
  step.state.openCommands.delete(command.id);
  step.state.touched.add(command.id, step.batch.number);
  answer(step, command, outcome);
}

/** Tells whoever waits for the command what came of it. */
export function answer(step: Step, command: Command, outcome: CommandOutcome): void {
  const message = { kind: "COMMAND_DONE", commandId: command.id, outcome } as const;
  step.batch.toApi.push({ shard: command.shard, message });
}
