import type { Changeover } from "../domain/changeover.ts";
import type { Candidate, ExecutionError, RankCursor } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, Incarnation, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import type { Pool } from "../domain/pool.ts";
import type { ItemsSource, StoredNode } from "../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../domain/workflow/graph.ts";
import type { MapCount } from "../domain/workflow/map-counts.ts";
import type { FromGateway, PermitAnswer, PermitCall, Token } from "../ports/messages.ts";
import type { Demand, ToldShare } from "../ports/share-messages.ts";
import type { Recovered } from "../ports/store.ts";
import type { Command } from "../ports/store-commands.ts";
import type { InboxRef } from "../ports/store-events.ts";
import type { Recurrence } from "../ports/store-recurrences.ts";
import type { LoadedRun } from "../ports/store-runs.ts";
import type { Freed } from "./batch.ts";
import type { PermitLetter } from "./permits/permits.ts";
import type { FiredQuestion } from "./recurring/catch-ups.ts";

/** An event that the machine handles. The passing of time is not an input: `step` gets the time. */
export type Input =
  /** The store's clock was set by `byMs` since the last step. A negative value means that it was set back. */
  | { kind: "LEAPT"; byMs: number }
  /**
   * All known changeovers of the time zone data, in order. Sent as soon as they are known, and again when a changeover
   * comes into force.
   */
  | { kind: "CHANGEOVERS"; changeovers: readonly Changeover[] }
  /**
   * The node took over these shards, in addition to those that it owned before. `recovered` is all that may be in
   * flight in them.
   */
  | {
      kind: "OWNED";
      /** The new term, which OWNER messages announce. Grows with every takeover. */
      term: number;
      epochs: ReadonlyMap<ShardId, Epoch>;
      recovered: Recovered;
      incarnation: Incarnation;
    }
  /** The epochs of all shards, read from the store after the takeover that the next OWNED input reports. */
  | { kind: "EPOCHS_SEEN"; epochs: ReadonlyMap<ShardId, Epoch> }
  /** This node does not own these shards any more, so the machine forgets all that it knows of them. */
  | { kind: "LOST"; shards: readonly ShardId[] }
  /** Rows that were just submitted. The hint may be late, repeated or stale. */
  | { kind: "HINTED"; rows: readonly Candidate[] }
  | ReadResult
  /** Hashes of lanes that have READY rows in the store. Comes once a second. */
  | { kind: "SWEEP"; laneHashes: readonly number[] }
  | { kind: "COMMANDS"; commands: readonly Command[] }
  | { kind: "POOLS"; pools: readonly Pool[] }
  /** Weights of tenants, by name. Other tenants have the default weight. */
  | { kind: "WEIGHTS"; weights: ReadonlyMap<string, number> }
  /** Attempts that tenants may have at workers at once, by name. Other tenants have no limit. */
  | { kind: "TENANT_LIMITS"; limits: ReadonlyMap<string, number> }
  /** Attempts of tenants that another owner has had in the last second. */
  | { kind: "SHARES"; from: Incarnation; shares: readonly ToldShare[] }
  /** Suspended tenants: nothing of them is assigned, and their recurring jobs do not fire. */
  | { kind: "STOPPED"; tenants: ReadonlySet<string> }
  /** Gateways that can be reached now. */
  | { kind: "GATEWAYS"; nodes: readonly Incarnation[] }
  | { kind: "GATEWAY"; from: Incarnation; message: FromGateway }
  /** Message about the permits of a limit, between a machine and the coordinator of the limit. */
  | { kind: "PERMIT"; from: Incarnation; message: PermitCall | PermitAnswer }
  /** Attempts that had permits have ended, and the commit that says so was applied. */
  | { kind: "FREED"; freed: readonly Freed[] }
  /** A recurring job was submitted whose first instant is near. */
  | { kind: "PLANNED"; shard: ShardId; jobId: JobId }
  /** Events in the inbox of the shards. */
  | { kind: "INBOX"; rows: readonly InboxRef[] }
  /** Open workflow runs of the shards, from a sweep. */
  | { kind: "OPEN_RUNS"; runs: readonly ExecutionId[] }
  /** Attempts whose assignments are durable and cannot be sent. */
  | { kind: "UNSENDABLE"; attempts: readonly Unsendable[] }
  /** Result of a run, as a JSON text, or the reason why there is none. */
  | { kind: "OUTPUT"; run: ExecutionId; output: Uint8Array | Pick<Unsendable, "reason" | "error"> }
  /** Number of items of a map, or the reason why it cannot be known. */
  | { kind: "COUNTED"; run: ExecutionId; count: MapCount }
  /** A commit was answered. `rows` are the executions that it created from planned instants. */
  | {
      kind: "CREATED";
      rows: readonly Candidate[];
      /** Executions that did not become PENDING: their rows are final, or existed before. */
      notCreated: readonly Candidate[];
      /**
       * Plans whose revision was not the expected one. The store wrote nothing of these plans, nor of the executions in
       * `created`.
       */
      missedPlans: readonly { shard: ShardId; jobId: JobId; created: readonly Candidate[] }[];
      /** Nodes of workflow runs that the commit created, and nodes that it left out. */
      nodes: { created: readonly Candidate[]; notCreated: readonly Candidate[] };
      /** Workflow runs of which the store wrote nothing. */
      missedRuns: readonly ExecutionId[];
      /** Number of the batch. */
      batch: number;
    }
  /**
   * The rows of these hinted executions are gone from the store or differ from the hint, so the machine drops the hint.
   */
  | { kind: "CANDIDATES_MISSED"; ids: readonly ExecutionId[] };

