import { JOB_STATES, JOB_TYPES } from "@mainspring/contract/enums";
import type { JobRequest, JobState, JobType, RecurringJobRequest } from "@mainspring/sdk";
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
import { jobIdOf } from "../arguments/job-argument.ts";
import { readJson } from "../arguments/json-argument.ts";
import { choiceOption, integer, isId, repeated } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { changeText, jobsText, jobText } from "../text/job-text.ts";
import { recurringCommands } from "./recurring-jobs.ts";

const JOB = "its name, its id, or the beginning of its id";

interface JobsListOptions extends ListOptions {
  state?: JobState;
  type?: JobType;
  pool?: string;
  handler?: string;
  name?: string;
  label?: string[];
}

export function jobsCommand(): Command {
  const jobs = new Command("jobs")
    .description("look at jobs, change and delete them; pause recurring ones, see what became of them")
    .addCommand(jobsListCommand())
    .addCommand(getCommand())
    .addCommand(upsertCommand())
    .addCommand(replaceCommand())
    .addCommand(deleteCommand());
  for (const command of recurringCommands()) jobs.addCommand(command);
  return jobs;
}

function jobsListCommand(): Command {
  return listCommand("list jobs, newest first")
    .addOption(choiceOption("--state <state>", "only those in this state", JOB_STATES))
    .addOption(choiceOption("--type <type>", "only those of this type", JOB_TYPES))
    .option("--pool <name>", "only those of this pool")
    .option("--handler <name>", "only those for this handler")
    .option("--name <name>", "only those of this name")
    .option("--label <key[=value]>", "only those with this label; may be repeated", repeated)
    .action(async ({ state, type, pool, handler, name, label, limit, ...connection }: JobsListOptions) => {
      const { client, output } = connect(connection);
      const filter = given({ state, type, pool, handler, name, label, limit: pageOf(limit) });
      await output.list(client.listJobs(filter), limit, jobsText);
    });
}

function getCommand(): Command {
  return clientCommand("get")
    .description("show a job: its definition and what it has run lately")
    .argument("<job>", JOB)
    .action(async (idOrName: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const job = await client.getJob(await jobIdOf(client, idOrName));
      output.print(job, () => jobText(job));
    });
}

function upsertCommand(): Command {
  return clientCommand("upsert")
    .description("make the job of a name what it is to be, or submit it; a repeat changes nothing")
    .argument("<name>", "its name")
    .argument("<definition>", "all of it, as POST /v1/jobs takes it: JSON, @file, or - for standard input")
    .action(async (name: string, definition: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const changed = await client.jobs.upsert(name, await definitionOf(definition));
      output.print(changed, () => changeText(changed));
    });
}

function replaceCommand(): Command {
  return clientCommand("replace")
    .description("replace a job's definition; what waits runs by the new one")
    .argument("<job>", JOB)
    .argument("<definition>", "all of it, as POST /v1/jobs takes it: JSON, @file, or - for standard input")
    .option("--if-version <version>", "only if it has this version", integer(1, 2 ** 31 - 1))
    .action(async (idOrName: string, definition: string, options: ConnectionOptions & { ifVersion?: number }) => {
      const { client, output } = connect(options);
      const said = await definitionOf(definition);
      // A command that addresses a job by its name does not remove the name.
      const job = isId(idOrName) ? said : { name: idOrName, ...said };
      const changed = await client.replaceJob(
        await jobIdOf(client, idOrName),
        job,
        given({ ifVersion: options.ifVersion }),
      );
      output.print(changed, () => changeText(changed));
    });
}

/** Parses a definition. The server checks the rest, and names each wrong field. */
async function definitionOf(source: string): Promise<JobRequest | RecurringJobRequest> {
  const definition = await readJson("the definition", source);
  if (typeof definition === "object" && definition !== null && !Array.isArray(definition))
    return definition as JobRequest;
  throw new Failure(`the definition must be an object such as {"target": {"handler": "echo"}}`, EXIT.usage);
}

function deleteCommand(): Command {
  return clientCommand("delete")
    .description("delete a job; what waits is cancelled, its history stays")
    .argument("<job>", JOB)
    .option("--cancel-running", "cancel what runs too")
    .action(async (idOrName: string, options: ConnectionOptions & { cancelRunning?: boolean }) => {
      const { client, output } = connect(options);
      const jobId = await jobIdOf(client, idOrName);
      await client.deleteJob(jobId, { cancelRunning: options.cancelRunning === true });
      output.print({ jobId, state: "DELETED" }, () => "deleted");
    });
}
