import type { AttemptRecord, ExecutionError, ExecutionState, ExecutionSummary } from "./api-types.ts";

/** The HTTP api's shapes for those who run a server. Times that are read are ISO 8601 texts in UTC. */

/** An execution that used up its budget and was neither replayed nor discarded. */
export interface DeadLetter extends ExecutionSummary {
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
}

/** All that match all of it; {}: every dead letter. */
export interface DeadLetterFilter {
  pool?: string;
  handler?: string;
  jobId?: string;
  /** Died at or after. */
  since?: Date | string;
  /** Died before. */
  until?: Date | string;
}

/** Outcome for one dead letter. */
export interface SettledDeadLetter {
  /** Id as asked for. */
  executionId: string;
  /**
   * NOT_A_DEAD_LETTER: unknown, not DEAD, settled before, or of a deleted job (which can be discarded, not replayed).
   * KEY_HELD: an execution that is not final has its unique key.
   */
  outcome: "REPLAYED" | "DISCARDED" | "NOT_A_DEAD_LETTER" | "KEY_HELD";
  /** Id of the execution that a replay has created. */
  newExecutionId: string | null;
}

/** A replay or discard of all that a filter matches; it goes on by itself. */
export interface DeadLetterRun {
  /** Id of the run. */
  runId: string;
  /** Treatment of each letter. */
  action: "REPLAY" | "DISCARD";
  /** Letters that the run is for. */
  filter: DeadLetterFilter;
  /** FINISHED: nothing is left to do. */
  state: "RUNNING" | "FINISHED";
  /** Letters replayed or discarded so far. */
  settled: number;
  /** Letters that stayed, because an execution that is not final has their unique key. */
  skipped: number;
  /** Start of the run; letters that die later stay. */
  createdAt: string;
  /** End of the run; null: it goes on. */
  finishedAt: string | null;
}

/** Settings of a pool; those that are left out stay as they are. */
export interface PoolSettings {
  /** Nothing of a paused pool is started; what runs goes on. */
  paused?: boolean;
  /** PRIORITY (default): a level of priority is a head start. FIFO: order by due time alone. */
  strategy?: "PRIORITY" | "FIFO";
  /** With PRIORITY: how much of a head start one level is; default 3600. */
  priorityStepSec?: number;
  /** LEAST_LOADED (default): to the worker with the most free slots. ROUND_ROBIN: in turn. */
  placement?: "LEAST_LOADED" | "ROUND_ROBIN";
  /** Attempts that workers may have at once, over all servers; null: no limit. When it is lowered, what runs finishes. */
  maxRunning?: number | null;
  /** Attempts that may begin in a second, over all servers; null: no limit. */
  ratePerSec?: number | null;
}

/** A pool with every setting, its workers and the use of its limits. */
export interface Pool extends Required<PoolSettings> {
  /** Name of the pool. */
  name: string;
  /** Workers that serve it, their slots, and the attempts that they run now. */
  workers: number;
  slots: number;
  running: number;
  /**
   * Use of its limits; null: the pool has none, or not all servers have heard of them, or the server that counts did
   * not answer.
   */
  limitUse: {
    /** Used part of `maxRunning`. */
    taken: number;
    /** When `ratePerSec` allows the next start. */
    nextStartAt: string | null;
  } | null;
}

/** A pool after a change. */
export interface ChangedPool extends Pool {
  /**
   * Servers that own shards and did not confirm in time that they go by the change; they follow once they can reach the
   * store. Empty: every server goes by it, and nothing more of a paused pool is assigned. Missing: the server is older
   * and cannot tell.
   */
  unconfirmedBy?: {
    /** One life of the server. */
    nodeId: string;
    /** host:port where other servers reach it; null: its lease ended long ago. */
    address: string | null;
  }[];
  /** Possible mistakes, as a pool that nobody knows. Missing: there are none, or the server is older and does not say. */
  warnings?: string[];
}

