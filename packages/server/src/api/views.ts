import type {
  ExecutionBody,
  ExecutionSummaryBody,
  JobBody,
  JobSummaryBody,
  StepsBody,
  WorkerBody,
  WorkerDetailBody,
  WorkerExecutionBody,
} from "@mainspring/contract";
import type { EndedAttempt } from "../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../domain/ids.ts";
import { lifetimeMs } from "../domain/lifetime.ts";
import { ownerOfPool, shownPool } from "../domain/pool.ts";
import { type RecordedStep, type Signal, waitOf } from "../domain/step.ts";
import type { Progress, WorkerExecution, WorkerStatus } from "../ports/messages.ts";
import { submittedText } from "../ports/references/template.ts";
import type { ExecutionSummary, ExecutionView, JobSummary, JobView } from "../ports/store-queries.ts";
import { workerShownTo } from "../security/tenant.ts";
import { nested, nestedList, rawOrNull } from "./http/body/raw-json.ts";
import { formatInstant, formatInstantOrNull } from "./http/instants.ts";
import { plannedFireAt, recurrenceBody } from "./recurring/plan-views.ts";

/** Form in which clients get rows. */

export function executionSummaryBody(row: ExecutionSummary): ExecutionSummaryBody {
  return { ...beforePayload(row), ...timesOf(row) };
}

/** @param node name of the workflow's node that the execution runs; null: a job's execution, or a run of a workflow */
export function executionBody(
  view: ExecutionView,
  progress: Progress | null,
  records: readonly RecordedStep[],
  node: string | null = null,
): ExecutionBody {
  return {
    ...beforePayload(view),
    ...(view.ofRun !== undefined && { workflowId: view.ofRun.run }),
    ...(view.isRun && { workflowId: view.executionId }),
    ...(node !== null && { node }),
    // The payload of a node may be a template.
    payload: rawOrNull(view.payload && submittedText(view.payload)),
    result: rawOrNull(view.result),
    error: view.error,
    progress: progress && {
      fraction: progress.fraction,
      message: progress.message,
      at: formatInstant(progress.at),
    },
    attempts: view.attempts.map((attempt) => attemptBody(view, attempt)),
    steps: resultsAmong(records).map((step) => ({ ...recordOf(step), name: step.name, bytes: step.data?.length ?? 0 })),
    checkpoint: checkpointAmong(records),
    ...timesOf(view),
  };
}

export function stepsBody(
  executionId: ExecutionId,
  records: readonly RecordedStep[],
  signals: readonly Signal[],
): StepsBody {
  const steps = resultsAmong(records).map((step) => ({
    name: step.name,
    ...recordOf(step),
    value: rawOrNull(step.data),
  }));
  const waits = records.flatMap((record) => {
    if (record.kind !== "WAIT") return [];
    const { until, signals: names } = waitOf(record);
    return [{ name: record.name, ...recordOf(record), until: formatInstant(until), signals: [...names] }];
  });
  const open = signals.map(({ id, name, data, at }) => ({
    ...{ signalId: id, name, data: rawOrNull(data) },
    acceptedAt: formatInstant(at),
  }));
  const checkpoint = checkpointAmong(records);
  return { executionId, steps: nestedList(steps), waits, signals: nestedList(open), checkpoint };
}

function resultsAmong(records: readonly RecordedStep[]): RecordedStep[] {
  return records.filter(({ kind }) => kind === "RESULT");
}

function checkpointAmong(records: readonly RecordedStep[]): ExecutionBody["checkpoint"] {
  const checkpoint = records.find(({ kind }) => kind === "CHECKPOINT");
  return checkpoint === undefined ? null : nested({ data: rawOrNull(checkpoint.data), ...recordOf(checkpoint) });
}

function recordOf({ attempt, at }: RecordedStep) {
  return { attempt, recordedAt: formatInstant(at) };
}

export function attemptBody(
  { tenant, pool }: Pick<ExecutionSummary, "tenant" | "pool">,
  { attempt, workerId, state, startedAt, finishedAt, error }: EndedAttempt,
) {
  return {
    ...{ attempt, workerId: workerShownTo(tenant, workerId, pool), state, error },
    startedAt: formatInstantOrNull(startedAt),
    finishedAt: formatInstant(finishedAt),
  };
}

function beforePayload(row: ExecutionSummary): Omit<ExecutionSummaryBody, "createdAt" | "updatedAt"> {
  const { executionId, jobId, tenant, trigger, retryOf, jobVersion, state, reason, attempt } = row;
  const { failures, lost, maxAttempts } = row;
  const { pool, handler, priority, scheduledAt, workerId, startedAt, finishedAt } = row;
  return {
    ...{
      executionId,
      jobId,
      tenant,
      trigger,
      retryOf,
      jobVersion,
      state,
      reason,
      attempt,
      failures,
      lost,
      maxAttempts,
    },
    ...{ pool: shownPool(pool), handler, priority },
    assignedWorker: workerId && workerShownTo(tenant, workerId, pool),
    scheduledAt: formatInstant(scheduledAt),
    startedAt: formatInstantOrNull(startedAt),
    finishedAt: formatInstantOrNull(finishedAt),
    latenessMs: latenessOf(row),
  };
}

