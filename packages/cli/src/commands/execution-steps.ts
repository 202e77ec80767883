import type { SentSignal } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { executionIdOf } from "../arguments/id-argument.ts";
import { readJson } from "../arguments/json-argument.ts";
import { id } from "../arguments/option-values.ts";
import { onNode, onWorkflow } from "../arguments/workflow-argument.ts";
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
  return withSignal(clientCommand("signal"))
    .description("send a signal to an execution: a step that waits for it goes on")
    .argument("<executionId>", "", id)
    .argument("<name>", "name of the signal")
    .action(async (prefix: string, name: string, options: SignalCommandOptions) => {
      const { client, output } = connect(options);
      const { data, ...rest } = await signalOf(options);
      const executionId = await executionIdOf(client, prefix);
      const sent = await client.signalExecution(executionId, name, data, rest);
      output.print({ executionId, ...sent }, () => sentText(sent, "execution"));
    });
}

/** Command `workflow signal`. */
export function workflowSignalCommand(): Command {
  return withSignal(clientCommand("signal"))
    .description("send a signal to a node of a run, also before the node has started")
    .argument("<workflowId>", "", id)
    .argument("<node>", "name of the node")
    .argument("<name>", "name of the signal")
    .action(async (prefix: string, node: string, name: string, options: SignalCommandOptions) => {
      const { client, output } = connect(options);
      const { data, ...rest } = await signalOf(options);
      const sent = await onWorkflow(client, prefix, async (workflowId) => {
        const send = () => client.workflows.signal(workflowId, node, name, data, rest);
        return { workflowId, node, ...(await onNode(client, workflowId, node, send)) };
      });
      output.print(sent, () => sentText(sent, "node"));
    });
}

function withSignal(command: Command): Command {
  return command
    .option("--data <json>", "data of the signal: JSON, @file, or - for standard input; default: none")
    .option("--id <id>", "id of the signal, so that a repeat of the command sends one signal; default: a new one");
}

async function signalOf({ data, id: signalId }: SignalCommandOptions): Promise<{ data: unknown; id?: string }> {
  return { data: data === undefined ? undefined : await readJson("--data", data), ...given({ id: signalId }) };
}

function sentText({ isRepeated, signalId }: SentSignal, receiver: "execution" | "node"): string {
  return sentence`${isRepeated ? `the ${receiver} had the signal already` : "accepted"}: signal ${signalId}`;
}
