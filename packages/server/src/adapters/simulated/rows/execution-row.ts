import type {
  Candidate,
  DeadLetterAction,
  EndedAttempt,
  EpochMs,
  ExecutionError,
  ExecutionId,
  ExecutionState,
  Incarnation,
  NewJob,
  Queue,
  Replacement,
  RowChange,
  Trigger,
  WorkerId,
} from "@mainspring/server/testing";

/** A row of the simulated table. Never changed, only replaced: so history can keep what it was before. */
export interface ExecutionRow {
  readonly id: ExecutionId;
  /** Its copy of its job: changed only by a replacement. */
  readonly job: NewJob;
  readonly jobVersion: number;
  readonly trigger: Trigger;
  /** Execution that it repeats. */
  readonly retryOf: ExecutionId | null;
  /** Settlement of a dead letter; null: none so far. */
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
  /** Which commit wrote it; 0: none so far. */
  readonly commitNumber: number;
}

/** Origin of the execution, and the version of its job. */
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
    commitNumber: 0,
  };
}

/** @param payload of a version of its job */
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
  };
}
