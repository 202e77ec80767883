import type { AttemptRecord, ExecutionError, ExecutionState, ExecutionSummary } from "./api-types.ts";

/** The HTTP api's shapes for those who run a server. Times that are read are ISO 8601 texts in UTC. */

/** An execution that used up its budget and was neither replayed nor discarded. */
export interface DeadLetter extends ExecutionSummary {
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

export interface SettledDeadLetter {
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
  runId: string;
  action: "REPLAY" | "DISCARD";
  filter: DeadLetterFilter;
  state: "RUNNING" | "FINISHED";
  settled: number;
  /** Letters that stayed, because an execution that is not final has their unique key. */
  skipped: number;
  createdAt: string;
  finishedAt: string | null;
}

export interface PoolSettings {
  /** Nothing of a paused pool is started; what runs goes on. */
  paused?: boolean;
  strategy?: "PRIORITY" | "FIFO";
  /** With PRIORITY: how much of a head start one level is; default 3600. */
  priorityStepSec?: number;
  placement?: "LEAST_LOADED" | "ROUND_ROBIN";
  /** Attempts that workers may have at once, over all servers; null: no limit. When it is lowered, what runs finishes. */
  maxRunning?: number | null;
  /** Attempts that may begin in a second, over all servers; null: no limit. */
  ratePerSec?: number | null;
}

export interface Pool extends Required<PoolSettings> {
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

export interface Explanation {
  executionId: string;
  state: ExecutionState;
  reasons: WaitReason[];
}

export interface Stats {
  version: string;
  /** This life of the server. */
  node: string;
  /** Version of the IANA time zone database that schedules go by. */
  timeZoneData: string;
  /** Days since its release; null: not known. */
  timeZoneDataAgeDays: number | null;
  addresses: { http: string | null; grpc: string | null };
  /** The servers that can be reached now, this one included. */
  nodes: { node: string; roles: ("api" | "scheduler" | "gateway")[] }[];
  workers: { connected: number };
  shards: { total: number; owned: number };
  /** A count above `countedUpTo` is given as `countedUpTo`. */
  executions: { waiting: number; ready: number; running: number; deadLetters: number; countedUpTo: number };
  /** The server's connections to the store, by what they are for. */
  store: { purpose: string; busy: number; max: number; waiting: number }[];
  /** Since the schedulers were started. */
  finished: { state: ExecutionState; count: number }[];
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
  jobId: string;
  /** null: it has none. */
  name: string | null;
  nextFireAt: string;
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
  jobId: string;
  /** null: it has none. */
  name: string | null;
  /** Number of these instants. */
  missed: number;
  firstAt: string;
  lastAt: string;
}

export interface ClusterNode {
  /** One life of the node: another one after its restart. */
  nodeId: string;
  /** host:port where other nodes reach it. */
  address: string;
  roles: ("api" | "scheduler" | "gateway")[];
  version: string;
  /** Feature level that it understands; nodes of one cluster are one level apart at most. */
  level: number;
  /** GONE: its lease ran out, and it has not said goodbye. */
  state: "LIVING" | "DRAINING" | "GONE";
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

export interface ClusterStatus {
  /** Node that answered. */
  node: string;
  /** Feature level that every living node understands: newer features are not used yet. */
  level: number;
  /** Living nodes and nodes that left recently, by address. */
  nodes: ClusterNode[];
  /** All of them, by number. `nodeId` null: it waits for an owner. */
  shards: { shard: number; epoch: number; nodeId: string | null }[];
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