/** Why an execution waits; which figures there are depends on the reason (GET /openapi.json). */
export interface WaitReason {
  reason:
    | "FINAL"
    | "RUNNING"
    | "ASSIGNED"
    | "WORKER_HAS_NO_FREE_SLOT"
    | "WORKER_AWAITED"
    | "CANCEL_REQUESTED"
    | "DUE_LATER"
    | "BACKOFF"
    | "POOL_PAUSED"
    | "POOL_AT_LIMIT"
    | "POOL_RATE_USED"
    | "PERMIT_AWAITED"
    | "NO_WORKER_FOR_HANDLER"
    | "NO_WORKER_WITH_CAPABILITY"
    | "ALL_SLOTS_BUSY"
    | "KEY_AT_LIMIT"
    | "QUEUED"
    | "OWNER_SILENT";
  [figure: string]: unknown;
}

/** Reasons why an execution is in its state. */
export interface Explanation {
  /** Id of the execution. */
  executionId: string;
  /** State of the execution. */
  state: ExecutionState;
  /** Every reason that holds now. */
  reasons: WaitReason[];
}

/** Figures of a server and its cluster. */
export interface Stats {
  /** Version of the program. */
  version: string;
  /** This life of the server. */
  node: string;
  /** Version of the IANA time zone database that schedules go by. */
  timeZoneData: string;
  /** Days since its release; null: not known. */
  timeZoneDataAgeDays: number | null;
  /** HTTP as http://host:port and gRPC as host:port; null: it does not listen there. */
  addresses: { http: string | null; grpc: string | null };
  /** The servers that can be reached now, this one included. */
  nodes: { node: string; roles: ("api" | "scheduler" | "gateway")[] }[];
  /** Workers with a connection now. */
  workers: { connected: number };
  /** All shards, and those whose owner is known here. */
  shards: { total: number; owned: number };
  /** A count above `countedUpTo` is given as `countedUpTo`. */
  executions: { waiting: number; ready: number; running: number; deadLetters: number; countedUpTo: number };
  /** The server's connections to the store, by what they are for. */
  store: { purpose: string; busy: number; max: number; waiting: number }[];
  /** Since the schedulers were started. */
  finished: { state: "SUCCEEDED" | "CANCELLED" | "SKIPPED" | "DEAD"; count: number }[];
  /**
   * Planned instants of recurring jobs, since the schedulers were started; `late` ones are among those that run. `missed`: planned within
   * the last day, and without any trace; 1000 stands for more; null: this server does not search for them.
   */
  recurring: { planned: number; run: number; late: number; skipped: number; missed: number | null };
  /** First starts minus scheduled times, of the last minute or two. */
  lateness: { p50Ms: number | null; p99Ms: number | null; starts: number };
}

/** Which time zone data recurring jobs are planned by. */
export interface TimeZoneData {
  /** In force; of the IANA time zone database, as 2026f. */
  version: string;
  /** The day of its release; null: not known. */
  releasedOn: string | null;
  /** In order, with those that come into force within seconds. `since` null: from the beginning. */
  changeovers: { version: string; since: string | null }[];
  /** Versions that may be brought into force. */
  available: string[];
}

/** A recurring job with a planned instant that nothing has accounted for. */
export interface OverdueJob {
  /** Id of the job. */
  jobId: string;
  /** null: it has none. */
  name: string | null;
  /** First planned instant that is not accounted for. */
  nextFireAt: string;
  /** Milliseconds since then. */
  overdueMs: number;
}

/** Result of the search for planned instants without any trace. */
export interface MissedJobs {
  /** The earliest instant first; of all jobs together at most 1000 instants. */
  items: MissedJob[];
  /** Every instant of the last day before this time was looked at; null: the server has not searched all jobs yet. */
  lookedUntil: string | null;
}

/** A recurring job with planned instants that are MISSED in its ledger. */
export interface MissedJob {
  /** Id of the job. */
  jobId: string;
  /** null: it has none. */
  name: string | null;
  /** Number of these instants. */
  missed: number;
  /** Earliest of these instants. */
  firstAt: string;
  /** Latest of these instants. */
  lastAt: string;
}

