import type { Client, DeadLetter, DeadLetterRun, SettledDeadLetter } from "@mainspring/sdk";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
  pageOf,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { executionIdsOf } from "../arguments/id-argument.ts";
import { jobIdOf } from "../arguments/job-argument.ts";
import { ids, instant, wholeId } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { facts, table } from "../text/output.ts";

interface FilterOptions {
  pool?: string;
  handler?: string;
  job?: string;
  since?: string;
  until?: string;
}

interface SettleOptions extends ConnectionOptions, FilterOptions {
  all?: boolean;
}

export function deadLettersCommand(): Command {
  return new Command("dead-letters")
    .description("look at executions that used up their budget, run them again or let them go")
    .addCommand(
      filtered(listCommand("list dead letters, newest first")).action(async (options: ListOptions & FilterOptions) => {
        const { client, output } = connect(options);
        const filter = await withJobId(client, filterOf(options));
        const letters = client.deadLetters.list({ ...filter, limit: pageOf(options.limit) });
        await output.list(letters, options.limit, lettersText);
      }),
    )
    .addCommand(settleCommand("replay", "run dead letters again, each by a new execution"))
    .addCommand(settleCommand("discard", "take dead letters off the list; they stay DEAD"))
    .addCommand(runCommand());
}

function settleCommand(verb: "replay" | "discard", description: string): Command {
  const command = clientCommand(verb)
    .description(description)
    .argument("[executionIds...]", "which ones; or --all", ids)
    .option("--all", "all of them, or all that match --pool, --handler, --job, --since and --until");
  return filtered(command).action(async (executionIds: string[] = [], options: SettleOptions) => {
    const filter = chosen(executionIds, options);
    const { client, output } = connect(options);
    const { deadLetters } = client;
    if (filter === null) {
      const whole = await executionIdsOf(client, executionIds);
      const items = await (verb === "replay" ? deadLetters.replay(whole) : deadLetters.discard(whole));
      if (items.some((item) => item.outcome !== "REPLAYED" && item.outcome !== "DISCARDED"))
        process.exitCode = EXIT.failed;
      return await output.list(each(items), items.length, settledText);
    }
    const whole = await withJobId(client, filter);
    const run = await (verb === "replay" ? deadLetters.replayAll(whole) : deadLetters.discardAll(whole));
    output.print(run, () => runText(run));
  });
}

function runCommand(): Command {
  return clientCommand("run")
    .description("show how far a replay or discard with --all is")
    .argument("<runId>", "", wholeId)
    .action(async (runId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const run = await client.deadLetters.run(runId);
      output.print(run, () => runText(run));
    });
}

function filtered(command: Command): Command {
  return command
    .option("--pool <name>", "only those of this pool")
    .option("--handler <name>", "only those for this handler")
    .option("--job <job>", "only those of this job: its name, its id, or the beginning of its id")
    .option("--since <time>", "only those that died at or after", instant)
    .option("--until <time>", "only those that died before", instant);
}

function filterOf({ pool, handler, job, since, until }: FilterOptions) {
  return given({ pool, handler, jobId: job, since, until });
}

/** The filter with the job's id, where the user gave the job's name or id. */
async function withJobId<T extends { jobId?: string }>(client: Client, filter: T): Promise<T> {
  return filter.jobId === undefined ? filter : { ...filter, jobId: await jobIdOf(client, filter.jobId) };
}

/**
 * The filter that the options select. A filter settles many letters at once, so a command without ids is an error and
 * no filter for everything. @returns filter; null: the command names ids
 */
function chosen(executionIds: readonly string[], options: SettleOptions) {
  const filter = filterOf(options);
  const narrowed = Object.keys(filter).length > 0;
  if (options.all === true && executionIds.length === 0) return filter;
  if (options.all !== true && executionIds.length > 0 && !narrowed) return null;
  throw new Failure("give either execution ids, or --all, which --pool and the like narrow", EXIT.usage);
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}

function lettersText(letters: readonly DeadLetter[]): string {
  if (letters.length === 0) return "no dead letters";
  const rows = letters.map((letter) => [
    letter.executionId,
    letter.pool,
    letter.handler,
    `${letter.failures} of ${letter.maxAttempts}`,
    letter.finishedAt ?? "-",
    letter.error === null ? (letter.reason ?? "") : `${letter.error.name}: ${letter.error.message}`,
  ]);
  return table(["EXECUTION", "POOL", "HANDLER", "FAILED", "DIED", "ERROR"], rows);
}

function settledText(items: readonly SettledDeadLetter[]): string {
  const rows = items.map((item) => [item.executionId, item.outcome, item.newExecutionId ?? "-"]);
  return table(["EXECUTION", "OUTCOME", "NEW EXECUTION"], rows);
}

function runText(run: DeadLetterRun): string {
  return facts([
    ["run", run.runId],
    ["does", `${run.action} of ${JSON.stringify(run.filter)}`],
    ["state", run.state],
    ["settled", String(run.settled)],
    ["skipped", run.skipped === 0 ? null : `${run.skipped}, whose unique key another execution has`],
    ["created", run.createdAt],
    ["finished", run.finishedAt],
  ]);
}