/**
 * An attempt whose payload cannot be made. REFERENCE_NOT_FOUND: a path leads nowhere. REFERENCES_TOO_LARGE: with its
 * references replaced, the payload is too large or nested too deeply.
 */
export interface Unsendable extends Token {
  workerId: WorkerId;
  reason: "REFERENCE_NOT_FOUND" | "REFERENCES_TOO_LARGE";
  error: ExecutionError;
}

/** State of the machine when a read began. It tells which rows of the answer may be out of date. */
export interface ReadMark {
  /** Number of the oldest batch whose commit was unanswered when the read began. */
  since: number;
  /** Term when the read began. The read does not show the present state of shards that were taken over later. */
  term: number;
}

/** Answer to a `Want`. */
export type ReadResult = ReadMark &
  (
    | { kind: "READ_READY"; laneHash: number; after: RankCursor | null; rows: Candidate[]; full: boolean }
    | { kind: "READ_WAITING"; rows: Candidate[] }
    | { kind: "LOADED"; asked: readonly ExecutionId[]; rows: Candidate[] }
    /**
     * Plans of recurring jobs from a regular read. With `isBounded`, plans that find no room in memory are read again
     * later.
     */
    | { kind: "READ_PLANS"; plans: Recurrence[]; isBounded: boolean }
    | { kind: "LOADED_PLANS"; asked: readonly JobId[]; ask: number; plans: Recurrence[] }
    | { kind: "READ_FIRED"; jobId: JobId; question: FiredQuestion; instants: EpochMs[] }
    /** Open workflow runs with their nodes. Runs that are final or unknown are left out. */
    | { kind: "LOADED_RUNS"; asked: readonly ExecutionId[]; runs: ReadRun[] }
  );

/** Content that all runs of a workflow's version share, decoded. */
export interface ReadWorkflow {
  graph: WorkflowGraph;
  /** Definitions of the nodes by number. */
  definitions: readonly StoredNode[];
  output: Uint8Array | null;
}

/** An open workflow run. `graph` and `definitions` have its parts. */
export interface ReadRun extends Omit<LoadedRun, "stored" | "parts">, ReadWorkflow {
  /** Number of nodes of the workflow's definition. */
  defined: number;
}

