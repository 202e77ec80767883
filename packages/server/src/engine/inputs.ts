import type { Changeover } from "../domain/changeover.ts";
import type { Candidate } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, JobId, ShardId } from "../domain/ids.ts";
import type { Pool } from "../domain/pool.ts";
import type { Demand, FromGateway, PermitAnswer, PermitCall } from "../ports/messages.ts";
import type { Command, RankCursor, Recovered } from "../ports/store.ts";
import type { Recurrence } from "../ports/store-recurrences.ts";
import type { Freed } from "./batch.ts";
import type { PermitLetter } from "./permits/permits.ts";
import type { FiredQuestion } from "./recurring/catch-ups.ts";

/** All that can happen to the machine, but for time passing. */
export type Input =
  /** The store's clock was set by so much since the last step, forward, or back where it is negative. */
  | { kind: "LEAPT"; byMs: number }
  /** All changeovers of time zone data that are known, in order: at once, and again when one comes into force. */
  | { kind: "CHANGEOVERS"; changeovers: readonly Changeover[] }
  /** These shards were taken over, beside those owned before; `recovered` is all that may be in flight in them. */
  | {
      kind: "OWNED";
      /** Number of the announcement of the shards that are owned from now on; grows. */
      term: number;
      epochs: ReadonlyMap<ShardId, Epoch>;
      recovered: Recovered;
      incarnation: Incarnation;
    }
  /** The epochs of all shards, as the store showed them after those of the next OWNED were taken over. */
  | { kind: "EPOCHS_SEEN"; epochs: ReadonlyMap<ShardId, Epoch> }
  /** These shards are another's, or nobody's: what is known of them is forgotten. */
  | { kind: "LOST"; shards: readonly ShardId[] }
  /** Rows that were just submitted: perhaps late, repeated or stale. */
  | { kind: "HINTED"; rows: readonly Candidate[] }
  | ReadResult
  /** Once a second: lanes that have READY rows, by their numbers in the store. */
  | { kind: "SWEEP"; laneHashes: readonly number[] }
  | { kind: "COMMANDS"; commands: readonly Command[] }
  | { kind: "POOLS"; pools: readonly Pool[] }
  /** Gateways that can be reached now. */
  | { kind: "GATEWAYS"; nodes: readonly Incarnation[] }
  | { kind: "GATEWAY"; from: Incarnation; message: FromGateway }
  /** Message about a pool with limits, between machines and the home of the pool. */
  | { kind: "PERMIT"; from: Incarnation; message: PermitCall | PermitAnswer }
  /** Attempts that had permits have ended by a commit that went through. */
  | { kind: "FREED"; freed: readonly Freed[] }
  /** A recurring job was submitted, and fires soon. */
  | { kind: "PLANNED"; shard: ShardId; jobId: JobId }
  /** A commit was answered: executions that it made of planned instants. */
  | {
      kind: "BORN";
      rows: readonly Candidate[];
      /** These did not become PENDING: they are final, or are known already. */
      notBorn: readonly Candidate[];
      /** Their plans were not as expected: nothing of them was written. */
      missedPlans: readonly { shard: ShardId; jobId: JobId; births: readonly Candidate[] }[];
    }
  /** The store has these hinted rows no more, or otherwise: forget the hint. */
  | { kind: "CANDIDATES_MISSED"; ids: readonly ExecutionId[] };

/** When a read began. */
export interface ReadMark {
  /** The number of the oldest batch that was not answered then. */
  since: number;
  /** The term then: shards that were taken over later were not read as they are now. */
  term: number;
}

/** The answer to a want. */
export type ReadResult = ReadMark &
  (
    | { kind: "READ_READY"; laneHash: number; after: RankCursor | null; rows: Candidate[]; full: boolean }
    | { kind: "READ_WAITING"; rows: Candidate[] }
    | { kind: "LOADED"; asked: readonly ExecutionId[]; rows: Candidate[] }
    /** A look at recurring jobs. `isBounded`: what there is no room for is read again later. */
    | { kind: "READ_PLANS"; plans: Recurrence[]; isBounded: boolean }
    | { kind: "LOADED_PLANS"; asked: readonly JobId[]; ask: number; plans: Recurrence[] }
    | { kind: "READ_FIRED"; jobId: JobId; question: FiredQuestion; instants: EpochMs[] }
  );

/** Read that the machine asks for. An input answers it, in any order, or never. */
export type Want =
  | { kind: "READY"; laneHash: number; after: RankCursor | null; limit: number }
  | { kind: "LOAD"; ids: ExecutionId[] }
  /** @property ask the number of the read, which its answer repeats */
  | { kind: "LOAD_PLANS"; jobIds: JobId[]; ask: number }
  /** Planned instants of a range that have an execution. */
  | { kind: "FIRED"; jobId: JobId; question: FiredQuestion }
  /** There is room again for plans that are due soon. */
  | { kind: "DUE_PLANS" };

export interface StepResult {
  wants: Want[];
  /** When to step next even if nothing comes; null: never. */
  wakeAt: EpochMs | null;
  /** Pools whose work waits for credit; null: gateways need not be told. */
  demand: Demand[] | null;
  /** The batch, or a step, was too small for all that there is to do. */
  more: boolean;
  /** To be sent at once: no commit stands behind them. */
  permits: PermitLetter[];
}

export interface Limits {
  /** Ready executions that a lane keeps in memory. */
  laneEntries: number;
  /** Executions in memory in all, beyond which lanes keep a tenth. */
  entries: number;
  /** Assignments in a batch. */
  batchAssigns: number;
  /** Bytes of payloads and results in a batch. */
  batchBytes: number;
  /** Recurring jobs in memory, beyond which those that are due stay in the store until there is room. */
  plans: number;
  /** Executions and skips that plans add to a batch; one step of one plan may exceed it. */
  batchPlanRows: number;
  /** Planned instants that a step works out. */
  stepInstants: number;
  /** How far ahead executions that wait for their time are kept. */
  horizonMs: number;
  /**
   * How long before its time an execution is assigned, so that the commit is through when it is due. Only the sending waits
   * for that.
   */
  leadMs: number;
  /** How long an attempt runs before its own row says RUNNING. */
  ownRowAfterMs: number;
  /** How long a sought worker may take to show up where some living gateway has not answered that it does not have it. */
  adoptWithinMs: number;
  /** How long a sought worker may take to connect again where no living gateway has it. */
  reconnectMs: number;
  /** How long after its gateway was last heard of a worker is given up. */
  silenceMs: number;
  /** An assignment that did not arrive is sent again after this. */
  resendAfterMs: number;
}

export const DEFAULT_LIMITS: Limits = {
  laneEntries: 4_000,
  entries: 200_000,
  batchAssigns: 4_000,
  batchBytes: 32 * 1024 * 1024,
  plans: 30_000,
  batchPlanRows: 4_000,
  stepInstants: 5_000,
  horizonMs: 10_000,
  leadMs: 5,
  ownRowAfterMs: 1_000,
  adoptWithinMs: 30_000,
  reconnectMs: 5_000,
  silenceMs: 30_000,
  resendAfterMs: 2_000,
};
