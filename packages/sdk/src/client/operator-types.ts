import type { ExecutionError, ExecutionState, ExecutionSummary } from "./api-types.ts";

/** Types of the HTTP API for operators of a server. Times in answers are ISO 8601 texts in UTC. */

/** A DEAD execution that nobody has replayed or discarded. */
export interface DeadLetter extends ExecutionSummary {
  /** Error of the last attempt; null: none. */
  error: ExecutionError | null;
}

/** Conditions that a dead letter must meet, all of them; {} matches every dead letter. */
export interface DeadLetterFilter {
  pool?: string;
  handler?: string;
  jobId?: string;
  /** Earliest time at which the execution became DEAD. */
  since?: Date | string;
  /** End of the range of times at which the execution became DEAD, not included. */
  until?: Date | string;
}

/** Outcome of a replay or discard for one dead letter. */
export interface SettledDeadLetter {
  /** Id that the request named, of an execution that may not be a dead letter. */
  executionId: string;
  /**
   * Outcome. NOT_A_DEAD_LETTER: the execution is unknown, not DEAD, replayed or discarded before, or its job is deleted
   * (which allows a discard but no replay). KEY_HELD: another execution that is not final has its unique key. OF_WORKFLOW:
   * a replay was to repeat a run of a workflow, or a node of one; `workflows.retry` runs the failed part of the run again.
   */
  outcome: "REPLAYED" | "DISCARDED" | "NOT_A_DEAD_LETTER" | "KEY_HELD" | "OF_WORKFLOW";
  /** Id of the execution that the replay created; null: none. */
  newExecutionId: string | null;
}

/** A replay or discard of all dead letters that match a filter. The server runs it in the background. */
export interface DeadLetterRun {
  /** Id of the run. */
  runId: string;
  /** Action for each dead letter. */
  action: "REPLAY" | "DISCARD";
  /** Filter that a dead letter must match. */
  filter: DeadLetterFilter;
  /** State of the run. FINISHED: every matching dead letter has been handled. */
  state: "RUNNING" | "FINISHED";
  /** Number of dead letters replayed or discarded so far. */
  settled: number;
  /**
   * Number of dead letters left as they are, because another execution that is not final has their unique key, or because
   * they are runs of workflows, which a replay does not repeat.
   */
  skipped: number;
  /** Start of the run. Executions that become DEAD later are not part of the run. */
  createdAt: string;
  /** End of the run; null: the run is not finished. */
  finishedAt: string | null;
}

/** Settings of a pool. Absent fields keep their value. */
export interface PoolSettings {
  /** Tenant that owns the pool; null: the pool is shared. Left out: the tenant of the key, which owns none if it is `default`. */
  owner?: string | null;
  /** Whether the pool is paused: workers start nothing of it; running attempts go on. */
  paused?: boolean;
  /** Order of ready executions. PRIORITY (default): a level of priority is a head start. FIFO: by due time alone. */
  strategy?: "PRIORITY" | "FIFO";
  /** Head start of one level of priority with PRIORITY, in seconds; default 3600. */
  priorityStepSec?: number;
  /** Choice of the worker. LEAST_LOADED (default): the one with the most free slots. ROUND_ROBIN: each in turn. */
  placement?: "LEAST_LOADED" | "ROUND_ROBIN";
  /** Number of attempts of the pool that workers may have at once, over all servers; null: no limit. A lowered limit ends no attempt. */
  maxRunning?: number | null;
  /** Number of attempts of the pool that may begin in a second, over all servers; null: no limit. */
  ratePerSec?: number | null;
  /** Part of the slots, in percent from 0 (default) to 50, that stays free for tenants with few attempts. */
  headroom?: number;
}