/** A worker as its gateway sees it. */
export interface WorkerInfo {
  /** Id of the worker. */
  workerId: string;
  /** Name that the worker gave itself. */
  name: string;
  /** Pool that it serves. */
  pool: string;
  /** Handlers that it offers. */
  handlers: string[];
  /** Capabilities that it has. */
  capabilities: string[];
  /** Attempts that it runs at once. */
  slots: number;
  /** Further attempts that may wait at the worker. */
  prefetch: number;
  /** DEAD workers are listed for ten minutes. */
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  /** Attempts that it runs now. */
  running: number;
  /** Slots that nothing occupies. */
  free: number;
  /** Slots of handlers that still run although their attempts are over. */
  stuck: number;
  /** Time at which it connected. */
  connectedAt: string;
  /** Time of its last message. */
  lastHeartbeatAt: string;
  /** How late the loop that runs its handlers was. */
  loopLagMs: number;
}

/** An execution that a worker has. */
export interface WorkerExecution {
  /** Id of the execution. */
  executionId: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** null: the server does not know it. */
  handler: string | null;
  /** STUCK: the attempt is over, but its handler still runs and keeps its slot. */
  state: "WAITING" | "RUNNING" | "STUCK";
  /** Start of the handler; null: not started. */
  startedAt: string | null;
}

/** A worker with the executions that it has. */
export interface WorkerDetail extends WorkerInfo {
  /** STUCK ones first, then RUNNING, then WAITING, 1,000 at most; null: a server of the release before does not say. */
  executions: WorkerExecution[] | null;
  /** Number of all executions that it has; null as `executions`. */
  executionsTotal: number | null;
}

/** A node of the cluster. */
export interface ClusterNode {
  /** One life of the node: another one after its restart. */
  nodeId: string;
  /** host:port where other nodes reach it. */
  address: string;
  /** Parts of the program that run there. */
  roles: ("api" | "scheduler" | "gateway")[];
  /** Version of its program. */
  version: string;
  /** Feature level that it understands; nodes of one cluster are one level apart at most. */
  level: number;
  /** GONE: its lease ran out, and it has not said goodbye. */
  state: "LIVING" | "DRAINING" | "GONE";
  /** Start of the node. */
  startedAt: string;
  /** Since it renewed its lease, by the store's clock. */
  renewedAgoMs: number;
  /** Whether the node that answered has a connection to it. */
  isReachable: boolean;
  /**
   * Addresses of living nodes to which it has no link, by its own word; null: a program of an earlier level, which does
   * not say.
   */
  unreached: string[] | null;
  /** Whether it takes no part in the work, because it and the nodes that may own shards do not reach each other. */
  isCutOff: boolean;
  /** That it owns. */
  shards: number;
  /** That are connected to it; null: it is no gateway, or did not say. */
  workers: number | null;
}

/** Nodes and shards of the cluster. */
export interface ClusterStatus {
  /** Node that answered. */
  node: string;
  /** Feature level that every living node understands: newer features are not used yet. */
  level: number;
  /** Living nodes and nodes that left recently, by address. */
  nodes: ClusterNode[];
  /** All of them, by number. `nodeId` null: it waits for an owner. */
  shards: { shard: number; epoch: number; nodeId: string | null }[];
  /** Ready work that waits, over the whole cluster. */
  lag: {
    /** Executions that wait for a worker, or were given to one a moment ago; 10000 stands for more. */
    ready: number;
    /** How long the oldest has been due that an owner has in memory and no worker has; null: there is none. */
    oldestReadyMs: number | null;
    /** Living owners that did not answer: what waits there is not in the figure above. */
    silentOwners: number;
  };
}

/** Event of an execution. `id` says where a later stream is to go on. */
export type ExecutionEvent =
  /** `at`: when the state began. */
  | { type: "state"; id: string; at: string; execution: ExecutionSummary }
  /** An attempt has ended otherwise than SUCCEEDED. */
  | { type: "attempt"; id: string; record: AttemptRecord }
  | { type: "progress"; id: string; attempt: number; at: string; fraction: number; message: string }
  | { type: "log"; id: string; attempt: number; at: string; level: string; line: string };