/** Lateness of the first start in milliseconds; null: not started. */
export function latenessOf(row: ExecutionSummary): number | null {
  return row.startedAt === null ? null : row.startedAt - fellDueAt(row);
}

/** Time at which the execution was due. An execution of a backfill was not planned before the backfill created it. */
export function fellDueAt({ trigger, createdAt, scheduledAt }: ExecutionSummary): EpochMs {
  return trigger === "BACKFILL" ? createdAt : scheduledAt;
}

function timesOf({ createdAt, updatedAt }: { createdAt: EpochMs; updatedAt: EpochMs }) {
  return { createdAt: formatInstant(createdAt), updatedAt: formatInstant(updatedAt) };
}

export function jobSummaryBody(row: JobSummary, now: EpochMs): JobSummaryBody {
  const { pool, handler } = row;
  return { ...commonOf(row, now), target: { pool: shownPool(pool), handler } };
}

export function jobBody(view: JobView, now: EpochMs): JobBody {
  const { pool, handler, requires, policy, concurrencyKey, concurrencyLimit, uniqueKey } = view.definition;
  return {
    ...commonOf(view, now),
    ...(view.plan === null && { nextFireAt: nextFireAt(view, now) }),
    target: { pool: shownPool(pool), handler, requires: [...requires] },
    payload: rawOrNull(view.payload),
    startBefore: formatInstantOrNull(policy.startBefore),
    retryPolicy: policy.retry,
    timeoutSec: policy.timeoutMs / 1_000,
    maxLifetimeSec: lifetimeMs(policy) / 1_000,
    cancelGraceSec: policy.cancelGraceMs / 1_000,
    maxLost: policy.maxLost,
    onWorkerLost: policy.onWorkerLost,
    onFinish: policy.onFinish ?? null,
    ...{ concurrencyKey, concurrencyLimit, uniqueKey },
    ...recurrenceBody(view),
    latestExecutions: view.latestExecutions.map(executionSummaryBody),
  };
}

/**
 * Next planned time of a one-time job. An execution at a worker does not follow a change of its job, so the executions
 * decide.
 */
function nextFireAt({ latestExecutions }: JobView, now: EpochMs): string | null {
  const waiting = latestExecutions.filter(({ state, scheduledAt }) => state === "PENDING" && scheduledAt > now);
  return waiting.length === 0 ? null : formatInstant(Math.min(...waiting.map(({ scheduledAt }) => scheduledAt)));
}

function commonOf(row: JobSummary, now: EpochMs): Omit<JobSummaryBody, "target"> {
  const { jobId, tenant, name, state, type, version, priority, scheduledAt, labels, plan } = row;
  const ahead = state === "ACTIVE" && scheduledAt > now ? scheduledAt : null;
  return {
    ...{ jobId, tenant, name, type, state, version, priority, labels: { ...labels } },
    nextFireAt: formatInstantOrNull(plan === null ? ahead : plannedFireAt(row)),
    ...(plan === null && { runAt: formatInstant(scheduledAt) }),
    ...timesOf(row),
  };
}

export function workerDetailBody(worker: WorkerStatus): WorkerDetailBody {
  const { executions, executionsTotal = executions?.length ?? null } = worker;
  return { ...workerBody(worker), executions: executions?.map(workerExecutionBody) ?? null, executionsTotal };
}

function workerExecutionBody({ startedAt, ...execution }: WorkerExecution): WorkerExecutionBody {
  return { ...execution, startedAt: formatInstantOrNull(startedAt) };
}

/** Number of free slots. Older nodes do not report it, so it is estimated; a worker that is gone has none. */
function freeSlots({ free, state, slots, running }: WorkerStatus): number {
  return free ?? (state === "DEAD" ? 0 : Math.max(0, slots - running));
}

export function workerBody(worker: WorkerStatus): WorkerBody {
  const { workerId, name, pool, handlers, capabilities, slots, prefetch, state, running, loopLagMs } = worker;
  return {
    ...{
      workerId,
      name,
      pool: shownPool(pool),
      poolOwner: ownerOfPool(pool),
      slots,
      prefetch,
      state,
      running,
      loopLagMs,
    },
    prefetchMode: worker.autoPrefetch === true ? "AUTO" : "FIXED",
    free: freeSlots(worker),
    stuck: worker.stuck ?? 0,
    handlers: [...handlers],
    capabilities: [...capabilities],
    connectedAt: formatInstant(worker.connectedAt),
    lastHeartbeatAt: formatInstant(worker.lastHeartbeatAt),
  };
}
