import type { ExecutionState, ExecutionSummary } from "@mainspring/sdk";
import { Command, Option } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../connection-options.ts";
import { executionsText, executionText } from "../execution-text.ts";
import { instant, integer } from "../option-values.ts";
import { waitFor } from "../wait.ts";

const STATES: ExecutionState[] = ["PENDING", "SCHEDULED", "RUNNING", "SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];

interface ListOptions extends ConnectionOptions {
  state?: ExecutionState;
  pool?: string;
  job?: string;
  since?: string;
  until?: string;
  limit: number;
}

export function executionsCommand(): Command {
  return new Command("executions")
    .description("look at executions, and cancel them")
    .addCommand(listCommand())
    .addCommand(getCommand())
    .addCommand(cancelCommand());
}

function listCommand(): Command {
  return clientCommand("list")
    .description("list executions, newest first")
    .addOption(new Option("--state <state>", "only those in this state").choices(STATES))
    .option("--pool <name>", "only those of this pool")
    .option("--job <jobId>", "only those of this job")
    .option("--since <time>", "only those created at or after", instant)
    .option("--until <time>", "only those created before", instant)
    .option("--limit <count>", "how many at most", integer(1, 100_000), 20)
    .action(list);
}

async function list({ state, pool, job, since, until, limit, ...connection }: ListOptions): Promise<void> {
  const { client, output } = connect(connection);
  const filter = {
    ...(state && { state }),
    ...(pool && { pool }),
    ...(job && { jobId: job }),
    ...(since && { since }),
    ...(until && { until }),
    limit: Math.min(limit, 1_000),
  };
  const executions: ExecutionSummary[] = [];
  for await (const execution of client.listExecutions(filter)) {
    if (executions.push(execution) >= limit) break;
  }
  output.print(executions, () => executionsText(executions));
}

function getCommand(): Command {
  return clientCommand("get")
    .description("show an execution: its state, attempts and result")
    .argument("<executionId>")
    .option("--wait", "wait until it is final; exit code 4 if it did not succeed")
    .action(async (executionId: string, options: ConnectionOptions & { wait?: boolean }) => {
      const { client, output } = connect(options);
      const execution = await (options.wait ? waitFor(client, executionId) : client.getExecution(executionId));
      output.print(execution, () => executionText(execution));
    });
}

function cancelCommand(): Command {
  return clientCommand("cancel")
    .description("cancel an execution that is not final")
    .argument("<executionId>")
    .action(async (executionId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const outcome = await client.cancelExecution(executionId);
      const text = outcome === "CANCELLED" ? "cancelled" : "cancellation requested: its worker is told";
      output.print({ executionId, outcome }, () => text);
    });
}
