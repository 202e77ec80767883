import type { FinalState } from "../domain/execution.ts";
import type { PlannedOutcome } from "../domain/recurrence.ts";

/** Why an owner dropped its state and takes its shards over again. A closed list, because it is a label. */
export type TakeoverCause =
  | "MACHINE_FAILED"
  | "COMMIT_UNANSWERED"
  | "FENCED"
  | "CONNECTION_LOST"
  | "LEASE_ENDED"
  | "ROW_CHANGED"
  | "ROW_REFUSED";

/** Figures by the value of one label: a pool, a shard, an outcome, or the purpose of the store's connections. */
export type ByLabel = ReadonlyMap<string, number>;

/** Figures that are read when metrics are collected, rather than counted when they change. Totals only grow. */
export interface Readings {
  /** Executions in the owner's memory, by state. `waiting`: not due yet. */
  waiting?: number;
  ready?: ByLabel;
  assigned?: ByLabel;
  running?: ByLabel;
  ownedShards?: number;
  /** Figures of the owned shards, by shard. */
  shardEpoch?: ByLabel;
  shardReady?: ByLabel;
  shardRunning?: ByLabel;
  shardTakeovers?: ByLabel;
  /**
   * Figures of the store, by pool: READY executions, and the waiting time in seconds of the oldest of the next ones.
   */
  backlogReady?: ByLabel;
  backlogOldestSec?: ByLabel;
  /** Figures of the gateway. */
  workersConnected?: number;
  workersLost?: number;
  /** Slots of connected workers, by pool. */
  workerSlots?: ByLabel;
  /** Slots of handlers that still run after the end of their attempts, by pool. */
  workerStuckSlots?: ByLabel;
  /** Log lines of handlers that a gateway dropped before the store had them. */
  logLinesDropped?: number;
  /** Connected workers of the release before, which do not answer questions about the attempts that they hold. */
  workersWithoutAuthority?: number;
  /** Figures of the store's connections, by their purpose: in use, allowed, and requests that wait for one. */
  storeConnectionsBusy?: ByLabel;
  storeConnectionsMax?: ByLabel;
  storeWaiting?: ByLabel;
  /** Figures of the node's lease and of its links to other nodes. */
  leaseRenewals?: ByLabel;
  leaseAgeSec?: number;
  clusterNodes?: number;
  featureLevel?: number;
  clusterFeatureLevel?: number;
  draining?: number;
  /**
   * Recurring jobs of all shards whose next instant has passed without being accounted for, and the time in seconds
   * since the first of these instants.
   */
  jobsOverdue?: number;
  jobsOverdueOldestSec?: number;
  /** Planned instants of all recurring jobs without a trace; age in seconds of the last full search for them. */
  instantsMissed?: number;
  missedLookAgeSec?: number;
  /** Seconds since the release of the time zone data in force, by its version. */
  timeZoneDataAgeSec?: ByLabel;
  /** 1 while this node brings newer time zone data than is in force. */
  timeZoneDataBehind?: number;
  /** 1 while this node is cut off from the others, and the number of nodes that it does not reach. */
  cutOff?: number;
  unreachedNodes?: number;
  /** End of the certificate of this node that ends first, in seconds since 1970. */
  certificateExpiresSec?: number;
  /** Refused requests and connections of workers, by reason: MISSING, KEY, TOKEN, TOO_MANY_TRIES or UNAVAILABLE. */
  callersRefused?: ByLabel;
  /** Connections of the HTTP server, by kind: KNOWN, UNKNOWN (no request has had a good key yet) or RESERVED. */
  httpConnections?: ByLabel;
  httpBodyBytes?: number;
  /** Refusals, by reason: UNKNOWN, TENANT_CONNECTIONS or TENANT_BODIES. */
  httpRefused?: ByLabel;
  /** 1 while the issuer of tokens answers this node. */
  tokenIssuerUp?: number;
  /** Figures of the bus between nodes. */
  meshConnections?: number;
  meshDropped?: number;
  meshWaitingBytes?: number;
  /** Nodes whose settings differ from those of this node although they must be the same. */
  differingNodes?: number;
  /** Figures of the bus on Kafka; messages by their way: KAFKA, MESH or DROPPED. */
  kafkaBusUp?: number;
  kafkaBusMessages?: ByLabel;
  kafkaBusRefused?: number;
  /** Figures of the Redis beside the store. */
  redisUp?: number;
  redisFailures?: number;
  /** Figures of the Redis that is the store: 1 by the class of its durability and by its role, and its memory in bytes. */
  redisStoreInfo?: ByLabel;
  redisStoreRole?: ByLabel;
  redisStoreUsedBytes?: number;
  redisStoreMaxBytes?: number;
  /** Share of the memory from which submits are refused. */
  redisStoreRefusalShare?: number;
  /** Replicas that follow, replicas that must have each change, and bytes that the slowest of the former lacks. */
  redisStoreReplicas?: number;
  redisStoreReplicasRequired?: number;
  redisStoreReplicaLagBytes?: number;
  redisStoreGeneration?: number;
  /** Final executions that it keeps, dead letters apart. */
  redisStoreHistoryRows?: number;
  /** Figures of the records of requests: 1 while they are read, records that were lost, and the age of the oldest one that is read and not taken in. */
  ingestUp?: number;
  ingestLost?: number;
  ingestLagSec?: number;
  /** Figures of the relays of events, by the name of the sink: delivered events, gaps, and the age of the oldest event that it lacks. */
  eventsDelivered?: ByLabel;
  eventGaps?: ByLabel;
  eventSinkLagSec?: ByLabel;
  /** Rows of events that were removed before every sink had them. */
  eventRowsDropped?: number;
  /** Tries of deliveries of webhooks, by their outcome: DELIVERED, RETRIED or FAILED. */
  webhookTries?: ByLabel;
  webhooksDisabled?: number;
  webhooksUnderWay?: number;
}