/** A read that the machine asks for. The answers arrive as inputs, in any order; an answer can fail to arrive. */
export type Want =
  | { kind: "READY"; laneHash: number; after: RankCursor | null; limit: number }
  | { kind: "LOAD"; ids: ExecutionId[] }
  /** @property ask the number of the read, which its answer repeats */
  | { kind: "LOAD_PLANS"; jobIds: JobId[]; ask: number }
  | { kind: "LOAD_RUNS"; runs: ExecutionId[] }
  /** Result of a run whose nodes have ended. @property stored the output of its workflow */
  | { kind: "OUTPUT"; run: ExecutionId; stored: Uint8Array }
  /** Number of items of a map. */
  | { kind: "COUNT_ITEMS"; run: ExecutionId; node: number; source: ItemsSource }
  /** Planned instants of a range that have an execution. */
  | { kind: "FIRED"; jobId: JobId; question: FiredQuestion }
  /** Plans that are due soon. The machine asks for them when it has room again. */
  | { kind: "DUE_PLANS" };

export interface StepResult {
  wants: Want[];
  /** Time of the next step if no input arrives before; null: no step is needed. */
  wakeAt: EpochMs | null;
  /** Pools whose work waits for credit; null: the same as gateways were told last. */
  demand: Demand[] | null;
  /** Whether work is left for another step, because this step or its batch was full. */
  more: boolean;
  /** Messages about permits. They are sent immediately, because they do not depend on a commit. */
  permits: PermitLetter[];
}

export interface Limits {
  /** Ready executions that a lane keeps in memory. */
  laneEntries: number;
  /** Executions in memory in all lanes and timers. Beyond it, each lane keeps only a tenth of `laneEntries`. */
  entries: number;
  /** Executions in memory that wait for their time. Reads by turns of flows leave further ones in the store. */
  waiting: number;
  /** Assignments in a batch. */
  batchAssigns: number;
  /** Executions that a batch returns to the store because their lanes are full. The others wait for the next batches. */
  batchOverflows: number;
  /** Executions that fall due and enter their lanes in one step. The next step follows at once with the others. */
  stepDue: number;
  /** Bytes of payloads and results in a batch. */
  batchBytes: number;
  /** Recurring jobs in memory. Beyond it, jobs that are due stay in the store until there is room. */
  plans: number;
  /** Executions and skips that plans add to a batch. A single step of one plan may exceed it. */
  batchPlanRows: number;
  /** Planned instants that one step computes. */
  stepInstants: number;
  /** Time in ms before its due time from which an execution is kept in memory. */
  horizonMs: number;
  /**
   * Time in ms before its due time at which an execution is assigned, so that the commit is complete when the execution
   * is due. The assignment is sent only at the due time.
   */
  leadMs: number;
  /**
   * Time in ms since the owner learned of the start of an attempt, after which the execution's own row is written as
   * RUNNING. Until then only the journal row says who has the attempt.
   */
  ownRowAfterMs: number;
  /**
   * Age in ms of an assignment from which the execution's own row is written although the attempt is not known to have
   * started. The bound of the age of open journal rows.
   */
  journalAgeMs: number;
  /**
   * Time in ms that a worker of an earlier assignment has to appear, while some living gateway has not answered that it
   * does not have the worker.
   */
  adoptWithinMs: number;
  /**
   * Time in ms that a worker of an earlier assignment has to connect again when every living gateway has answered that
   * it does not have the worker.
   */
  reconnectMs: number;
  /** Time in ms since the last message of its gateway after which a worker is given up. */
  silenceMs: number;
  /** Time in ms after which an assignment that did not arrive is sent again. */
  resendAfterMs: number;
}

export const DEFAULT_LIMITS: Limits = {
  laneEntries: 4_000,
  entries: 200_000,
  waiting: 100_000,
  batchAssigns: 4_000,
  batchOverflows: 250,
  stepDue: 1_000,
  batchBytes: 32 * 1024 * 1024,
  plans: 30_000,
  batchPlanRows: 1_000,
  stepInstants: 5_000,
  horizonMs: 10_000,
  leadMs: 5,
  ownRowAfterMs: 1_000,
  journalAgeMs: 30_000,
  adoptWithinMs: 30_000,
  reconnectMs: 5_000,
  silenceMs: 30_000,
  resendAfterMs: 2_000,
};
