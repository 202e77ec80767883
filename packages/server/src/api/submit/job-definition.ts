import type { JobSubmission } from "@mainspring/contract";
import type { EpochMs } from "../../domain/ids.ts";
import { DEFAULT_POOL, type JobDefinition, PRIORITIES } from "../../domain/job.ts";
import { policyOf } from "../../domain/policy-of.ts";
import type { FieldError } from "../http/errors.ts";
import { INSTANT_MAX, parseInstant } from "../http/instants.ts";
import { recurrenceOf, scheduleErrors, typeErrors } from "./recurrence-rule.ts";

/**
 * Faults of a submission that its schema cannot express.
 * @param after a recurring job has to fire after it. The beginning of time where the time of day must play no part: a
 *   repeat of a request is to be judged as the first was
 */
export function contradictions(job: JobSubmission, after: EpochMs): FieldError[] {
  const errors = typeErrors(job);
  if (errors.length === 0) errors.push(...scheduleErrors(job, after));
  if (job.runAt !== undefined && job.delayMs !== undefined) {
    errors.push({ field: "delayMs", message: "cannot be combined with runAt: give one of them" });
  }
  if (job.runAt !== undefined && job.startBefore !== undefined && instant(job.startBefore) <= instant(job.runAt)) {
    errors.push({ field: "startBefore", message: "must be later than runAt, or the job could never start" });
  }
  if (job.concurrencyLimit !== undefined && job.concurrencyKey === undefined) {
    errors.push({ field: "concurrencyLimit", message: "needs concurrencyKey: it limits the executions of one key" });
  }
  const { initialDelayMs, maxDelayMs } = job.retryPolicy ?? {};
  if (initialDelayMs !== undefined && maxDelayMs !== undefined && maxDelayMs < initialDelayMs) {
    errors.push({ field: "retryPolicy.maxDelayMs", message: "must be at least initialDelayMs" });
  }
  return errors;
}

/** Fills in every default. @param createdAt the present, by the store's clock */
export function jobDefinition(job: JobSubmission, createdAt: EpochMs): JobDefinition {
  return {
    name: job.name ?? null,
    pool: job.target.pool ?? DEFAULT_POOL,
    handler: job.target.handler,
    requires: job.target.requires === undefined ? [] : [...new Set(job.target.requires)].sort(),
    priority: typeof job.priority === "string" ? PRIORITIES[job.priority] : (job.priority ?? PRIORITIES.NORMAL),
    scheduledAt: scheduledAt(job, createdAt),
    recurrence: recurrenceOf(job),
    policy: policyOf({ ...job, ...onFinishOf(job) }, job.startBefore === undefined ? null : instant(job.startBefore)),
    concurrencyKey: job.concurrencyKey ?? null,
    concurrencyLimit: job.concurrencyLimit ?? 1,
    uniqueKey: job.uniqueKey ?? null,
    labels: job.labels ?? {},
  };
}

/** As the URL standard writes it, so that two writings of one URL are one definition. */
function onFinishOf({ onFinish }: JobSubmission): Pick<JobSubmission, "onFinish"> {
  if (onFinish === undefined || !URL.canParse(onFinish.url)) return {};
  return { onFinish: { url: new URL(onFinish.url).href } };
}

/** Planned time of a job; a time in the past means now. */
function scheduledAt(job: JobSubmission, createdAt: EpochMs): EpochMs {
  if (job.runAt !== undefined) return Math.max(instant(job.runAt), createdAt);
  return Math.min(createdAt + (job.delayMs ?? 0), INSTANT_MAX);
}

/** Reads a text that the schema has accepted. */
function instant(text: string): EpochMs {
  return parseInstant(text) as EpochMs;
}
