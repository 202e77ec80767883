import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { executionIdOf } from "../arguments/id-argument.ts";
import { readJson } from "../arguments/json-argument.ts";
import { id } from "../arguments/option-values.ts";
import { sentence } from "../text/output.ts";
import { stepsText } from "../text/steps-text.ts";

interface SignalCommandOptions extends ConnectionOptions {
  data?: string;
  id?: string;
}

export function stepsCommand(): Command {
  return clientCommand("steps")
    .description("show the durable steps of an execution, what it waits for, and signals that no step has consumed")
    .argument("<executionId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const steps = await client.getExecutionSteps(await executionIdOf(client, prefix));
      output.print(steps, () => stepsText(steps));
    });
}

export function signalCommand(): Command {
  return clientCommand("signal")
    .description("send a signal to an execution: a step that waits for it goes on")
    .argument("<executionId>", "", id)
    .argument("<name>", "name of the signal")
    .option("--data <json>", "data of the signal: JSON, @file, or - for standard input; default: none")
    .option("--id <id>", "id of the signal, so that a repeat of the command sends one signal; default: a new one")
    .action(async (prefix: string, name: string, { data, id: signalId, ...connection }: SignalCommandOptions) => {
      const { client, output } = connect(connection);
      const value = data === undefined ? undefined : await readJson("--data", data);
      const executionId = await executionIdOf(client, prefix);
      const sent = await client.signalExecution(executionId, name, value, given({ id: signalId }));
      const what = sent.isRepeated ? "the execution had the signal already" : "accepted";
      output.print({ executionId, ...sent }, () => sentence`${what}: signal ${sent.signalId}`);
    });
}
