import type { EndedAttempt, ExecutionError, ExecutionState, Queue, StepsMark, Trigger } from "../domain/execution.ts";
import type { Epoch, EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { Pool } from "../domain/pool.ts";
import type { Plan, Skip } from "../domain/recurrence.ts";
import type { ZoneFilesText } from "../domain/schedule/zones/zone-files.ts";
import type { RecordedStep } from "../domain/step.ts";
import type { KeptNodes } from "../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../domain/workflow/map-counts.ts";
import type { HandlerRow } from "./handler-table.ts";
import type { AcceptedJob, JournalEntry } from "./store.ts";
import type { AuditAnchor, AuditRecord } from "./store-audit.ts";
import type { Command } from "./store-commands.ts";
import type { NewApiKey } from "./store-keys.ts";
import type { LogPart } from "./store-logs.ts";
import type { RunMode, RunOutcome } from "./store-runs.ts";
import type { StoredTenant, TenantSource } from "./store-tenants.ts";
import type { Delivery, Webhook } from "./store-webhooks.ts";

/** Largest payload in bytes that a row of an execution has; that of the job's version has a larger one. */
export const SMALL_PAYLOAD_MAX = 1_024;

/** Rows of a store in a form that every adapter reads and writes, by kind. An instant is in ms since 1970. */
export interface TransferRows {
  tenants: StoredTenant;
  sources: TenantSource;
  pools: Pool;
  keys: NewApiKey & { revokedAt: EpochMs | null; lastUsedAt: EpochMs | null; version: number };
  handlers: HandlerRow;
  zones: ZoneFilesText;
  changeovers: { number: number; version: string; since: EpochMs };
  graphs: MovedGraph;
  jobs: MovedJob;
  /** Payloads of former versions of jobs. */
  payloads: { jobId: JobId; version: number; payload: Uint8Array };
  plans: MovedPlan;
  /** Names of jobs that recur and are not deleted. */
  names: { tenant: string; name: string; jobId: JobId };
  skips: Skip & { jobId: JobId };
  executions: MovedExecution;
  uniqueKeys: { tenant: string; key: string; executionId: ExecutionId; jobId: JobId };
  runs: MovedRun;
  parts: MovedPart;
  steps: RecordedStep & { executionId: ExecutionId };
  signals: MovedSignal;
  /** Lines of logs of attempts. */
  logs: Omit<LogPart, "tenant">;
  journals: { shard: ShardId; epoch: Epoch; seq: number; entries: readonly JournalEntry[] };
  commands: Command;
  idempotencyKeys: MovedIdempotencyKey;
  audit: AuditRecord;
  anchors: AuditAnchor;
  sealed: { chain: string; seq: number };
  webhooks: MovedWebhook;
  deliveries: Delivery & { tenant: string; shard: ShardId };
  positions: { partition: number; topic: string; next: number; replayUntil: number };
}

export type TransferKind = keyof TransferRows;
export type TransferRow = TransferRows[TransferKind];

/** Kinds in the order in which they are written: a row comes behind the rows that it needs. */
export const TRANSFER_KINDS = [
  ...["tenants", "sources", "pools", "keys", "handlers", "zones", "changeovers", "graphs", "jobs", "payloads"],
  ...["plans", "names", "skips", "executions", "uniqueKeys", "runs", "parts", "steps", "signals", "logs", "journals"],
  ...["commands", "idempotencyKeys", "audit", "anchors", "sealed", "webhooks", "deliveries", "positions"],
] as readonly TransferKind[];

export interface MovedJob extends JobDefinition {
  jobId: JobId;
  tenant: string;
  version: number;
  createdAt: EpochMs;
  updatedAt: EpochMs;
  /** null: the job is not deleted. */
  deletedAt: EpochMs | null;
  payload: Uint8Array | null;
  /** Ids of the sub-workflows in ascending order; null: the job is no workflow. */
  nested: readonly JobId[] | null;
}

export interface MovedPlan extends Plan {
  jobId: JobId;
  revision: number;
  shard: ShardId;
  tenant: string;
  pool: string;
}

export interface MovedExecution
  extends Pick<
    JobDefinition,
    "pool" | "handler" | "requires" | "priority" | "concurrencyKey" | "concurrencyLimit" | "policy"
  > {
  id: ExecutionId;
  /** The run, if the execution is that of a node. */
  jobId: JobId;
  tenant: string;
  shard: ShardId;
  jobVersion: number;
  lane: number;
  rank: number;
  dueAt: EpochMs;
  scheduledAt: EpochMs;
  createdAt: EpochMs;
  updatedAt: EpochMs;
  startedAt: EpochMs | null;
  finishedAt: EpochMs | null;
  attemptStartedAt: EpochMs | null;
  payloadBytes: number;
  /** null: there is none, it is larger than `SMALL_PAYLOAD_MAX`, or the execution is that of a run or a node. */
  payload: Uint8Array | null;
  attempt: number;
  failures: number;
  lost: number;
  state: ExecutionState;
  queue: Queue;
  trigger: Trigger;
  /** null: the execution has claimed none. */
  uniqueKey: string | null;
  reason: string | null;
  workerId: string | null;
  gateway: string | null;
  error: ExecutionError | null;
  attempts: readonly EndedAttempt[];
  result: Uint8Array | null;
  retryOf: ExecutionId | null;
  /** Whether a dead letter was replayed or discarded; false: it is open, or the execution is no dead letter. */
  isSettled: boolean;
  steps: StepsMark | null;
  /** Number of the node; RUN_NODE: the execution is a run of a job; null: neither. */
  node: number | null;
  item: number | null;
  branch: string | null;
}

export interface MovedPayload {
  node: number;
  payload: Uint8Array;
}

export interface MovedGraph {
  /** Job, or id of the sub-workflow. */
  workflow: JobId;
  version: number;
  nodes: number;
  graph: Uint8Array;
  definitions: Uint8Array;
  /** Payloads of nodes in ascending order, that of RUN_NODE is the output. */
  payloads: readonly MovedPayload[];
}

export interface MovedRun {
  run: ExecutionId;
  revision: number;
  mode: RunMode;
  paused: boolean;
  outcome: RunOutcome | null;
  mapCounts: readonly MapCount[];
  kept: readonly KeptNodes[];
  /** Job, or id of the sub-workflow. */
  workflow: JobId;
  retryOf: ExecutionId | null;
}

export interface MovedPart {
  run: ExecutionId;
  first: number;
  spawner: number;
  nodes: number;
  graph: Uint8Array;
  definitions: Uint8Array;
  payloads: readonly MovedPayload[];
}

export interface MovedSignal {
  executionId: ExecutionId;
  id: string;
  at: EpochMs;
  /** Run of the node to which the signal was sent by name; null: none. */
  run: ExecutionId | null;
  isTaken: boolean;
  /** Empty: a step has consumed the signal. */
  name: string;
  data: Uint8Array | null;
  /** Digest of name and data in base64, which a consumed signal keeps; null: the store has none. */
  contentDigest: string | null;
}

export interface MovedWebhook extends Omit<Webhook, "kind"> {
  /** null: the webhook is a receiver of ends. */
  secret: string | null;
  /** Secret of before, and the instant until which it is valid. */
  former: string | null;
  formerUntil: EpochMs;
}

export interface MovedIdempotencyKey {
  /** Digests of tenant and key, and of the request, of 16 bytes in base64. */
  digest: string;
  requestDigest: string;
  /** The answer to the request. */
  jobs: readonly AcceptedJob[];
  /** Second in which the key was claimed, in ms. */
  createdAt: EpochMs;
}

/** Mark on a store that no server may open. */
export interface TransferMark {
  /** FILLING: rows of another store are being written. MOVED: the rows are in another store. */
  state: "FILLING" | "MOVED";
  /** Other store, without a password. */
  other: string;
}

/** Text of a mark, as every store keeps it. */
export function markText({ state, other }: TransferMark): string {
  return `${state} ${other}`;
}

/** Mark of a text; null: the text is none. */
export function markOf(text: string): TransferMark | null {
  const [, state, other] = /^(FILLING|MOVED) (.+)$/s.exec(text) ?? [];
  return other === undefined ? null : { state: state as TransferMark["state"], other };
}

/** Counters that a store has beside its rows. */
export interface TransferCounters {
  tenants: number;
  keys: number;
  /** Feature level that programs need. */
  level: number;
}

/** A store from which or into which a whole store is copied, while no server uses it. */
export interface StoreTransfer {
  /** Address for people, without a password. */
  readonly name: string;
  mark(): Promise<TransferMark | null>;
  /** @param mark null: servers may open the store again */
  setMark(mark: TransferMark | null): Promise<void>;
  /** Whether the store has no rows at all, of any kind. */
  isEmpty(): Promise<boolean>;
  /** Removes all rows of a store that is FILLING. */
  empty(): Promise<void>;
  /** Row that has no place in another store, with their number; null: there is none. */
  unmovable(): Promise<{ what: string; count: number } | null>;
  /** Rows that stay behind, by a name for people. */
  leftBehind(): Promise<Readonly<Record<string, number>>>;
  /** Rows of a kind, each once, in portions. */
  rows<K extends TransferKind>(kind: K): AsyncIterable<TransferRows[K][]>;
  /** @returns reason why the store cannot hold a row; null: it can */
  unfit<K extends TransferKind>(kind: K, row: TransferRows[K]): string | null;
  /** Writes rows that the store does not have. */
  write<K extends TransferKind>(kind: K, rows: readonly TransferRows[K][]): Promise<void>;
  counters(): Promise<TransferCounters>;
  setCounters(counters: TransferCounters): Promise<void>;
  /** Epochs by shard. */
  epochs(): Promise<Epoch[]>;
  /** Gives each shard an epoch above this one, and no owner. */
  raiseEpochs(above: readonly Epoch[]): Promise<void>;
  close(): Promise<void>;
}
