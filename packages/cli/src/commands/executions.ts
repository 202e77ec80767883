import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
  pageOf,
} from "../arguments/connection-options.ts";
import { executionIdOf } from "../arguments/id-argument.ts";
import { id } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { executionsText, executionText } from "../text/execution-text.ts";
import { explanationText } from "../text/explanation-text.ts";
import { sentence } from "../text/output.ts";
import { waitFor } from "../wait.ts";
import {
  type AllOptions,
  countCommand,
  executionRunsCommand,
  handleAll,
  oneOf,
  type SelectionOptions,
  selectionOf,
  withAll,
  withSelection,
} from "./execution-runs.ts";
import { signalCommand, stepsCommand } from "./execution-steps.ts";
import { logsCommand } from "./logs.ts";
import { watchCommand } from "./watch.ts";

type ExecutionsListOptions = ListOptions & SelectionOptions;

export function executionsCommand(): Command {
  return new Command("executions")
    .description("look at executions, their steps and their logs, watch, signal, cancel and retry them")
    .addCommand(executionsListCommand())
    .addCommand(countCommand())
    .addCommand(getCommand())
    .addCommand(watchCommand())
    .addCommand(explainCommand())
    .addCommand(logsCommand())
    .addCommand(stepsCommand())
    .addCommand(signalCommand())
    .addCommand(cancelCommand())
    .addCommand(retryCommand())
    .addCommand(executionRunsCommand());
}

function executionsListCommand(): Command {
  const command = listCommand("list executions, newest first");
  return withSelection(command).action(async ({ limit, ...options }: ExecutionsListOptions) => {
    const { client, output } = connect(options);
    const filter = { ...(await selectionOf(client, options)), limit: pageOf(limit) };
    await output.list(client.listExecutions(filter), limit, executionsText);
  });
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
  const command = clientCommand("cancel").description("cancel an execution that is not final, or all that match");
  return withAll(command.argument("[executionId]", "which one; or --all", id), "cancel").action(
    async (prefix: string | undefined, options: AllOptions) => {
      if (options.all === true) return handleAll("cancel", prefix, options);
      const { client, output } = connect(options);
      const executionId = await executionIdOf(client, oneOf(prefix, options));
      const outcome = await client.cancelExecution(executionId);
      const text = CANCEL_ANSWERS[outcome];
      output.print({ executionId, outcome }, () => text);
    },
  );
}

function retryCommand(): Command {
  const command = clientCommand("retry")
    .description("run the job of a final execution once more, by a new execution; or those of all that match")
    .argument("[executionId]", "which one; or --all", id)
    .option("--keep-steps", "go on with its steps, its checkpoint and its signals; default: every step runs again")
    .option("--wait", "wait until the new one is final; exit code 4 if it did not succeed");
  return withAll(command, "retry").action(
    async (prefix: string | undefined, options: AllOptions & { keepSteps?: boolean; wait?: boolean }) => {
      const isOfOne = options.keepSteps === true || options.wait === true;
      if (options.all === true && !isOfOne) return handleAll("retry", prefix, options);
      if (options.all === true)
        throw new Failure("--keep-steps and --wait are for one execution, not for --all", EXIT.usage);
      const { client, output } = connect(options);
      const retryOf = await executionIdOf(client, oneOf(prefix, options));
      const executionId = await client.retryExecution(retryOf, { keepSteps: options.keepSteps === true });
      if (!options.wait)
        return output.print({ executionId, retryOf }, () => sentence`accepted: execution ${executionId}`);
      const execution = await waitFor(client, executionId);
      output.print(execution, () => executionText(execution));
    },
  );
}
