import type { JobRequest, JobState } from "@mainspring/sdk";
import { Command, Option } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
  pageOf,
} from "../connection-options.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { given } from "../given.ts";
import { changeText, jobsText, jobText } from "../job-text.ts";
import { readJson } from "../json-argument.ts";
import { id, integer, repeated } from "../option-values.ts";

const STATES: JobState[] = ["ACTIVE", "FINISHED", "DELETED"];

interface JobsListOptions extends ListOptions {
  state?: JobState;
  pool?: string;
  handler?: string;
  name?: string;
  label?: string[];
}

export function jobsCommand(): Command {
  return new Command("jobs")
    .description("look at jobs, replace and delete them")
    .addCommand(jobsListCommand())
    .addCommand(getCommand())
    .addCommand(replaceCommand())
    .addCommand(deleteCommand());
}

function jobsListCommand(): Command {
  return listCommand("list jobs, newest first")
    .addOption(new Option("--state <state>", "only those in this state").choices(STATES))
    .option("--pool <name>", "only those of this pool")
    .option("--handler <name>", "only those for this handler")
    .option("--name <name>", "only those of this name")
    .option("--label <key[=value]>", "only those with this label; may be repeated", repeated)
    .action(async ({ state, pool, handler, name, label, limit, ...connection }: JobsListOptions) => {
      const { client, output } = connect(connection);
      const filter = given({ state, pool, handler, name, label, limit: pageOf(limit) });
      await output.list(client.listJobs(filter), limit, jobsText);
    });
}

function getCommand(): Command {
  return clientCommand("get")
    .description("show a job: its definition and what it has run lately")
    .argument("<jobId>", "", id)
    .action(async (jobId: string, options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const job = await client.getJob(jobId);
      output.print(job, () => jobText(job));
    });
}

function replaceCommand(): Command {
  return clientCommand("replace")
    .description("replace a job's definition; what waits runs by the new one")
    .argument("<jobId>", "", id)
    .argument("<definition>", "all of it, as POST /v1/jobs takes it: JSON, @file, or - for standard input")
    .option("--if-version <version>", "only if it has this version", integer(1, 2 ** 31 - 1))
    .action(async (jobId: string, definition: string, options: ConnectionOptions & { ifVersion?: number }) => {
      const { client, output } = connect(options);
      const job = await definitionOf(definition);
      const changed = await client.replaceJob(jobId, job, given({ ifVersion: options.ifVersion }));
      output.print(changed, () => changeText(changed));
    });
}

/** The server judges the rest of it, and names each field that is wrong. */
async function definitionOf(source: string): Promise<JobRequest> {
  const definition = await readJson("the definition", source);
  if (typeof definition === "object" && definition !== null && !Array.isArray(definition))
    return definition as JobRequest;
  throw new Failure(`the definition must be an object such as {"target": {"handler": "echo"}}`, EXIT.usage);
}

function deleteCommand(): Command {
  return clientCommand("delete")
    .description("delete a job; what waits is cancelled, its history stays")
    .argument("<jobId>", "", id)
    .option("--cancel-running", "cancel what runs too")
    .action(async (jobId: string, options: ConnectionOptions & { cancelRunning?: boolean }) => {
      const { client, output } = connect(options);
      await client.deleteJob(jobId, { cancelRunning: options.cancelRunning === true });
      output.print({ jobId, state: "DELETED" }, () => "deleted");
    });
}
