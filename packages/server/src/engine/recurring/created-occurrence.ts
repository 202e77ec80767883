import { type Candidate, RUN_NODE } from "../../domain/execution.ts";
import { laneHash } from "../../domain/lane.ts";
import { rankOf } from "../../domain/rank.ts";
import type { CreatedOccurrence } from "../../ports/store-recurrences.ts";
import { poolOf, type Step } from "../state.ts";
import type { Fire } from "./draft.ts";
import type { Planned } from "./plans.ts";

/** Makes the execution of a planned instant. */
export function createdOccurrence({ state, now }: Step, { job, shard }: Planned, fire: Fire): CreatedOccurrence {
  const { definition, jobId, tenant, version, payloadBytes } = job;
  const { pool, handler, requires, concurrencyKey, concurrencyLimit, priority, uniqueKey } = definition;
  const { id, plannedAt, trigger } = fire;
  // An execution of a backfill is due now: its past instant must neither raise its rank nor set a deadline that has
  // passed.
  const dueAt = trigger === "BACKFILL" ? now : plannedAt;
  const withinMs = trigger === "BACKFILL" ? null : (definition.recurrence?.startWithinMs ?? null);
  const row: Candidate = {
    id,
    jobId,
    shard,
    tenant,
    pool,
    handler,
    requires,
    concurrencyKey,
    concurrencyLimit,
    hasUniqueKey: uniqueKey !== null,
    priority,
    rank: rankOf(poolOf(state, pool), dueAt, priority),
    dueAt,
    scheduledAt: plannedAt,
    ...(trigger === "BACKFILL" && { backfilledAt: now }),
    policy: { ...definition.policy, startBefore: withinMs === null ? null : plannedAt + withinMs },
    jobVersion: version,
    payloadBytes,
    state: "PENDING",
    queue: "READY",
    attempt: 0,
    failures: 0,
    lost: 0,
    startedAt: null,
    ...(definition.recurrence?.startsWorkflow === true && { node: RUN_NODE }),
  };
  return { row, trigger, laneHash: laneHash(row), uniqueKey, createdAt: now };
}
