import type {
  AttemptRecord,
  ExecutionSummary,
  JobRequestSummary,
  LedgerItem,
  WorkflowNode,
  WorkflowSummary,
} from "@mainspring/sdk";
import type { ClientEvent, Fault, FaultEvent, WorkerEvent } from "../history/events.ts";

/** Everything that is known about a run from outside the server. */
export interface Evidence {
  clients: readonly ClientEvent[];
  workers: readonly WorkerEvent[];
  faults: readonly FaultEvent[];
  /** All executions of the server, with those of runs and of nodes, read when nothing changed any more. */
  executions: readonly FinalExecution[];
  /** The same, listed again after a calm while. */
  listedLater: readonly Pick<ExecutionSummary, "executionId" | "state" | "attempt" | "updatedAt">[];
  /** All runs of workflows, read with the executions. */
  workflows: readonly FinalRun[];
  /** All requests that applications wrote, read with the executions; null: no application shares the store. */
  requests: readonly FinalRequest[] | null;
  /** Records that the servers accepted; null: jobs go into the store directly. */
  records: RecordEvidence | null;
  /** Ids of the executions whose end ClickHouse or the topic of events has; null: there is neither. */
  endsInReplica: ReadonlySet<string> | null;
  /** Number of jobs that are still ACTIVE at the end. */
  activeJobs: number;
  /** Jobs that recurred until they were paused permanently. */
  recurring: readonly RecurringJob[];
  /** Number of times that each fault must have happened. */
  demanded: Partial<Record<Fault, number>>;
  /** Processes that ended without a request, or not in an orderly way. */
  unaskedDeaths: readonly string[];
  /**
   * Offset in milliseconds that turns wall clock times, in milliseconds since 1970, into times of the monotonic clock.
   */
  wallClockZeroMs: number;
  /** Largest error of the times that servers wrote, in milliseconds. */
  toleranceMs: number;
}

/** An execution as the server shows it, with digests of payload and result. */
export interface FinalExecution extends ExecutionSummary {
  attempts: readonly AttemptRecord[];
  /** Key from the payload; null: the payload is not one of the load's. */
  key: string | null;
  payloadSha: string;
  resultSha: string;
}

/** A run of a workflow as the server shows it. */
export interface FinalRun extends Pick<WorkflowSummary, "workflowId" | "name" | "state" | "finishedAt" | "retryOf"> {
  nodes: readonly Pick<WorkflowNode, "name" | "state" | "executionId" | "branch" | "keptFrom" | "because">[];
}

/** Records that the servers accepted. */
export interface RecordEvidence {
  mode: "fallback" | "kafka";
  /** The records as the server shows them at the end, without those that it does not know. */
  shown: readonly FinalRequest[];
  /** Positions of the records that the topic of refused records names. */
  told: ReadonlySet<string>;
}

/** A request as the server shows it. */
export type FinalRequest = Pick<
  JobRequestSummary,
  "requestId" | "state" | "jobId" | "executionId" | "deduplicated" | "problem"
>;

/** Schedule of a recurring job. `anchorAt`: a past instant of the interval, in milliseconds since 1970. */
export type RecurringTimes = { cron: string; timezone: string } | { everySec: number; anchorAt: number };

/** A recurring job, the requests about it, and its ledger. All times are milliseconds since 1970. */
export interface RecurringJob {
  name: string;
  jobId: string;
  overlap: "SKIP" | "BUFFER_ONE" | "ALLOW";
  /** Versions of the job, each of which applies from a time between the request and its answer. */
  versions: { times: RecurringTimes; askedAt: number; answeredAt: number }[];
  /** Pauses; `resumedAt`: time at which the resume was requested. */
  pauses: { askedAt: number; answeredAt: number; resumedAt: number }[];
  /** Time of the request for the permanent pause, from which on the job is not judged. */
  endedAt: number;
  ledger: readonly LedgerItem[];
}
