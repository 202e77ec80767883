import type { Epoch, EpochMs, ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import type { Pool } from "../../domain/pool.ts";
import type { Skip } from "../../domain/recurrence.ts";
import type { Signal } from "../../domain/step.ts";
import type {
  Recovered,
  ShardCommit,
  ShardHolder,
  ShardOutcome,
  StepWrite,
  Submission,
  SubmitOutcome,
} from "../../ports/store.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { DeadLetterAction } from "../../ports/store-dead-letters.ts";
import type { IngestRewind } from "../../ports/store-ingest.ts";
import type { RequestId, TakenRequest } from "../../ports/store-requests.ts";
import type { NewPart } from "../../ports/store-runs.ts";
import type { ExecutionRow } from "./rows/execution-row.ts";
import type { JobRow } from "./rows/job-table.ts";
import type { PlanRow } from "./rows/plan-table.ts";
import type { RunRow } from "./rows/run-table.ts";

/**
 * Events of the store, in the order in which they became true, each at its instant. Checkers outside the system read
 * them; an event never changes.
 */
export type StoreEvent =
  | Submitted
  | RequestAdded
  | RequestsEnded
  | Ingested
  | IngestRewound
  | Committed
  | TakenOver
  | Commanded
  | Signalled
  | JobChanged
  | RunRetried
  | EventsLeft
  | Settled
  | Forgotten
  | PoolSet
  | WentBack;

export interface Submitted {
  kind: "SUBMITTED";
  at: EpochMs;
  by: Incarnation;
  submission: Submission;
  outcome: SubmitOutcome;
  /** Rows that are new. */
  rows: readonly ExecutionRow[];
}

/** A transaction of an application has committed a request. */
export interface RequestAdded {
  kind: "REQUEST_ADDED";
  at: EpochMs;
  id: RequestId;
}

/** Requests were decided, and their jobs are written. */
export interface RequestsEnded {
  kind: "REQUESTS_ENDED";
  at: EpochMs;
  by: Incarnation;
  taken: readonly TakenRequest[];
}

/** Records of the log of requests were taken in, and the position of their partition has moved. */
export interface Ingested {
  kind: "INGESTED";
  at: EpochMs;
  by: Incarnation;
  partition: number;
  topic: string;
  from: number;
  next: number;
  /** Offsets of the requests, in order. */
  offsets: readonly number[];
  taken: readonly TakenRequest[];
}

/** The position of a partition was set back. */
export interface IngestRewound extends IngestRewind {
  kind: "INGEST_REWOUND";
  at: EpochMs;
}

/** Effect of one commit in one shard. */
export interface Committed {
  kind: "COMMITTED";
  at: EpochMs;
  by: Incarnation;
  /** The commit as requested. A FENCED commit has no effect. */
  asked: ShardCommit;
  outcome: ShardOutcome;
  /** The changes that were neither missed nor refused. */
  applied: readonly AppliedChange[];
  /** Plans that changed. */
  planned: readonly AppliedPlan[];
  /** Rows of planned instants that are new. Rows whose unique key was held are SKIPPED. */
  born: readonly ExecutionRow[];
  /** Runs of workflows that changed. */
  runs: readonly AppliedRun[];
  /** Rows of nodes that are new. */
  nodes: readonly ExecutionRow[];
  /** Records of handlers that the commit wrote. A repeat of an earlier one is not among them. */
  recorded: readonly StepWrite[];
  /** Lifecycle events that the commit kept, those of the inbox among them. */
  events: readonly LifecycleEvent[];
}

export interface AppliedRun {
  before: RunRow;
  after: RunRow;
}

export interface AppliedPlan {
  before: PlanRow;
  after: PlanRow;
  skips: readonly Skip[];
}

export interface AppliedChange {
  before: ExecutionRow;
  after: ExecutionRow;
}

/** A pool got settings. */
export interface PoolSet {
  kind: "POOL_SET";
  at: EpochMs;
  pool: Pool;
}

export interface TakenOver {
  kind: "TAKEN_OVER";
  at: EpochMs;
  owner: Incarnation;
  shards: readonly { shard: ShardId; epoch: Epoch; from: Incarnation | null }[];
  /** Number of commits and takeovers on their way that this takeover keeps from taking effect. */
  shutOut: number;
}

export interface Commanded {
  kind: "COMMANDED";
  at: EpochMs;
  by: Incarnation;
  command: Command;
}

/** An execution got a signal, with the time of its acceptance. */
export interface Signalled {
  kind: "SIGNALLED";
  at: EpochMs;
  by: Incarnation;
  executionId: ExecutionId;
  signal: Signal;
}

/** A job was replaced or deleted, or got an additional execution. */
export interface JobChanged {
  kind: "JOB_CHANGED";
  at: EpochMs;
  by: Incarnation;
  job: JobRow;
  /** Row of the new execution; null: none. */
  row: ExecutionRow | null;
}

/** A final run of a workflow was retried. */
export interface RunRetried {
  kind: "RUN_RETRIED";
  at: EpochMs;
  by: Incarnation;
  run: RunRow;
  /** Rows of the new run and of its first nodes. */
  rows: readonly ExecutionRow[];
}

/** A gateway has left events of workers in the inboxes of shards. */
export interface EventsLeft {
  kind: "EVENTS_LEFT";
  at: EpochMs;
  by: Incarnation;
  events: readonly LifecycleEvent[];
}

/** Dead letters were replayed or discarded in one instant. */
export interface Settled {
  kind: "SETTLED";
  at: EpochMs;
  by: Incarnation;
  action: DeadLetterAction;
  /** Rows of the letters as they were before. */
  letters: readonly ExecutionRow[];
  /** Rows of the replays. */
  rows: readonly ExecutionRow[];
}

/** Retention deleted these rows. */
export interface Forgotten {
  kind: "FORGOTTEN";
  at: EpochMs;
  rows: readonly ExecutionRow[];
}

/** The store was restored to an earlier state, which these fields describe completely. */
export interface WentBack {
  kind: "WENT_BACK";
  at: EpochMs;
  /** Whether the store tells owners by a generation that it has lost writes, so that they skip the numbers of attempts. */
  hasGenerations: boolean;
  holders: readonly ShardHolder[];
  /** All executions. */
  rows: readonly ExecutionRow[];
  /** All workflow runs. */
  runs: readonly RunRow[];
  /** All nodes that handlers have added to runs. */
  parts: readonly NewPart[];
  /** Attempts that are assigned and have not ended. */
  inFlight: Recovered["inFlight"];
  /** Open rows of the journal. */
  journals: Recovered["journals"];
}

/** A commit with lists of its own, which its caller does not change later. */
export function copied(commit: ShardCommit): ShardCommit {
  const { changes, assigned, settledJournals, expected, plans, commandsDone, commands, steps, runs, births } = commit;
  const { told, deliveries } = commit;
  return {
    ...commit,
    changes: [...changes],
    assigned: [...assigned],
    settledJournals: [...settledJournals],
    expected: [...expected],
    plans: [...plans],
    commandsDone: [...commandsDone],
    commands: [...commands],
    steps: [...steps],
    runs: [...runs],
    births: [...births],
    ...(deliveries !== undefined && { deliveries: [...deliveries] }),
    ...(told !== undefined && { told: { ...told, events: [...told.events], inbox: [...told.inbox] } }),
  };
}