/** A pool with every setting, its workers and the use of its limits. */
export interface Pool extends Required<PoolSettings> {
  /** Name of the pool. */
  name: string;
  /** Number of workers that serve the pool, their slots, and the attempts that they run now. */
  workers: number;
  slots: number;
  running: number;
  /**
   * Use of the pool's limits; null: the pool has no limit, some server has not heard of the limit yet, or the server
   * that counts did not answer.
   */
  limitUse: {
    /** Number of attempts that count against `maxRunning`. */
    taken: number;
    /** Earliest time of the next start that `ratePerSec` allows; null: now, or no such limit. */
    nextStartAt: string | null;
  } | null;
}

/** A pool after a change. */
export interface ChangedPool extends Pool {
  /**
   * Servers that own shards and did not confirm in time that they apply the change; they apply it once they can reach
   * the store. Empty: every server applies the change, and no server assigns anything more of a paused pool. Absent:
   * the server is older and cannot tell.
   */
  unconfirmedBy?: {
    /** Id of the server process; a restart gives a new one. */
    nodeId: string;
    /** Address where other servers reach it, as host:port; null: its lease ended long ago. */
    address: string | null;
  }[];
  /**
   * Possible mistakes in the request, such as a pool name that no worker or job uses; absent: there are none, or the
   * server is older and does not check.
   */
  warnings?: string[];
}

/** One reason why an execution waits. The figures depend on the reason; GET /openapi.json lists them. */
export interface WaitReason {
  reason:
    | "FINAL"
    | "RUNNING"
    | "ASSIGNED"
    | "WORKER_HAS_NO_FREE_SLOT"
    | "WORKER_AWAITED"
    | "CANCEL_REQUESTED"
    | "DUE_LATER"
    | "SLEEPING"
    | "AWAITS_SIGNAL"
    | "LIFETIME_ENDS"
    | "BACKOFF"
    | "WORKFLOW_PAUSED"
    | "POOL_PAUSED"
    | "TENANT_SUSPENDED"
    | "POOL_AT_LIMIT"
    | "POOL_RATE_USED"
    | "PERMIT_AWAITED"
    | "TENANT_AT_LIMIT"
    | "TENANT_TURN"
    | "NO_WORKER_FOR_HANDLER"
    | "NO_WORKER_WITH_CAPABILITY"
    | "ALL_SLOTS_BUSY"
    | "KEY_AT_LIMIT"
    | "QUEUED"
    | "PARENTS_OPEN"
    | "CHILD_RUNS"
    | "COMPENSATES_AFTER"
    | "EXECUTION_AWAITED"
    | "ITEMS_BEING_COUNTED"
    | "MAP_AT_LIMIT"
    | "MAP_ITEMS_RUN"
    | "OWNER_SILENT";
  [figure: string]: unknown;
}

/** Reasons why an execution is in its state. */
export interface Explanation {
  /** Id of the execution. */
  executionId: string;
  /** State of the execution. */
  state: ExecutionState;
  /** Every reason that applies now. */
  reasons: WaitReason[];
}

/** A line that a handler logged. */
export interface LoggedLine {
  /** Time at which the server received the line. */
  at: string;
  /** Level of the line. */
  level: string;
  /** Text of the line. */
  line: string;
}

/** Log lines of one attempt of an execution. */
export interface AttemptLogs {
  /** Id of the execution. */
  executionId: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Address at which another system shows the lines (MAINSPRING_LOG_URL); null: `lines` has them. */
  url: string | null;
  /** The last lines, oldest first; 64 KiB of text and 4096 lines at most. */
  lines: LoggedLine[];
  /** Number of earlier lines that the server did not keep. */
  droppedLines: number;
}

