import { attemptLimitMs } from "../../domain/lifetime.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Assigned, Entry } from "../entry.ts";
import type { Step } from "../state.ts";

/** Message that assigns the current attempt to its worker, without the payload. */
export function assignmentOf({ state }: Step, entry: Entry, assigned: Assigned): Assignment {
  const { row } = entry;
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
  };
}
