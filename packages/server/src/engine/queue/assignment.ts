import { type Candidate, isNodeBesideRun } from "../../domain/execution.ts";
import { attemptLimitMs } from "../../domain/lifetime.ts";
import { handlerTraceparent } from "../../domain/trace.ts";
import { isCompensation } from "../../domain/workflow/compensation-number.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Assigned, Entry } from "../entry.ts";
import type { Share } from "../fair/shares.ts";
import { poolOf, type Step } from "../state.ts";
import type { WorkerSlots } from "../workers/workers.ts";

/** A new attempt of an execution at a free worker. It uses one credit. */
export function newAssigned({ state, now }: Step, share: Share, worker: WorkerSlots): Assigned {
  return {
    share,
    charged: state.shares.assigned(share),
    workerId: worker.profile.workerId,
    gateway: worker.gateway,
    worker,
    at: now,
    account: worker.account,
    credit: state.workers.take(worker, poolOf(state, share.pool.name).placement),
    startedAt: null,
    journal: null,
    soughtSince: null,
    stopping: null,
    isNewborn: false,
    isStartTold: false,
  };
}

/** Whether a handler of the execution may add nodes to its run. */
function mayAdd(row: Candidate): boolean {
  return isNodeBesideRun(row) && row.item === undefined && !isCompensation(row.node ?? 0);
}

/** Message that assigns the current attempt to its worker, without the payload. */
export function assignmentOf({ state }: Step, entry: Entry, assigned: Assigned): Assignment {
  const { row } = entry;
  const traceparent = handlerTraceparent(row, state.exportsSpans);
  return {
    shard: row.shard,
    executionId: entry.id,
    attempt: row.attempt,
    epoch: state.epochs.get(row.shard) ?? 0,
    workerId: assigned.workerId,
    gateway: assigned.gateway,
    account: assigned.account,
    credit: assigned.credit,
    handler: row.handler,
    payload: null,
    payloadBytes: row.payloadBytes,
    timeoutMs: attemptLimitMs(row, assigned.at),
    cancelGraceMs: row.policy.cancelGraceMs,
    failures: row.failures,
    maxAttempts: row.policy.retry.maxAttempts,
    scheduledAt: row.scheduledAt,
    ...(row.steps !== undefined && { steps: null }),
    ...(mayAdd(row) && { maySpawn: true as const }),
    ...(traceparent !== undefined && { traceparent }),
  };
}