/** Counters of the parts of a node. `ops` provides the instruments behind them. */
export interface Metrics {
  commit(figures: { durationMs: number; changes: number; assigned: number }): void;
  /** Delay in ms from the scheduled time of an execution to its first start. */
  lateness(pool: string, latenessMs: number): void;
  /** Time in ms from an attempt's start to its end, whatever its outcome. Attempts of lost workers are left out. */
  ran(pool: string, runMs: number): void;
  finished(state: FinalState, count: number): void;
  /** Planned instants of recurring jobs that were accounted for. */
  planned(outcome: PlannedOutcome, count: number): void;
  deadLetter(pool: string): void;
  /** Attempts that failed and will be retried. */
  retried(count: number): void;
  /** An attempt ended as FAILED or TIMED_OUT. */
  failed(handler: string): void;
  /** Results and starts that the owner refused, because their token was not current. */
  refusedStale(count: number): void;
  /** The owner dropped its state and takes its shards over again. */
  takeover(cause: TakeoverCause): void;
  storeOutage(): void;
  /**
   * Registers a source of figures. `read` is called once for each collection; figures that it leaves out have no value.
   */
  watch(read: () => Readings): void;
}

/** All values of one metric. */
export interface FigureFamily {
  name: string;
  help: string;
  type: string;
  samples: readonly FigureSample[];
}

export interface FigureSample {
  /** Name of the value within a histogram, which ends with `_bucket`, `_sum` or `_count`; left out: that of the metric. */
  name?: string;
  labels: Readonly<Record<string, string | number>>;
  value: number;
}

/** Counters of the api, and the view of the whole node's figures. */
export interface ApiMetrics {
  /** @param figures.route the route's pattern, so that ids make no series of their own */
  request(figures: { method: string; route: string; status: number; durationMs: number }): void;
  submitted(count: number): void;
  /** Requests of applications that were decided. */
  requestsEnded(figures: { takenIn: number; refused: number }): void;
  /** One group commit of submits. */
  submitCommit(figures: { durationMs: number; jobs: number }): void;
  storeOutage(): void;
  /** All figures in the text format of Prometheus. */
  text(): Promise<{ contentType: string; body: string }>;
}

/** The view of the whole node's figures for other systems. */
export interface ExportedMetrics {
  /** All figures of `ApiMetrics.text`, as values. */
  families(): Promise<readonly FigureFamily[]>;
  /** The values of some figures, by their names without the prefix. */
  only(names: readonly string[]): Promise<readonly FigureFamily[]>;
}
