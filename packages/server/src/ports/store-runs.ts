import type { Candidate, ExecutionError, ExecutionState } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import type { KeptNodes } from "../domain/workflow/kept-nodes.ts";
import type { ItemStates, MapCount } from "../domain/workflow/map-counts.ts";
import type { JournalEntry, NewJob, NewRecurringJob, Submission } from "./store.ts";
import type { AuditNote } from "./store-audit.ts";
import type { DueCursor } from "./store-flows.ts";
import type { ExecutionSummary } from "./store-queries.ts";

/**
 * Runs of workflows. A run is an execution of its workflow's job: RUNNING in the queue OPEN, without a worker, `dueAt` is
 * its deadline. A run that waits for its time or its concurrency key is PENDING in the queue WAITING or READY, as every
 * execution is; the commit that opens it creates the executions of its first nodes. The execution of a node has the run's
 * id as its `jobId`; a node that has never been ready has no row.
 * Graphs and definitions are opaque bytes for the store. `Store.submit` writes runs, `retry` writes further runs of their
 * jobs, `Store.commit` changes them.
 */
export interface StoreRuns {
  /**
   * Runs that are not final, with the executions of their nodes, complete. Other ids are left out. Runs of one workflow
   * share the object `stored`.
   * @param runs at most 1_000
   * @param isKnown whether the caller has a version of the stored workflow already, so that no run brings it; left out: it has none
   */
  load(runs: readonly ExecutionId[], isKnown?: (workflow: JobId, version: number) => boolean): Promise<LoadedRun[]>;
  /**
   * Results of executions that SUCCEEDED, as JSON texts; null: the handler returned nothing. Others are left out.
   * @param ids at most 64, because a result has up to 1 MiB
   */
  results(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array | null>>;
  /** Nodes that the runs keep from earlier runs. Runs that keep nothing are left out. @param runs at most 64 */
  kept(runs: readonly ExecutionId[]): Promise<Map<ExecutionId, readonly KeptNodes[]>>;
  /** Nodes that the runs are executions of. Runs that are no sub-workflows are left out. @param runs at most 64 */
  origins(runs: readonly ExecutionId[]): Promise<Map<ExecutionId, OriginOfRun>>;
  /** Counts of the maps of the runs. Runs without a counted map are left out. @param runs at most 64 */
  mapCounts(runs: readonly ExecutionId[]): Promise<Map<ExecutionId, readonly MapCount[]>>;
  /**
   * States and results of the first executions of a list: at least one, and no further one once the results before it have
   * `bytes` together.
   * @param ids at most 1_000
   */
  ends(ids: readonly ExecutionId[], bytes: number): Promise<Ends>;
  /** Items of all maps of the runs that have an execution, by run, node and state. @param runs at most 64 */
  items(runs: readonly ExecutionId[]): Promise<Map<ExecutionId, ItemStates[]>>;
  /** OPEN runs of the shards by (dueAt, id), behind `after`; null: from the first. @param limit 1 to 10_000 */
  openRuns(shards: readonly ShardId[], after: DueCursor | null, limit: number): Promise<DueCursor[]>;
  /**
   * Adds a run to the job of a final run, in one transaction that also takes the run that is retried off the dead
   * letters. A refused retry writes nothing.
   */
  retry(asked: NewRetry, note?: AuditNote): Promise<RetryOutcome>;
}

/** Node of which a sub-workflow's run is the execution. */
export interface OriginOfRun {
  /** Run of the node. */
  run: ExecutionId;
  node: number;
  /** null: the node is no map. */
  item: number | null;
}

/** States and results of some executions. */
export interface Ends {
  /** Executions that exist. `result`: JSON text of one that SUCCEEDED; null: another one, or the handler returned nothing. */
  byId: ReadonlyMap<ExecutionId, { state: ExecutionState; result: Uint8Array | null }>;
  /** Number of ids that were looked at, from the first. */
  looked: number;
}

/** A further run of the graph of a final run, which keeps nodes of earlier runs. */
export interface NewRetry extends Omit<NewWorkflow, "nodes" | "graph" | "definitions" | "payloads" | "output"> {
  /** Version of the workflow, that of the final run. */
  jobVersion: number;
  /** The final run. */
  retryOf: ExecutionId;
  /** Nodes that have no execution in this run, by the run that has it. */
  kept: readonly KeptNodes[];
  /** Outcome of the run that is retried, if this one, CANCELLING, goes on with its compensation; left out: it runs nodes. */
  outcome?: RunOutcome;
  /** Numbers of items of maps that are known from earlier runs. */
  mapCounts: readonly MapCount[];
  /** Numbers of the first nodes of the parts of the final run that this run has, too. */
  parts: readonly number[];
  idempotency: Submission["idempotency"];
}

export type RetryOutcome =
  /** `replayed`: an earlier request with the same idempotency key has made the run. */
  | { kind: "ACCEPTED"; executionId: ExecutionId; replayed: boolean }
  /** The idempotency key was used with another request. */
  | { kind: "KEY_REUSED" }
  | { kind: "NOT_FOUND" }
  | { kind: "DELETED" }
  /** A run of the job is not final: for a recurring workflow, the run to be retried. */
  | { kind: "NOT_FINAL"; executionId: ExecutionId }
  /** Retention has removed executions of nodes that were to be kept. */
  | { kind: "RESULTS_GONE"; run: ExecutionId }
  | { kind: "KEY_HELD"; executionId: ExecutionId };

/**
 * Mode of a run that is not final; decides which nodes may become ready. FAILING: only those that may handle the failure
 * of a node. CANCELLING and EXPIRING: none, because a command or the deadline ends the run.
 */
export type RunMode = "RUNNING" | "FAILING" | "CANCELLING" | "EXPIRING";

/** End of a run, which is known before its compensation begins. */
export interface RunOutcome {
  state: "DEAD" | "CANCELLED";
  reason: string | null;
  error: ExecutionError | null;
}

/** Graph of a workflow, with all that its runs share. */
interface NewGraph {
  /** Number of nodes. */
  nodes: number;
  graph: Uint8Array;
  /** Facts that an owner needs of each node when it creates the node's execution. */
  definitions: Uint8Array;
  /** Payloads of nodes and of their compensations, at most one for each number. Numbers without a payload are left out. */
  payloads: readonly NodePayload[];
  /** Template of the run's result, opaque for the store; null: the run has no result. */
  output: Uint8Array | null;
  /** Sub-workflows of the nodes, those at all levels; left out: there are none. */
  nested?: readonly NestedGraph[];
}

/** Sub-workflow of a node. It is kept for as long as the job of the workflow. */
export interface NestedGraph extends Omit<NewGraph, "nested"> {
  /** Id in the definition of the node. */
  id: JobId;
}

/** A workflow that recurs. `startsWorkflow` of its rule makes each planned instant a run. */
export interface NewRecurringWorkflow extends NewRecurringJob, NewGraph {}

/** A workflow with its run. */
export interface NewWorkflow extends Omit<NewJob, "queue">, NewGraph {
  /**
   * Queue of the run, whose id is `executionId`. `payload` is its input. OPEN: the run starts at once. READY, WAITING: its
   * owner opens it when it is due and its concurrency key has room.
   */
  queue: "OPEN" | NewJob["queue"];
  /** Time by which the run must be final; null: it is not OPEN. Its owner sets the deadline when it opens the run. */
  deadline: EpochMs | null;
  /** Executions of the nodes that are ready from the start, at most 1_000; empty: the run is not OPEN. */
  roots: readonly NewNode[];
}

/** A new job of any kind. */
export type AnyJob = NewJob | NewRecurringJob | NewWorkflow | NewRecurringWorkflow;

export function isWorkflow(job: AnyJob): job is NewWorkflow {
  return "roots" in job;
}

export function hasGraph(job: AnyJob): job is NewWorkflow | NewRecurringWorkflow {
  return "graph" in job;
}

export interface NodePayload {
  node: number;
  /** JSON text or template, never parsed by the store. */
  payload: Uint8Array;
}

/** Execution of a node: in the shard of its concurrency key if it has one, else in that of its run. */
export interface NewNode {
  /**
   * Row of the execution: PENDING, READY or WAITING, attempt 0, with `node`. `jobId` is the id of the run. A birth with
   * `assigned` is RUNNING, HELD, attempt 1.
   */
  row: Candidate;
  laneHash: number;
  createdAt: EpochMs;
}

/** Execution of a node that a commit creates. */
export interface NodeBirth extends NewNode {
  /**
   * Executions of the same shard that become final in this commit, and without whose update the node must not be
   * created.
   */
  after: readonly ExecutionId[];
  /** Sub-workflow of which the execution is a run; the commit writes the run, too. Left out: the node runs none. */
  workflow?: JobId;
  /**
   * Worker that gets the first attempt. The row names it from the start, as the row of an attempt that runs for long does,
   * so the assignment exists exactly if the row does. Left out: the execution waits for a worker.
   */
  assigned?: Pick<JournalEntry, "workerId" | "gateway">;
}

/** New content of a run's own row. The final state of the run is a `RowChange`. */
export interface RunChange {
  run: ExecutionId;
  /** Revision that the run must have, as last read or written. A new run has the revision 1. */
  wasRevision: number;
  revision: number;
  mode: RunMode;
  /** Whether no node starts until the run is resumed. */
  paused: boolean;
  /** Outcome of a run that compensates its nodes; left out: the row keeps what it says. */
  outcome?: RunOutcome;
  /** Numbers of items of all maps that are counted. Left out: they stay as they are. */
  mapCounts?: readonly MapCount[];
  /**
   * Executions of the same shard that become final in this commit, and without whose update the store must write nothing
   * of the change. Left out: none.
   */
  after?: readonly ExecutionId[];
}

/** Nodes that the handler of a node has added to its run. They never change. */
export interface StoredPart {
  /** Number of the node whose handler has added them. */
  spawner: number;
  /** Number of the first node; the others follow. */
  first: number;
  /** Number of nodes. */
  nodes: number;
  /** Graph of these nodes alone, opaque for the store. */
  graph: Uint8Array;
  /** Facts that an owner needs of each node when it creates the node's execution. */
  definitions: Uint8Array;
}

export interface NewPart extends StoredPart {
  run: ExecutionId;
  /** Payloads by number of the node in the run. Nodes without a payload are left out. */
  payloads: readonly NodePayload[];
}

/** Open run that holds a place of its concurrency key. */
export type KeyedRun = Pick<Candidate, "id" | "shard" | "tenant" | "concurrencyKey" | "concurrencyLimit">;

/** Content that all runs of a workflow's version share. It never changes. */
export interface StoredWorkflow {
  graph: Uint8Array;
  definitions: Uint8Array;
  output: Uint8Array | null;
}

/** A run that is not final, read at one moment. */
export interface LoadedRun {
  /** Row of the run. */
  row: Candidate;
  /** Id of the sub-workflow, or of the job. Together with `row.jobVersion` it names the stored workflow. */
  workflow: JobId;
  mode: RunMode;
  paused: boolean;
  /** Outcome of a run that compensates its nodes; null: it does not. */
  outcome: RunOutcome | null;
  revision: number;
  /** null: the caller has it. */
  stored: StoredWorkflow | null;
  /** Nodes whose executions earlier runs have; empty: the run is no retry, or keeps nothing. */
  kept: readonly KeptNodes[];
  /** Numbers of items of the maps that are counted. */
  mapCounts: readonly MapCount[];
  /** Nodes that handlers have added, by their numbers. */
  parts: readonly StoredPart[];
  /** Executions of the run's nodes, and of items that are not final, by (node, item), and then those of compensations. */
  executions: NodeExecution[];
  /** Items whose executions are final. */
  items: readonly ItemStates[];
  /** Executions of nodes that have signals which were sent to the nodes by name and which no step has consumed. */
  signalled: ExecutionId[];
}

export interface NodeExecution {
  id: ExecutionId;
  node: number;
  /** null: the node is no map. */
  item: number | null;
  state: ExecutionState;
  /** Branch that the execution has chosen; null: none. */
  branch: string | null;
  /** Whether the row is in the queue PARKED. */
  isParked: boolean;
}

export interface RunFilter {
  state?: ExecutionState;
  /** Name of the workflow. */
  name?: string;
  /** Run whose sub-workflows are asked for. Left out: runs of jobs. */
  parent?: ExecutionId;
  /** Runs created at or after this time. */
  since?: EpochMs;
  /** Runs created before this time. */
  until?: EpochMs;
}

export interface RunSummary extends ExecutionSummary {
  /** Name of the workflow; null: none. */
  name: string | null;
  labels: Readonly<Record<string, string>>;
  /** Number of nodes of the workflow. */
  nodes: number;
  /** Last mode of the run. */
  mode: RunMode;
  /** Whether the run is paused, or was when it ended. */
  paused: boolean;
  /** Outcome of a run that compensates its nodes, or did when it ended; null: it does not. */
  outcome: RunOutcome | null;
  /** Node that the run is the execution of; null: the run is that of a job. */
  parent: OriginOfRun | null;
}

export interface RunView extends RunSummary {
  /** Id of the sub-workflow, or of the job. Together with `jobVersion` it names the stored workflow. */
  workflow: JobId;
  revision: number;
  graph: Uint8Array;
  definitions: Uint8Array;
  /** JSON text as submitted; null: no input. That of a sub-workflow is the payload of its node, and may be a template. */
  payload: Uint8Array | null;
  /** JSON text; null: no result. */
  result: Uint8Array | null;
  error: ExecutionError | null;
  /** Nodes whose executions earlier runs have. */
  kept: readonly KeptNodes[];
  /** Numbers of items of the maps that were counted. */
  mapCounts: readonly MapCount[];
  /** Nodes that handlers have added, by their numbers. */
  parts: readonly StoredPart[];
  /** Retries of this run, the newest first, at most 20. */
  retriedBy: readonly ExecutionId[];
  /** Numbers of executions of nodes by state. States without an execution are left out. */
  counts: Partial<Record<ExecutionState, number>>;
}

export interface NodeFilter {
  state?: ExecutionState;
  node?: number;
  /** Whether to leave out the items of maps. */
  withoutItems?: boolean;
}

/** Node of a run, as the summary of its execution names it. */
export interface NodeOfRun {
  run: ExecutionId;
  node: number;
  /** null: the node is no map. */
  item: number | null;
  /** Branch that the execution has chosen; null: none. */
  branch: string | null;
}

/** Execution of a node in the list of a run's nodes. */
export interface NodeSummary extends ExecutionSummary {
  ofRun: NodeOfRun;
  error: ExecutionError | null;
}
