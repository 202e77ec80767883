import type { EpochMs } from "./ids.ts";
import type { RecurrenceRule } from "./recurrence.ts";
import type { RetryPolicy } from "./retry.ts";

export { type JobState, type JobType, PRIORITIES } from "@mainspring/contract/enums";
export { DEFAULT_POOL } from "@mainspring/contract/limits";

/** Definition of a job, with every default filled in. */
export interface JobDefinition {
  name: string | null;
  pool: string;
  handler: string;
  /** Capabilities that a worker must have; sorted, without repeats. */
  requires: readonly string[];
  /** 0 to 9; 5 is normal. */
  priority: number;
  /** Due time; the time of creation for a recurring job, and for a job that was submitted to run now or in the past. */
  scheduledAt: EpochMs;
  /** null: the job runs once. */
  recurrence: RecurrenceRule | null;
  policy: ExecutionPolicy;
  concurrencyKey: string | null;
  /** Number of executions of the concurrency key that may run at once; 1 or more. */
  concurrencyLimit: number;
  uniqueKey: string | null;
  labels: Readonly<Record<string, string>>;
}

/**
 * Rules by which an execution runs and is retried. They are stored with each execution, so that its owner needs no
 * other row.
 */
export interface ExecutionPolicy {
  retry: RetryPolicy;
  /** Time limit of one attempt in ms, from its start. */
  timeoutMs: number;
  /**
   * Time limit in ms of the execution's whole life, over all attempts, suspensions and backoffs, from its due time; left
   * out: `DEFAULT_LIFETIME_MS`.
   */
  maxLifetimeMs?: number;
  /** Time in ms that a cancelled handler has to stop before the end is forced. */
  cancelGraceMs: number;
  /** Number of times that the execution's worker may be lost before the execution is DEAD. */
  maxLost: number;
  onWorkerLost: "RETRY" | "DEAD";
  /** Time by which an attempt must have started, or the execution is SKIPPED; null: no bound. */
  startBefore: EpochMs | null;
  /** Receiver of a webhook when the execution is final; left out: none. */
  onFinish?: OnFinish;
  /**
   * Traceparent by W3C of the submit, in whose trace the execution is; left out: the submit had none, or the job recurs. No
   * rule; it is kept here because this is the part of a row that nearly all rows leave out.
   */
  traceparent?: string;
}

export interface OnFinish {
  /** An http or https URL, as the URL standard writes it. */
  url: string;
}

export const DEFAULT_POLICY: ExecutionPolicy = {
  retry: {
    maxAttempts: 5,
    backoff: "EXPONENTIAL",
    initialDelayMs: 1_000,
    maxDelayMs: 3_600_000,
    jitter: true,
  },
  timeoutMs: 3_600_000,
  cancelGraceMs: 10_000,
  maxLost: 3,
  onWorkerLost: "RETRY",
  startBefore: null,
};