/** Statistics of a server and its cluster. */
export interface Stats {
  /** Version of the server's program. */
  version: string;
  /** Id of this server process; a restart gives a new one. */
  node: string;
  /** Version of the IANA time zone database by which schedules are computed. */
  timeZoneData: string;
  /** Age of the time zone data, in days since its release; null: the release day is not known. */
  timeZoneDataAgeDays: number | null;
  /** Addresses of the server: HTTP as http://host:port and gRPC as host:port; null: it does not listen there. */
  addresses: { http: string | null; grpc: string | null };
  /** Servers that this one can reach now, itself included. */
  nodes: { node: string; roles: ("api" | "scheduler" | "gateway")[] }[];
  /** Number of workers with a connection now. */
  workers: { connected: number };
  /** Number of all shards, and of those whose owner this server knows. */
  shards: { total: number; owned: number };
  /** Number of executions by state, and of open workflow runs (null: not known). `countedUpTo` means as many or more. */
  executions: Record<"waiting" | "ready" | "running" | "deadLetters" | "countedUpTo", number> & {
    openRuns: number | null;
  };
  /** Connections of the server to the store, by purpose. */
  store: { purpose: string; busy: number; max: number; waiting: number }[];
  /** Durability by the settings. RELAXED: a crash of Redis loses accepted jobs. `replicas`: those that must have a change first. */
  durability: { store: "EMBEDDED" | "POSTGRESQL" | "REDIS"; disk: "ALWAYS" | "RELAXED"; replicas: number };
  /** Number of finished executions by final state, since the schedulers started. */
  finished: { state: "SUCCEEDED" | "CANCELLED" | "SKIPPED" | "DEAD"; count: number }[];
  /**
   * Number of planned instants of recurring jobs by outcome, since the schedulers started; `late` ones are among those that `run`.
   * `missed`: instants of the last day without any outcome; 1000: as many or more; null: this server does not search for them.
   */
  recurring: { planned: number; run: number; late: number; skipped: number; missed: number | null };
  /** First start minus scheduled time of executions, over the last minute or two; null: no execution started. */
  lateness: { p50Ms: number | null; p99Ms: number | null; starts: number };
}

/** Version of the time zone data by which the servers plan recurring jobs. */
export interface TimeZoneData {
  /** Version of the IANA time zone database in force, as 2026f. */
  version: string;
  /** The day of its release; null: not known. */
  releasedOn: string | null;
  /**
   * Versions in the order in which they came into force, including one that comes into force within seconds. `since`
   * null: from the beginning.
   */
  changeovers: { version: string; since: string | null }[];
  /** Versions that an operator may bring into force. */
  available: string[];
}

/** A recurring job with a planned instant that has no outcome although its grace time is over. */
export interface OverdueJob {
  /** Id of the job. */
  jobId: string;
  /** Name of the job; null: it has none. */
  name: string | null;
  /** First planned instant without an outcome. */
  nextFireAt: string;
  /** Time since that instant, in milliseconds. */
  overdueMs: number;
}

/** Result of the server's search for planned instants without any outcome. */
export interface MissedJobs {
  /** Jobs with such instants, the earliest instant first; at most 1000 instants over all jobs. */
  items: MissedJob[];
  /** End of the part of the last day that the server has searched; null: the server has not searched all jobs yet. */
  lookedUntil: string | null;
}

/** A recurring job with MISSED instants in its ledger. */
export interface MissedJob {
  /** Id of the job. */
  jobId: string;
  /** Name of the job; null: it has none. */
  name: string | null;
  /** Number of MISSED instants. */
  missed: number;
  /** Earliest MISSED instant. */
  firstAt: string;
  /** Latest MISSED instant. */
  lastAt: string;
}

/** A worker as its gateway sees it. */
export interface WorkerInfo {
  /** Id of the worker. */
  workerId: string;
  /** Name that the worker gave itself, for people. */
  name: string;
  /** Pool that the worker serves, and the tenant that owns the pool; null: the pool is shared. */
  pool: string;
  poolOwner: string | null;
  /** Names of the handlers that the worker runs. */
  handlers: string[];
  /** Capabilities of the worker. */
  capabilities: string[];
  /** Number of attempts that the worker runs at once. */
  slots: number;
  /** Number of further attempts that may wait at the worker now. */
  prefetch: number;
  /** AUTO: the server measures `prefetch`, about 50 ms of work. FIXED: the worker chose it. */
  prefetchMode: "AUTO" | "FIXED";
  /** State of the worker. DEAD workers stay in the list for ten minutes. */
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  /** Number of attempts that the worker runs now. */
  running: number;
  /** Number of free slots. */
  free: number;
  /** Number of slots whose handlers still run although their attempts are over. */
  stuck: number;
  /** Time at which the worker connected. */
  connectedAt: string;
  /** Time of the worker's last message. */
  lastHeartbeatAt: string;
  /** Delay of the event loop that runs the worker's handlers, in milliseconds. */
  loopLagMs: number;
}

