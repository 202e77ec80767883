import type { FinalState } from "../domain/execution.ts";
import type { PlannedOutcome } from "../domain/recurrence.ts";

/** Why an owner dropped what it knew: a closed list, because it is a label. */
export type TakeoverCause =
  | "MACHINE_FAILED"
  | "COMMIT_UNANSWERED"
  | "FENCED"
  | "CONNECTION_LOST"
  | "LEASE_ENDED"
  | "ROW_CHANGED"
  | "ROW_REFUSED";

/** Figures by pool, by shard, by outcome, or by what a store's connections are for. */
export type ByLabel = ReadonlyMap<string, number>;

/** Figures that are read when somebody asks, rather than counted when they change. Totals only ever grow. */
export interface Readings {
  /** Figures of the owner's memory. */
  waiting?: number;
  ready?: ByLabel;
  assigned?: ByLabel;
  running?: ByLabel;
  ownedShards?: number;
  /** Figures by shard. */
  shardEpoch?: ByLabel;
  shardReady?: ByLabel;
  shardRunning?: ByLabel;
  shardTakeovers?: ByLabel;
  /** Figures of the store, by pool: READY executions, and how long the oldest of the next ones has waited. */
  backlogReady?: ByLabel;
  backlogOldestSec?: ByLabel;
  /** Figures of the gateway. */
  workersConnected?: number;
  workersLost?: number;
  /** Slots of handlers that still run after the end of their attempts, by pool. */
  workerStuckSlots?: ByLabel;
  /** Connected workers that do not answer for what they hold. */
  workersWithoutAuthority?: number;
  /** Figures of the store's connections. */
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
  /** Recurring jobs whose time has passed without being accounted for, of all shards, and since when the first of them is. */
  jobsOverdue?: number;
  jobsOverdueOldestSec?: number;
  /** Planned instants of all recurring jobs without any trace, and the age in seconds of the last full search for them. */
  instantsMissed?: number;
  missedLookAgeSec?: number;
  /** Since the release of the time zone data in force, by its version. */
  timeZoneDataAgeSec?: ByLabel;
  /** 1 while this node brings newer time zone data than is in force. */
  timeZoneDataBehind?: number;
  cutOff?: number;
  unreachedNodes?: number;
  /** Figures of the bus between nodes. */
  meshConnections?: number;
  meshDropped?: number;
  meshWaitingBytes?: number;
}

/** Counters of the parts of a node. The instruments behind it are the business of `ops`. */
export interface Metrics {
  commit(figures: { durationMs: number; changes: number; assigned: number }): void;
  /** From the scheduled time to the first start. */
  lateness(pool: string, latenessMs: number): void;
  /** From an attempt's start to its end, however it ended, unless its worker was lost. */
  ran(pool: string, runMs: number): void;
  finished(state: FinalState, count: number): void;
  /** Planned instants of recurring jobs that were accounted for. */
  planned(outcome: PlannedOutcome, count: number): void;
  deadLetter(pool: string): void;
  /** Attempts that failed and will be tried again. */
  retried(count: number): void;
  /** Results and starts that came with an old token. */
  refusedStale(count: number): void;
  /** The owner dropped what it knew and takes its shards over anew. */
  takeover(cause: TakeoverCause): void;
  storeOutage(): void;
  /** `read` is called once each time that somebody asks for the figures; what it leaves out is shown as none. */
  watch(read: () => Readings): void;
}

/** Counters of the api, and the view of the whole node's figures. */
export interface ApiMetrics {
  /** @param figures.route the route's pattern, so that ids make no series of their own */
  request(figures: { method: string; route: string; status: number; durationMs: number }): void;
  submitted(count: number): void;
  /** One group commit of submits. */
  submitCommit(figures: { durationMs: number; jobs: number }): void;
  storeOutage(): void;
  /** All figures in the text format of Prometheus. */
  text(): Promise<{ contentType: string; body: string }>;
}
