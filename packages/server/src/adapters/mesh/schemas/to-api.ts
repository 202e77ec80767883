import { Type } from "typebox";
import { EXECUTION_STATES, FINAL_STATES } from "../../../domain/execution.ts";
import { PLANNED_OUTCOMES } from "../../../domain/recurrence.ts";
import { POINTS, SERIES_COLUMNS_MAX } from "../../../domain/series/figures.ts";
import type { ToApi } from "../../../ports/messages.ts";
import { Count, Id, Instant, nullable, oneOf, type SchemasOf, schemaOf } from "./fields.ts";
import { Reason } from "./reasons.ts";
import { OwnedSchema } from "./to-gateway.ts";
import { WorkerSchema } from "./to-scheduler.ts";

const Live = Type.Object({
  executionId: Id,
  state: oneOf("PENDING", "SCHEDULED", "RUNNING"),
  attempt: Count,
  workerId: nullable(Id),
  startedAt: nullable(Instant),
  cancelRequested: Type.Boolean(),
});

const WorkerExecution = Type.Object({
  executionId: Id,
  attempt: Count,
  handler: nullable(Type.String()),
  state: oneOf("WAITING", "RUNNING", "STUCK"),
  startedAt: nullable(Instant),
});

const Worker = Type.Object({
  ...WorkerSchema,
  state: oneOf("ALIVE", "DISCONNECTED", "DRAINING", "DEAD"),
  running: Count,
  connectedAt: Instant,
  free: Type.Optional(Count),
  stuck: Type.Optional(Count),
  lastHeartbeatAt: Instant,
  loopLagMs: Type.Number(),
  executions: Type.Optional(Type.Array(WorkerExecution)),
  executionsTotal: Type.Optional(Count),
});

const HandlerOffer = Type.Object({
  pool: Id,
  handler: Id,
  workers: Count,
  declared: Type.Array(Type.Object({ isHome: Type.Boolean(), policies: Type.String(), workers: Count })),
});

const outputItem = { executionId: Id, attempt: Count, seq: Type.Number(), at: Instant };
const Progress = Type.Object({
  kind: Type.Literal("PROGRESS"),
  ...outputItem,
  fraction: Type.Number(),
  message: Type.String(),
});
const LogLine = Type.Object({ kind: Type.Literal("LOG"), ...outputItem, level: Type.String(), line: Type.String() });

const LogPart = Type.Object({
  executionId: Id,
  attempt: Count,
  part: Count,
  lines: Type.Array(Type.Object({ at: Instant, level: Type.String(), line: Type.String() })),
  received: Count,
  tenant: Type.Optional(Id),
});

const SchedulerStats = Type.Object({
  ownedShards: Count,
  lateness: Type.Array(Count),
  finished: Type.Array(Type.Object({ state: oneOf(...FINAL_STATES), count: Count })),
  planned: Type.Optional(Type.Array(Type.Object({ outcome: oneOf(...PLANNED_OUTCOMES), count: Count }))),
  oldestReadyAt: Type.Optional(nullable(Instant)),
});

const Values = Type.Array(nullable(Type.Number()), { maxItems: POINTS });
const Series = Type.Object({
  from: Count,
  nodes: Values,
  columns: Type.Array(Type.Object({ name: Id, label: Type.String(), bucket: Type.Optional(Count), values: Values }), {
    maxItems: SERIES_COLUMNS_MAX,
  }),
});

type Is<Kind extends ToApi["kind"]> = Extract<ToApi, { kind: Kind }>;

export const toApi: SchemasOf<ToApi> = {
  OWNER: schemaOf<Is<"OWNER">>()(Type.Object({ kind: Type.Literal("OWNER"), term: Count, shards: OwnedSchema })),
  LIVE: schemaOf<Is<"LIVE">>()(Type.Object({ kind: Type.Literal("LIVE"), request: Id, executions: Type.Array(Live) })),
  FINAL: schemaOf<Is<"FINAL">>()(
    Type.Object({ kind: Type.Literal("FINAL"), executionId: Id, state: oneOf(...EXECUTION_STATES) }),
  ),
  COMMAND_DONE: schemaOf<Is<"COMMAND_DONE">>()(
    Type.Object({
      kind: Type.Literal("COMMAND_DONE"),
      commandId: Id,
      outcome: oneOf(
        ...(["CANCELLED", "REQUESTED", "FINAL", "SIGNALLED", "REPLACED", "KEPT", "DELETED"] as const),
        ...(["PLANNED", "NOT_PLANNED", "BACKFILL_OPEN", "PAUSED", "RESUMED"] as const),
      ),
    }),
  ),
  WORKERS: schemaOf<Is<"WORKERS">>()(
    Type.Object({ kind: Type.Literal("WORKERS"), request: Id, workers: Type.Array(Worker) }),
  ),
  HANDLERS: schemaOf<Is<"HANDLERS">>()(
    Type.Object({
      kind: Type.Literal("HANDLERS"),
      request: Id,
      offers: Type.Array(HandlerOffer),
      isWhole: Type.Boolean(),
    }),
  ),
  TALLY: schemaOf<Is<"TALLY">>()(Type.Object({ kind: Type.Literal("TALLY"), request: Id, tally: SchedulerStats })),
  EXPLAINED: schemaOf<Is<"EXPLAINED">>()(
    Type.Object({ kind: Type.Literal("EXPLAINED"), request: Id, reasons: Type.Array(Reason) }),
  ),
  POOLS_USED: schemaOf<Is<"POOLS_USED">>()(
    Type.Object({
      kind: Type.Literal("POOLS_USED"),
      request: Id,
      pools: Type.Array(Type.Object({ pool: Id, taken: Count, nextStartAt: nullable(Instant) })),
    }),
  ),
  POOLS_APPLIED: schemaOf<Is<"POOLS_APPLIED">>()(
    Type.Object({ kind: Type.Literal("POOLS_APPLIED"), request: Id, shards: OwnedSchema }),
  ),
  PROGRESS: schemaOf<Is<"PROGRESS">>()(
    Type.Object({ kind: Type.Literal("PROGRESS"), request: Id, progress: nullable(Progress) }),
  ),
  LOGS: schemaOf<Is<"LOGS">>()(Type.Object({ kind: Type.Literal("LOGS"), request: Id, part: nullable(LogPart) })),
  CHATTER: schemaOf<Is<"CHATTER">>()(
    Type.Object({ kind: Type.Literal("CHATTER"), items: Type.Array(Type.Union([Progress, LogLine])) }),
  ),
  SERIES: schemaOf<Is<"SERIES">>()(Type.Object({ kind: Type.Literal("SERIES"), request: Id, series: Series })),
  KEYS_CHANGED: schemaOf<Is<"KEYS_CHANGED">>()(Type.Object({ kind: Type.Literal("KEYS_CHANGED") })),
  EVENTS_WRITTEN: schemaOf<Is<"EVENTS_WRITTEN">>()(Type.Object({ kind: Type.Literal("EVENTS_WRITTEN") })),
};
