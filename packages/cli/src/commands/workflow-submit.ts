import type { RecurringWorkflowRequest, WorkflowRequest } from "@mainspring/sdk";
import { type Command, Option } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { readJson } from "../arguments/json-argument.ts";
import {
  choiceOption,
  durationMs,
  instant,
  integer,
  label,
  priority as parsePriority,
} from "../arguments/option-values.ts";
import { type RecurrenceGiven, recurrenceOf, withRecurrence } from "../arguments/recurrence-options.ts";
import { readWorkflow } from "../arguments/workflow-argument.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { warningsText } from "../text/job-text.ts";
import { sentence } from "../text/output.ts";
import { exitBy, waitForWorkflow } from "../wait.ts";
import { printRun } from "./workflow-show.ts";
import { watchRun } from "./workflow-watch.ts";

interface SubmitOptions extends ConnectionOptions, RecurrenceGiven {
  name?: string;
  priority?: number | "LOW" | "NORMAL" | "HIGH" | "CRITICAL";
  label?: Record<string, string>;
  timeout?: number;
  onFailure?: "FAIL_FAST" | "CONTINUE";
  uniqueKey?: string;
  concurrencyKey?: string;
  concurrencyLimit?: number;
  runAt?: string;
  delay?: number;
  startBefore?: string;
  input?: string;
  idempotencyKey?: string;
  wait?: boolean;
  watch?: boolean;
}

export function workflowSubmitCommand(): Command {
  const command = clientCommand("submit")
    .description("submit a workflow, to start now, later, or again and again; options replace values of the file")
    .argument("<file>", "the workflow as JSON or YAML, in the form of POST /v1/workflows; - for JSON on standard input")
    .option("--name <name>", "a name for people; of recurring workflows each has its own")
    .addOption(new Option("--run-at <time>", "when to start, with its zone; the past means now").argParser(instant))
    .addOption(new Option("--delay <duration>", "how long from now, as 10s").argParser(durationMs).conflicts("runAt"))
    .option("--start-before <time>", "skip the run if it has not started by then", instant)
    .option(
      "--priority <level>",
      "of the run, and of nodes without their own: 0 to 9, or LOW, NORMAL, HIGH, CRITICAL",
      parsePriority,
    )
    .option("--label <key=value>", "a label, beside those of the file; may be repeated", label)
    .option("--timeout <duration>", "the longest that the whole run may take, as 2h (default: 365d)", durationMs)
    .addOption(
      choiceOption("--on-failure <policy>", "effect of a DEAD node (default: FAIL_FAST)", ["FAIL_FAST", "CONTINUE"]),
    )
    .option("--unique-key <key>", "one at a time: while a run with this key is not final, a submit gives that one")
    .option("--input <json>", "input of the run: JSON, @file, or - for standard input")
    .option(
      "--idempotency-key <key>",
      "not sure whether it was submitted? a repeat with this key submits nothing, for 7 days",
    )
    .option("--concurrency-key <key>", "at most --concurrency-limit runs of this key are open at once")
    .option("--concurrency-limit <count>", "how many of the key (default: 1)", integer(1, 1_000_000))
    .option("--wait", "wait until it is final; exit code 4 if it did not succeed")
    .addOption(new Option("--watch", "follow it until it is final, as `workflow watch` does").conflicts("wait"));
  return withRecurrence(command).action(submit);
}

async function submit(file: string, options: SubmitOptions): Promise<void> {
  const { client, output } = connect(options);
  const input = options.input === undefined ? {} : { input: await inputOf(file, options.input) };
  const request = { ...withOptions(await readWorkflow(file), options), ...input };
  const key = given({ idempotencyKey: options.idempotencyKey });
  if (isRecurring(request)) {
    if (options.wait || options.watch)
      throw new Failure(`--${options.wait ? "wait" : "watch"} is for a workflow that runs once`, EXIT.usage);
    const planned = await client.workflows.schedule(request, key);
    return output.print(planned, () => {
      const first = sentence`accepted: job ${planned.jobId}, whose workflow first starts at ${planned.nextFireAt}`;
      return first + warningsText(planned);
    });
  }
  const submitted = await client.workflows.submit(request, key);
  const { workflowId } = submitted;
  if (options.wait) return await printRun(client, output, await waitForWorkflow(client, workflowId));
  output.print(submitted, () => {
    if ("deduplicated" in submitted) return sentence`is there already: workflow ${workflowId}`;
    const start = submitted.startsAt === null ? "" : sentence`, which starts at ${submitted.startsAt}`;
    return sentence`accepted: workflow ${workflowId} of ${submitted.nodes} nodes` + start + warningsText(submitted);
  });
  if (!options.watch) return;
  exitBy(await watchRun(client, output, workflowId));
  if (!output.json) await printRun(client, output, await client.workflows.get(workflowId));
}

type Submission = WorkflowRequest | RecurringWorkflowRequest;

function isRecurring(workflow: Submission): workflow is RecurringWorkflowRequest {
  return "schedule" in workflow || "everySec" in workflow;
}

/** @throws {Failure} the input is no JSON, or cannot be read */
async function inputOf(file: string, input: string): Promise<unknown> {
  if (file === "-" && input === "-")
    throw new Failure("the workflow and --input cannot both come from standard input", EXIT.usage);
  return await readJson("--input", input);
}

/** The workflow with the values of the options in place of its own. */
function withOptions(workflow: Submission, options: SubmitOptions): Submission {
  const { name, priority, timeout, onFailure, uniqueKey, label: labels } = options;
  const { concurrencyKey, concurrencyLimit, runAt, delay: delayMs, startBefore } = options;
  return given({
    ...workflow,
    ...given({ name, priority, onFailure, uniqueKey, concurrencyKey, concurrencyLimit, runAt, delayMs, startBefore }),
    ...recurrenceOf(options),
    ...given({ timeoutSec: timeout === undefined ? undefined : timeout / 1_000 }),
    ...(labels !== undefined && { labels: { ...workflow.labels, ...labels } }),
  });
}
