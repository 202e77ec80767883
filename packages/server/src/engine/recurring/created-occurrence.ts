import type { Candidate } from "../../domain/execution.ts";
import { laneHash } from "../../domain/lane.ts";
import { rankOf } from "../../domain/rank.ts";
import type { Birth } from "../../ports/store-recurrences.ts";
import { poolOf, type Step } from "../state.ts";
import type { Fire } from "./draft.ts";
import type { Planned } from "./plans.ts";

/** The execution that a planned instant becomes. */
export function birthOf({ state, now }: Step, { job, shard }: Planned, fire: Fire): Birth {
  const { definition, jobId, tenant, version, payloadBytes } = job;
  const { pool, handler, requires, concurrencyKey, concurrencyLimit, priority, uniqueKey } = definition;
  const { id, plannedAt, trigger } = fire;
  // The past that a backfill makes up for is no head start, and no deadline that it could meet.
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
  };
  return { row, trigger, laneHash: laneHash(row), uniqueKey, createdAt: now };
}
