import type { Client, JobRequest, SubmittedJob } from "@mainspring/sdk";
import { type Command, Option } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { readJson } from "../arguments/json-argument.ts";
import { choiceOption, durationMs, instant, integer, label, priority, repeated } from "../arguments/option-values.ts";
import { type RecurrenceGiven, recurrenceOf, withRecurrence } from "../arguments/recurrence-options.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { executionText } from "../text/execution-text.ts";
import { warningsText } from "../text/job-text.ts";
import { sentence } from "../text/output.ts";
import { waitFor } from "../wait.ts";

/** Longest wait for a job that came through Kafka to be taken in, in milliseconds. */
const TAKEN_IN_WITHIN_MS = 5_000;

interface SubmitOptions extends ConnectionOptions, RecurrenceGiven {
  payload?: string;
  pool?: string;
  requires?: string[];
  name?: string;
  runAt?: string;
  delay?: number;
  priority?: number | "LOW" | "NORMAL" | "HIGH" | "CRITICAL";
  maxAttempts?: number;
  backoff?: "FIXED" | "EXPONENTIAL";
  timeout?: number;
  maxLifetime?: number;
  startBefore?: string;
  concurrencyKey?: string;
  concurrencyLimit?: number;
  uniqueKey?: string;
  label?: Record<string, string>;
  onFinish?: string;
  idempotencyKey?: string;
  wait?: boolean;
}

export function submitCommand(): Command {
  const command = clientCommand("submit")
    .description("submit a job that runs once, or recurs")
    .argument("<handler>", "what is to run it: echo, sleep, or a handler of your workers")
    .option("--payload <json>", "JSON, @file, or - for standard input")
    .option("--pool <name>", "the pool whose workers run it (default: default)")
    .option("--requires <capability>", "a capability that the worker must have; may be repeated", repeated)
    .option("--name <name>", "a name for people; of recurring jobs each has its own")
    .addOption(new Option("--run-at <time>", "when, with its zone; the past means now").argParser(instant))
    .addOption(new Option("--delay <duration>", "how long from now, as 10s").argParser(durationMs).conflicts("runAt"))
    .option("--priority <level>", "0 to 9, or LOW, NORMAL, HIGH, CRITICAL", priority)
    .option("--max-attempts <count>", "how often it may fail before it is DEAD (default: 5)", integer(1, 1_000_000))
    .addOption(choiceOption("--backoff <kind>", "how delays between attempts grow", ["FIXED", "EXPONENTIAL"]))
    .option("--timeout <duration>", "the longest that one attempt may take, as 90s (default: 1h)", durationMs)
    .option("--max-lifetime <duration>", "the longest from its due time to its end, as 30d (default: 365d)", durationMs)
    .option("--start-before <time>", "skip it if it has not started by then", instant)
    .option("--concurrency-key <key>", "run at most --concurrency-limit jobs of this key at once")
    .option("--concurrency-limit <count>", "how many of the key (default: 1)", integer(1, 1_000_000))
    .option(
      "--unique-key <key>",
      "one at a time: while an execution with this key is not final, a submit gives that one",
    )
    .option("--on-finish <url>", "who is told of the end by a signed POST")
    .option("--label <key=value>", "a label; may be repeated", label)
    .option(
      "--idempotency-key <key>",
      "not sure whether it was submitted? a repeat with this key submits nothing, for 7 days",
    )
    .option("--wait", "wait until it is final; exit code 4 if it did not succeed");
  return withRecurrence(command).action(submit);
}

async function submit(handler: string, options: SubmitOptions): Promise<void> {
  const { client, output } = connect(options);
  const request = await requestOf(handler, options);
  const key = given({ idempotencyKey: options.idempotencyKey });
  const recurrence = recurrenceOf(options);
  if (recurrence !== null) {
    if (options.wait) throw new Failure("--wait is for a job that runs once", EXIT.usage);
    const answer = await client.submit({ ...request, ...recurrence }, key);
    const recurring = await known(client, answer);
    return output.print(
      recurring,
      () =>
        sentence`accepted: job ${recurring.jobId}` +
        (answer.request === undefined ? sentence`, which first fires at ${recurring.nextFireAt}` : "") +
        requestText(recurring) +
        warningsText(recurring),
    );
  }
  const answer = await client.submit(request, key);
  if (options.wait) {
    const taken = answer.request === undefined ? null : await client.requests.takenIn(answer.request);
    const execution = await waitFor(client, taken?.executionId ?? answer.executionId);
    return output.print(execution, () => executionText(execution));
  }
  const submitted = await known(client, answer);
  const verb = submitted.deduplicated ? "is there already" : "accepted";
  output.print(
    submitted,
    () =>
      sentence`${verb}: execution ${submitted.executionId} of job ${submitted.jobId}` +
      requestText(submitted) +
      warningsText(submitted),
  );
}

/**
 * Waits for a while until a job that came through Kafka is taken in, so that its ids are those that other commands find.
 * @returns the answer with the ids of the job; where the server has not taken it in yet, the answer as it is, with the request
 * @throws {MainspringError} the job is refused
 */
async function known<S extends Pick<SubmittedJob, "jobId" | "request"> & { executionId?: string }>(
  client: Client,
  answer: S,
): Promise<S> {
  const { request, ...rest } = answer;
  if (request === undefined) return answer;
  const signal = AbortSignal.timeout(TAKEN_IN_WITHIN_MS);
  try {
    const { jobId, executionId, deduplicated } = await client.requests.takenIn(request, { signal });
    const ids = { jobId: jobId ?? answer.jobId, ...(executionId !== null && { executionId }) };
    return { ...rest, ...ids, ...(deduplicated && { deduplicated }) } as unknown as S;
  } catch (error) {
    if (signal.aborted) return answer;
    throw error;
  }
}

function requestText({ request }: Pick<SubmittedJob, "request">): string {
  return request === undefined ? "" : sentence`, once request ${request} is taken in`;
}

async function requestOf(handler: string, options: SubmitOptions): Promise<JobRequest> {
  const { pool, requires, name, runAt, delay, timeout, maxLifetime, startBefore, uniqueKey } = options;
  return given({
    target: given({ handler, pool, requires }),
    payload: options.payload === undefined ? undefined : await readJson("--payload", options.payload),
    name,
    runAt,
    delayMs: delay,
    priority: options.priority,
    retryPolicy: retryPolicyOf(options),
    timeoutSec: timeout === undefined ? undefined : timeout / 1_000,
    maxLifetimeSec: maxLifetime === undefined ? undefined : maxLifetime / 1_000,
    startBefore,
    concurrencyKey: options.concurrencyKey,
    concurrencyLimit: options.concurrencyLimit,
    uniqueKey,
    labels: options.label,
    onFinish: options.onFinish === undefined ? undefined : { url: options.onFinish },
  });
}

function retryPolicyOf({ maxAttempts, backoff }: SubmitOptions): JobRequest["retryPolicy"] {
  return maxAttempts === undefined && backoff === undefined ? undefined : given({ maxAttempts, backoff });
}
