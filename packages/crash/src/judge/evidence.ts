import type { AttemptRecord, ExecutionSummary, LedgerItem } from "@mainspring/sdk";
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
  /** Jobs that recurred until they were paused for good. */
  recurring: readonly RecurringJob[];
  /** How often each fault had to happen at least. */
  demanded: Partial<Record<Fault, number>>;
  /** Processes that ended although nobody ended them, or not in peace. */
  unaskedDeaths: readonly string[];
  /** Adding it to wall clock times, in milliseconds since 1970, gives times of the monotonic clock. */
  wallClockZeroMs: number;
  /** Greatest error of the times that servers wrote, in milliseconds. */
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

/** `anchorAt`: an instant of the past that is one of its own. Milliseconds since 1970. */
export type RecurringTimes = { cron: string; timezone: string } | { everySec: number; anchorAt: number };

/** A recurring job, what was asked of it, and its ledger. All times are milliseconds since 1970. */
export interface RecurringJob {
  name: string;
  jobId: string;
  overlap: "SKIP" | "BUFFER_ONE" | "ALLOW";
  /** Each counts from somewhere between the request and its answer. */
  versions: { times: RecurringTimes; askedAt: number; answeredAt: number }[];
  /** `resumedAt`: when that was asked for. */
  pauses: { askedAt: number; answeredAt: number; resumedAt: number }[];
  /** From then on nobody judges it: its pause for good was asked for. */
  endedAt: number;
  ledger: readonly LedgerItem[];
}
