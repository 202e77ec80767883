import { type TProperties, Type } from "typebox";
import { FINAL_STATES } from "../../../domain/execution.ts";
import { Count, Id, Instant, nullable, oneOf } from "./fields.ts";

const reason = <const R extends string, const P extends TProperties>(name: R, more: P) =>
  Type.Object({ reason: Type.Literal(name), ...more });
const held = { attempt: Count, workerId: Id };

/** See ports/explanation.ts. */
export const Reason = Type.Union([
  reason("FINAL", { state: oneOf(...FINAL_STATES), why: nullable(Type.String()), finishedAt: nullable(Instant) }),
  reason("RUNNING", { ...held, startedAt: Instant, timesOutAt: Instant }),
  reason("ASSIGNED", { ...held, assignedAt: Instant }),
  reason("WORKER_HAS_NO_FREE_SLOT", { workerId: Id, stuck: Count }),
  reason("WORKER_AWAITED", { ...held, until: Instant }),
  reason("CANCEL_REQUESTED", held),
  reason("DUE_LATER", { dueAt: Instant }),
  reason("SLEEPING", { until: Instant }),
  reason("AWAITS_SIGNAL", { until: Instant, signals: Type.Optional(Type.Array(Type.String())) }),
  reason("LIFETIME_ENDS", { endsAt: Instant, maxLifetimeSec: Type.Number() }),
  reason("BACKOFF", { until: Instant, failures: Count, maxAttempts: Count }),
  reason("TENANT_SUSPENDED", {}),
  reason("POOL_PAUSED", { pool: Id }),
  reason("WORKFLOW_PAUSED", { workflowId: Id }),
  reason("POOL_AT_LIMIT", { pool: Id, limit: Count, running: Count }),
  reason("POOL_RATE_USED", { pool: Id, ratePerSec: Type.Number(), nextStartAt: Instant }),
  reason("PERMIT_AWAITED", { pool: Id }),
  reason("TENANT_AT_LIMIT", { limit: Count, running: Count }),
  reason("TENANT_TURN", {}),
  reason("NO_WORKER_FOR_HANDLER", { pool: Id, handler: Id, workersInPool: Count }),
  reason("NO_WORKER_WITH_CAPABILITY", { handler: Id, missing: Type.Array(Type.String()), workersWithHandler: Count }),
  reason("ALL_SLOTS_BUSY", { workers: Count, draining: Count, slots: Count, held: Count }),
  reason("KEY_AT_LIMIT", {
    key: Type.String(),
    limit: Count,
    running: Count,
    heldBy: Type.Array(Type.Object({ executionId: Id, attempt: Count, workerId: nullable(Id) })),
  }),
  reason("QUEUED", { ahead: nullable(Count), known: Count }),
  reason("OWNER_SILENT", {}),
]);
