import { EXECUTION_STATES } from "@mainspring/contract/enums";
import type { ExecutionState } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  type CreatedOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
  pageOf,
  withCreated,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { executionIdOf } from "../arguments/id-argument.ts";
import { jobIdOf } from "../arguments/job-argument.ts";
import { choiceOption, id } from "../arguments/option-values.ts";
import { executionsText, executionText } from "../text/execution-text.ts";
import { explanationText } from "../text/explanation-text.ts";
import { sentence } from "../text/output.ts";
import { waitFor } from "../wait.ts";
import { signalCommand, stepsCommand } from "./execution-steps.ts";
import { logsCommand } from "./logs.ts";
import { watchCommand } from "./watch.ts";

interface ExecutionsListOptions extends ListOptions, CreatedOptions {
  state?: ExecutionState;
  pool?: string;
  handler?: string;
  job?: string;
}

export function executionsCommand(): Command {
  return new Command("executions")
    .description("look at executions, their steps and their logs, watch, signal, cancel and retry them")
    .addCommand(executionsListCommand())
    .addCommand(getCommand())
    .addCommand(watchCommand())
    .addCommand(explainCommand())
    .addCommand(logsCommand())
    .addCommand(stepsCommand())
    .addCommand(signalCommand())
    .addCommand(cancelCommand())
    .addCommand(retryCommand());
}

function executionsListCommand(): Command {
  const command = listCommand("list executions, newest first")
    .addOption(choiceOption("--state <state>", "only those in this state", EXECUTION_STATES))
    .option("--pool <name>", "only those of this pool")
    .option("--handler <name>", "only those of this handler")
    .option("--job <job>", "only those of this job: its id, or its name");
  return withCreated(command).action(
    async ({ state, pool, handler, job, since, until, limit, ...connection }: ExecutionsListOptions) => {
      const { client, output } = connect(connection);
      const jobId = job === undefined ? undefined : await jobIdOf(client, job);
      const filter = given({ state, pool, handler, jobId, since, until, limit: pageOf(limit) });
      await output.list(client.listExecutions(filter), limit, executionsText);
    },
  );
}

function getCommand(): Command {
  return clientCommand("get")
    .description("show an execution: its state, attempts and result")
    .argument("<executionId>", "", id)
    .option("--wait", "wait until it is final; exit code 4 if it did not succeed")
    .action(async (prefix: string, options: ConnectionOptions & { wait?: boolean }) => {
      const { client, output } = connect(options);
      const executionId = await executionIdOf(client, prefix);
      const execution = await (options.wait ? waitFor(client, executionId) : client.getExecution(executionId));
      output.print(execution, () => executionText(execution));
    });
}

function explainCommand(): Command {
  return clientCommand("explain")
    .description("say why an execution waits: every reason that holds now")
    .argument("<executionId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const executionId = await executionIdOf(client, prefix);
      const explanation = await client.explain(executionId);
      output.print(explanation, () => explanationText(explanation));
    });
}

const CANCEL_ANSWERS = {
  CANCELLED: "cancelled",
  REQUESTED: "cancellation requested: its worker is told",
  NOT_DURABLE:
    "cancellation requested, but not stored: the store does not answer. Its worker is told, and the request is written when the store is back",
} as const;

function cancelCommand(): Command {
  return clientCommand("cancel")
    .description("cancel an execution that is not final")
    .argument("<executionId>", "", id)
    .action(async (prefix: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const executionId = await executionIdOf(client, prefix);
      const outcome = await client.cancelExecution(executionId);
      const text = CANCEL_ANSWERS[outcome];
      output.print({ executionId, outcome }, () => text);
    });
}

function retryCommand(): Command {
  return clientCommand("retry")
    .description("run the job of a final execution once more, by a new execution")
    .argument("<executionId>", "", id)
    .option("--keep-steps", "go on with its steps, its checkpoint and its signals; default: every step runs again")
    .option("--wait", "wait until the new one is final; exit code 4 if it did not succeed")
    .action(async (prefix: string, options: ConnectionOptions & { keepSteps?: boolean; wait?: boolean }) => {
      const { client, output } = connect(options);
      const retryOf = await executionIdOf(client, prefix);
      const executionId = await client.retryExecution(retryOf, { keepSteps: options.keepSteps === true });
      if (!options.wait)
        return output.print({ executionId, retryOf }, () => sentence`accepted: execution ${executionId}`);
      const execution = await waitFor(client, executionId);
      output.print(execution, () => executionText(execution));
    });
}
