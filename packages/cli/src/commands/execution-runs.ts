import { EXECUTION_STATES } from "@mainspring/contract/enums";
import type { Client, ExecutionCount, ExecutionRun, ExecutionRunFilter, ExecutionState } from "@mainspring/sdk";
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
import { jobIdOf } from "../arguments/job-argument.ts";
import { choiceOption, repeated, wholeId } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { facts, table } from "../text/output.ts";

/** Options that select executions. */
export interface SelectionOptions extends CreatedOptions {
  state?: ExecutionState;
  pool?: string;
  handler?: string;
  job?: string;
  label?: string[];
  error?: string;
}

export interface AllOptions extends ConnectionOptions, SelectionOptions {
  all?: boolean;
  preview?: boolean;
  yes?: boolean;
}

/** Adds the options that select executions. */
export function withSelection(command: Command): Command {
  return withCreated(
    command
      .addOption(choiceOption("--state <state>", "only those in this state", EXECUTION_STATES))
      .option("--pool <name>", "only those of this pool")
      .option("--handler <name>", "only those of this handler")
      .option("--job <job>", "only those of this job: its id, or its name")
      .option("--label <key[=value]>", "only those whose job has this label; may be repeated", repeated)
      .option("--error <text>", "only those with this text in their error; needs --state and --since"),
  );
}

/** Adds the options of a command that handles all selected executions in place of one. */
export function withAll(command: Command, verb: "cancel" | "retry"): Command {
  return withSelection(command.option("--all", `${verb} all that match the options of the list, in the background`))
    .option("--preview", "with --all: count what matches, and change nothing")
    .option("--yes", `with --all: ${verb} what matches`);
}

/** Filter that the options select. */
export async function selectionOf(client: Client, options: SelectionOptions): Promise<ExecutionRunFilter> {
  const { state, pool, handler, job, label, error, since, until } = options;
  const jobId = job === undefined ? undefined : await jobIdOf(client, job);
  return given({ state, pool, handler, jobId, label, error, since, until });
}

/**
 * Handles all executions that match. Without --yes the command only counts, because a filter can match very many.
 * @param executionId execution that the command names, which --all does not allow
 */
export async function handleAll(verb: "cancel" | "retry", executionId: string | undefined, options: AllOptions) {
  if (executionId !== undefined) throw oneOrAll();
  const { client, output } = connect(options);
  const filter = await selectionOf(client, options);
  const { executionRuns } = client;
  if (options.yes === true && options.preview !== true) {
    const run = await (verb === "cancel" ? executionRuns.cancelAll(filter) : executionRuns.retryAll(filter));
    return output.print(run, () => runText(run));
  }
  const count = await executionRuns.preview(verb === "cancel" ? "CANCEL" : "RETRY", filter);
  if (options.preview === true) return output.print(count, () => `${countText(count)} match`);
  throw new Failure(`${countText(count)} executions match: repeat the command with --yes to ${verb} them`, EXIT.usage);
}

/** Id of the one execution that a command without --all handles. */
export function oneOf(executionId: string | undefined, options: AllOptions): string {
  const { state, pool, handler, job, label, error, since, until, preview, yes } = options;
  const ofAll = given({ state, pool, handler, job, label, error, since, until, preview, yes });
  if (executionId === undefined || Object.keys(ofAll).length > 0) throw oneOrAll();
  return executionId;
}

function oneOrAll(): Failure {
  return new Failure("give either the id of one execution, or --all, which --state and the like narrow", EXIT.usage);
}

/** Command `executions count`. */
export function countCommand(): Command {
  const command = clientCommand("count").description("count executions, up to 10,000");
  return withSelection(command).action(async (options: ConnectionOptions & SelectionOptions) => {
    const { client, output } = connect(options);
    const count = await client.countExecutions(await selectionOf(client, options));
    output.print(count, () => countText(count));
  });
}

/** Command `executions runs`. */
export function executionRunsCommand(): Command {
  return new Command("runs")
    .description("look at cancellations and retries with --all, and stop them")
    .addCommand(
      listCommand("list runs, newest first").action(async ({ limit, ...connection }: ListOptions) => {
        const { client, output } = connect(connection);
        await output.list(client.executionRuns.list({ limit: pageOf(limit) }), limit, runsText);
      }),
    )
    .addCommand(runCommand("get", "show how far a run is"))
    .addCommand(runCommand("stop", "end a run before its time; up to 100 executions in hand are still handled"));
}

function runCommand(verb: "get" | "stop", description: string): Command {
  return clientCommand(verb)
    .description(description)
    .argument("<runId>", "", wholeId)
    .action(async (runId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const run = await client.executionRuns[verb](runId);
      output.print(run, () => runText(run));
    });
}

function countText({ matching, hasMore }: ExecutionCount): string {
  return `${matching}${hasMore ? "+" : ""}`;
}

function runsText(runs: readonly ExecutionRun[]): string {
  if (runs.length === 0) return "no runs";
  const rows = runs.map((run) => [
    run.runId,
    run.action,
    run.state,
    String(run.done),
    String(run.refused),
    run.createdAt,
  ]);
  return table(["RUN", "ACTION", "STATE", "DONE", "REFUSED", "CREATED"], rows);
}

function runText(run: ExecutionRun): string {
  const refusals = Object.entries(run.refusals).map(([name, count]) => `${count} ${name}`);
  return facts([
    ["run", run.runId],
    ["does", `${run.action} of ${JSON.stringify(run.filter)}`],
    ["state", run.state],
    ["expected", run.expected === null ? null : countText(run.expected)],
    ["done", String(run.done)],
    ["refused", run.refused === 0 ? null : refusals.join(", ")],
    ["created", run.createdAt],
    ["finished", run.finishedAt],
  ]);
}