/** An execution that a worker has. */
export interface WorkerExecution {
  /** Id of the execution. */
  executionId: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Name of the handler; null: the server does not know it. */
  handler: string | null;
  /** State of the attempt. STUCK: the attempt is over, but its handler still runs and keeps its slot. */
  state: "WAITING" | "RUNNING" | "STUCK";
  /** Time at which the handler started; null: not started. */
  startedAt: string | null;
}

/** A worker with the executions that it has. */
export interface WorkerDetail extends WorkerInfo {
  /**
   * Executions of the worker: STUCK first, then RUNNING, then WAITING, at most 1,000; null: a server of the previous
   * release does not list them.
   */
  executions: WorkerExecution[] | null;
  /** Number of all executions of the worker; null: a server of the previous release does not count them. */
  executionsTotal: number | null;
}

/** A node of the cluster. */
export interface ClusterNode {
  /** Id of the node's process; a restart gives a new one. */
  nodeId: string;
  /** Address where other nodes reach the node, as host:port. */
  address: string;
  /** Roles of the node. */
  roles: ("api" | "scheduler" | "gateway")[];
  /** Version of the node's program. */
  version: string;
  /** Feature level of the node's program. The nodes of one cluster are at most one level apart. */
  level: number;
  /** State of the node. GONE: its lease expired without a regular stop. */
  state: "LIVING" | "DRAINING" | "GONE";
  /** Time at which the node started. */
  startedAt: string;
  /** Time since the node renewed its lease, in milliseconds, by the store's clock. */
  renewedAgoMs: number;
  /** Whether the node that answered has a connection to this node. */
  isReachable: boolean;
  /**
   * Addresses of living nodes that this node does not reach, as the node itself reports; null: the node's program is of
   * an earlier level and does not report them.
   */
  unreached: string[] | null;
  /** Whether the node takes no part in the work, because it and those that may own shards do not reach each other. */
  isCutOff: boolean;
  /** Number of shards that the node owns. */
  shards: number;
  /** Number of workers that are connected to the node; null: the node is no gateway, or did not answer. */
  workers: number | null;
}

/** Nodes and shards of the cluster. */
export interface ClusterStatus {
  /** Id of the node that answered. */
  node: string;
  /**
   * Id of the node that owns all shards, or will own them soon; null: not all nodes have MAINSPRING_LEADER=one, so they divide the
   * shards.
   */
  leader: string | null;
  /** Feature level that every living node understands. Nodes do not use features of a higher level yet. */
  level: number;
  /** Living nodes and nodes that left recently, ordered by address. */
  nodes: ClusterNode[];
  /** All shards, ordered by number. `nodeId` null: the shard has no owner now. */
  shards: { shard: number; epoch: number; nodeId: string | null }[];
  /** Ready work that waits, over the whole cluster. */
  lag: {
    /** Number of executions that wait for a worker, or at one for less than 30 s; 10000 means as many or more. */
    ready: number;
    /**
     * Time since the due time of the oldest execution that an owner has in memory without a worker, in milliseconds;
     * null: there is none.
     */
    oldestReadyMs: number | null;
    /**
     * Number of living owners that did not answer. Work that waits at these owners is not part of `ready` and
     * `oldestReadyMs`.
     */
    silentOwners: number;
  };
}
