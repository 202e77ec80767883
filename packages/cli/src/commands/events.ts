import { EVENT_KINDS } from "@mainspring/contract/enums";
import type { EventKind, LifecycleEvent } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { eventKinds, repeated, wholeId } from "../arguments/option-values.ts";
import { sentence } from "../text/output.ts";

interface EventsOptions extends ConnectionOptions {
  follow?: boolean;
  after?: string;
  kind?: EventKind[];
  pool?: string[];
  handler?: string[];
  job?: string[];
  workflow?: string[];
  execution?: string[];
  worker?: string[];
}

export function eventsCommand(): Command {
  return clientCommand("events")
    .description("show the events of executions, jobs and workers that the servers keep")
    .option("--follow", "show events from now on, or from behind --after, until it is stopped")
    .option("--after <position>", "only those behind this `position`, as --json shows it; oldest: all that are kept")
    .option("--kind <kind>", `only those of this kind: ${EVENT_KINDS.join(", ")}; may be repeated`, eventKinds)
    .option("--pool <name>", "only those of this pool; may be repeated", repeated)
    .option("--handler <name>", "only those of this handler; may be repeated", repeated)
    .option("--job <jobId>", "only those of this job; may be repeated", wholeIds)
    .option("--workflow <workflowId>", "only those of this run of a workflow; may be repeated", wholeIds)
    .option("--execution <executionId>", "only those of this execution; may be repeated", wholeIds)
    .option("--worker <workerId>", "only those of this worker and of attempts that it ran; may be repeated", repeated)
    .action(showEvents);
}

async function showEvents({
  follow,
  after,
  kind,
  job,
  workflow,
  execution,
  worker,
  ...options
}: EventsOptions): Promise<void> {
  const { pool, handler, ...connection } = options;
  const { client, output } = connect(connection);
  const range = follow ? { after } : { after: after ?? "oldest", until: "now" as const };
  const ids = { jobId: job, workflowId: workflow, executionId: execution, workerId: worker };
  for await (const event of client.events(given({ kinds: kind, pool, handler, ...ids, ...range })))
    output.print(event, () => eventLine(event));
}

function eventLine({ time, type, subject, data }: LifecycleEvent): string {
  const { attempt, pool, handler, state, reason, errorName, step } = data;
  const part = step === null ? "" : sentence` step ${JSON.stringify(step)}`;
  const tries = attempt > 0 ? sentence` attempt ${attempt}` : "";
  const why = errorName ?? reason;
  const end = state === null ? "" : sentence`  ${state}`;
  const place = handler === "" ? "worker" : handler;
  return sentence`${time}  ${type.padEnd(16)}  ${subject}  ${place} in ${pool}${tries}${part}${end}${why === null ? "" : `: ${why}`}`;
}

function wholeIds(text: string, before: string[] = []): string[] {
  return [...before, wholeId(text)];
}
