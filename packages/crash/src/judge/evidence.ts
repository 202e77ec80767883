import type { AttemptRecord, ExecutionSummary } from "@mainspring/sdk";
import type { ClientEvent, Fault, FaultEvent, WorkerEvent } from "../history/events.ts";

/** All that is known of a run from outside the server. */
export interface Evidence {
  clients: readonly ClientEvent[];
  workers: readonly WorkerEvent[];
  faults: readonly FaultEvent[];
  /** Everything that the server lists, read when nothing moved any more. */
  executions: readonly FinalExecution[];
  /** The same listed once more after a calm while. */
  listedLater: readonly Pick<ExecutionSummary, "executionId" | "state" | "attempt" | "updatedAt">[];
  /** Jobs that the server still calls ACTIVE in the end. */
  activeJobs: number;
  /** How often each fault had to happen at least. */
  demanded: Partial<Record<Fault, number>>;
  /** Processes that ended although nobody ended them, or not in peace. */
  unaskedDeaths: readonly string[];
  /** Adding it to wall clock times, in milliseconds since 1970, gives times of the monotonic clock. */
  wallClockZeroMs: number;
  /** By how much the times that servers wrote down may be off, in milliseconds. */
  toleranceMs: number;
}

/** An execution as the server tells it, with payload and result as digests. */
export interface FinalExecution extends ExecutionSummary {
  attempts: readonly AttemptRecord[];
  /** From the payload; null: it has none of ours. */
  key: string | null;
  payloadSha: string;
  resultSha: string;
}
