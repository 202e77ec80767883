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
  /** When it is due; the creation if it was to run now or in the past, and for recurring jobs. */
  scheduledAt: EpochMs;
  /** null: it runs once. */
  recurrence: RecurrenceRule | null;
  policy: ExecutionPolicy;
  concurrencyKey: string | null;
  /** How many executions of the key may run at once; 1 or more. */
  concurrencyLimit: number;
  uniqueKey: string | null;
  labels: Readonly<Record<string, string>>;
}

/** How one execution is run and retried; stored with it, so that its owner needs to read nothing else. */
export interface ExecutionPolicy {
  retry: RetryPolicy;
  /** Hard limit of one attempt, from its start. */
  timeoutMs: number;
  /** How long a cancelled handler may take to stop before the cancellation is forced. */
  cancelGraceMs: number;
  /** How many times its worker may be lost before it is DEAD. */
  maxLost: number;
  onWorkerLost: "RETRY" | "DEAD";
  /** Time by which an attempt must have started; later the execution is SKIPPED. */
  startBefore: EpochMs | null;
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
