import type {
  Command,
  DeadLetterAction,
  Epoch,
  EpochMs,
  Incarnation,
  Pool,
  Recovered,
  ShardCommit,
  ShardHolder,
  ShardId,
  ShardOutcome,
  Skip,
  Submission,
  SubmitOutcome,
} from "@mainspring/server/testing";
import type { ExecutionRow } from "./execution-row.ts";
import type { JobRow } from "./job-table.ts";
import type { PlanRow } from "./plan-table.ts";

/**
 * Events of the store, at the instant at which they became true, in that order. It is told to whoever judges, outside
 * the system: nothing in it is ever changed afterwards.
 */
export type StoreEvent =
  | Submitted
  | Committed
  | TakenOver
  | Commanded
  | JobChanged
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
  /** The rows that are new. */
  rows: readonly ExecutionRow[];
}

/** Effect of one commit in one shard. */
export interface Committed {
  kind: "COMMITTED";
  at: EpochMs;
  by: Incarnation;
  /** As it was asked for; of a FENCED one nothing is true. */
  asked: ShardCommit;
  outcome: ShardOutcome;
  /** The changes that were neither missed nor refused. */
  applied: readonly AppliedChange[];
  /** Plans that moved on. */
  planned: readonly AppliedPlan[];
  /** Rows that are new; those whose unique key was held are SKIPPED. */
  born: readonly ExecutionRow[];
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

/** Somebody set up a pool. */
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
  /** How many commits and takeovers that were on their way never take effect because of it. */
  shutOut: number;
}

export interface Commanded {
  kind: "COMMANDED";
  at: EpochMs;
  by: Incarnation;
  command: Command;
}

/** A job was replaced, deleted, or is run again or out of turn. */
export interface JobChanged {
  kind: "JOB_CHANGED";
  at: EpochMs;
  by: Incarnation;
  job: JobRow;
  /** The row that a run made. */
  row: ExecutionRow | null;
}

/** Dead letters were replayed or discarded, at once. */
export interface Settled {
  kind: "SETTLED";
  at: EpochMs;
  by: Incarnation;
  action: DeadLetterAction;
  /** As they were before. */
  letters: readonly ExecutionRow[];
  /** The replays. */
  rows: readonly ExecutionRow[];
}

/** Retention let these go. */
export interface Forgotten {
  kind: "FORGOTTEN";
  at: EpochMs;
  rows: readonly ExecutionRow[];
}

/** The store was put back to an earlier state: nothing is true any more but what is named here. */
export interface WentBack {
  kind: "WENT_BACK";
  at: EpochMs;
  holders: readonly ShardHolder[];
  /** All executions. */
  rows: readonly ExecutionRow[];
  /** Attempts that are assigned and have not ended. */
  inFlight: Recovered["inFlight"];
  /** Open rows of the journal. */
  journals: Recovered["journals"];
}
