import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import {
  type Candidate,
  type EndedAttempt,
  type ExecutionError,
  type ExecutionState,
  type Queue,
  RUN_NODE,
  type StepsMark,
  type Trigger,
} from "../../../domain/execution.ts";
import type { EpochMs, ExecutionId, Incarnation, WorkerId } from "../../../domain/ids.ts";
import type { NewJob, Replacement, RowChange } from "../../../ports/store.ts";
import type { DeadLetterAction } from "../../../ports/store-dead-letters.ts";

/** A row of the simulated table. Rows are replaced and never changed, so that the history can keep earlier ones. */
export interface ExecutionRow {
  readonly id: ExecutionId;
  /** The execution's copy of its job, which only a replacement changes. */
  readonly job: NewJob;
  readonly jobVersion: number;
  readonly trigger: Trigger;
  /** Id of the execution that this one repeats; null: none. */
  readonly retryOf: ExecutionId | null;
  /** How a dead letter was settled; null: not settled. */
  readonly settled: DeadLetterAction | null;
  readonly state: ExecutionState;
  readonly queue: Queue;
  readonly attempt: number;
  readonly failures: number;
  readonly lost: number;
  readonly rank: number;
  readonly dueAt: EpochMs;
  readonly reason: string | null;
  readonly workerId: WorkerId | null;
  readonly gateway: Incarnation | null;
  readonly attemptStartedAt: EpochMs | null;
  readonly startedAt: EpochMs | null;
  readonly finishedAt: EpochMs | null;
  readonly result: Uint8Array | null;
  readonly error: ExecutionError | null;
  readonly attempts: readonly EndedAttempt[];
  readonly updatedAt: EpochMs;
  /** Mark of an execution that has records of handlers or signals; null: it has none. */
  readonly steps: StepsMark | null;
  /** Number of the node; RUN_NODE: the row of a run of a workflow; null: a job's execution. */
  readonly node: number | null;
  /** Index of the item of a map; null: none. */
  readonly item: number | null;
  /** Branch that the execution of a node has chosen; null: none. */
  readonly branch: string | null;
  /** Number of the commit that wrote the row; 0: none. */
  readonly commitNumber: number;
}

/** Origin of the execution, and version of its job. */
type Origin = Pick<ExecutionRow, "trigger" | "retryOf" | "jobVersion"> & { dueAt?: EpochMs };

const SUBMITTED: Origin = { trigger: "API", retryOf: null, jobVersion: 1 };

export function newRow(job: NewJob, origin: Origin = SUBMITTED): ExecutionRow {
  const { trigger, retryOf, jobVersion, dueAt = job.definition.scheduledAt } = origin;
  return {
    id: job.executionId,
    job,
    jobVersion,
    trigger,
    retryOf,
    settled: null,
    state: "PENDING",
    queue: job.queue,
    attempt: 0,
    failures: 0,
    lost: 0,
    rank: job.rank,
    dueAt,
    reason: null,
    workerId: null,
    gateway: null,
    attemptStartedAt: null,
    startedAt: null,
    finishedAt: null,
    result: null,
    error: null,
    attempts: [],
    updatedAt: job.createdAt,
    steps: null,
    node: null,
    item: null,
    branch: null,
    commitNumber: 0,
  };
}

/** @param payload payload of the job's version */
export function changedRow(
  row: ExecutionRow,
  change: RowChange,
  payload: (version: number) => Uint8Array | null,
  updatedAt: EpochMs,
  commitNumber: number,
): ExecutionRow {
  return {
    id: row.id,
    ...copyOf(row, change.replacement, payload),
    trigger: row.trigger,
    retryOf: row.retryOf,
    settled: row.settled,
    state: change.state,
    queue: change.queue,
    attempt: change.attempt,
    failures: change.failures,
    lost: change.lost,
    rank: change.rank,
    dueAt: change.dueAt,
    reason: change.reason,
    workerId: change.workerId,
    gateway: change.gateway,
    attemptStartedAt: change.attemptStartedAt,
    startedAt: change.startedAt,
    finishedAt: change.finishedAt,
    result: change.result,
    error: change.error,
    attempts: change.ended.length === 0 ? row.attempts : [...row.attempts, ...change.ended],
    updatedAt,
    steps: change.steps ?? row.steps,
    node: row.node,
    item: row.item,
    branch: change.branch ?? row.branch,
    commitNumber,
  };
}

function copyOf(
  { job, jobVersion }: ExecutionRow,
  replacement: Replacement | undefined,
  payload: (version: number) => Uint8Array | null,
): Pick<ExecutionRow, "job" | "jobVersion"> {
  if (replacement === undefined) return { job, jobVersion };
  const { definition, laneHash, jobVersion: version } = replacement;
  return { job: { ...job, definition, laneHash, payload: payload(version) }, jobVersion: version };
}

/** The owner's part of a row that is not final. */
export function candidateOf(row: ExecutionRow): Candidate {
  const { job } = row;
  const { definition } = job;
  return {
    id: row.id,
    jobId: job.jobId,
    shard: job.shard,
    tenant: job.tenant,
    pool: definition.pool,
    handler: definition.handler,
    requires: definition.requires,
    concurrencyKey: definition.concurrencyKey,
    concurrencyLimit: definition.concurrencyLimit,
    hasUniqueKey: definition.uniqueKey !== null,
    priority: definition.priority,
    rank: row.rank,
    dueAt: row.dueAt,
    scheduledAt: definition.scheduledAt,
    ...(row.trigger === "BACKFILL" && { backfilledAt: job.createdAt }),
    policy: definition.policy,
    jobVersion: row.jobVersion,
    payloadBytes: job.payload?.length ?? 0,
    state: row.state as Candidate["state"],
    queue: row.queue,
    attempt: row.attempt,
    failures: row.failures,
    lost: row.lost,
    startedAt: row.startedAt,
    ...(row.steps !== null && { steps: row.steps }),
    ...(row.node !== null && { node: row.node }),
    ...(row.item !== null && { item: row.item }),
  };
}

/** Whether the row is the execution of a node of a workflow. */
export function isNode({ node }: ExecutionRow): boolean {
  return node !== null && node !== RUN_NODE;
}

/** Whether the row is the execution of a node that runs a sub-workflow, and so a run, too. */
export function isChildRun(row: ExecutionRow): boolean {
  return isNode(row) && row.job.definition.handler === SUB_WORKFLOW_HANDLER;
}
