import type { JobSubmission } from "@mainspring/contract";
import { DEFAULT_LIFETIME_MS } from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import {
  DEFAULT_POLICY,
  DEFAULT_POOL,
  type ExecutionPolicy,
  type JobDefinition,
  PRIORITIES,
} from "../../domain/job.ts";
import type { RetryPolicy } from "../../domain/retry.ts";
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
    policy: policyOf(job),
    concurrencyKey: job.concurrencyKey ?? null,
    concurrencyLimit: job.concurrencyLimit ?? 1,
    uniqueKey: job.uniqueKey ?? null,
    labels: job.labels ?? {},
  };
}

/** Planned time of a job; a time in the past means now. */
function scheduledAt(job: JobSubmission, createdAt: EpochMs): EpochMs {
  if (job.runAt !== undefined) return Math.max(instant(job.runAt), createdAt);
  return Math.min(createdAt + (job.delayMs ?? 0), INSTANT_MAX);
}

const POLICY_FIELDS = [
  "retryPolicy",
  "timeoutSec",
  "maxLifetimeSec",
  "cancelGraceSec",
  "maxLost",
  "onWorkerLost",
  "startBefore",
] as const;

function policyOf(job: JobSubmission): ExecutionPolicy {
  // Most say nothing about it, and need none of their own.
  if (POLICY_FIELDS.every((field) => job[field] === undefined)) return DEFAULT_POLICY;
  const seconds = (value: number | undefined, fallbackMs: number) =>
    value === undefined ? fallbackMs : Math.round(value * 1_000);
  return {
    retry: retryOf(job.retryPolicy ?? {}),
    timeoutMs: seconds(job.timeoutSec, DEFAULT_POLICY.timeoutMs),
    ...lifetimeOf(seconds(job.maxLifetimeSec, DEFAULT_LIFETIME_MS)),
    cancelGraceMs: seconds(job.cancelGraceSec, DEFAULT_POLICY.cancelGraceMs),
    maxLost: job.maxLost ?? DEFAULT_POLICY.maxLost,
    onWorkerLost: job.onWorkerLost ?? DEFAULT_POLICY.onWorkerLost,
    startBefore: job.startBefore === undefined ? null : instant(job.startBefore),
  };
}

/** Leaves the default out, so that it costs no byte of a stored policy. */
function lifetimeOf(maxLifetimeMs: number): Pick<ExecutionPolicy, "maxLifetimeMs"> {
  return maxLifetimeMs === DEFAULT_LIFETIME_MS ? {} : { maxLifetimeMs };
}

function retryOf(retry: Partial<RetryPolicy>): RetryPolicy {
  const merged = { ...DEFAULT_POLICY.retry, ...retry };
  // A policy with a first delay of two hours does not mean the default cap of one hour.
  return { ...merged, maxDelayMs: Math.max(merged.maxDelayMs, merged.initialDelayMs) };
}

/** Reads a text that the schema has accepted. */
function instant(text: string): EpochMs {
  return parseInstant(text) as EpochMs;
}
