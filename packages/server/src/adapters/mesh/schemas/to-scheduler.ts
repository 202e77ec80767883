import { FINAL_STATES } from "@mainspring/contract/enums";
import { NODE_NAME_PATTERN, STEP_NAME_MAX_CHARS, WAIT_SIGNALS_MAX } from "@mainspring/contract/limits";
import { Type } from "typebox";
import { RUN_NODE } from "../../../domain/execution.ts";
import { TOLD_SHARES_MAX } from "../../../domain/tenant.ts";
import type { ToScheduler } from "../../../ports/messages.ts";
import {
  Bytes,
  Count,
  Id,
  Instant,
  nullable,
  oneOf,
  type SchemasOf,
  Shard,
  schemaOf,
  TokenSchema,
  tokenFields,
} from "./fields.ts";
import { permitSchemas } from "./permits.ts";
import { Order, Recurrence } from "./recurrence.ts";

const Policy = Type.Object({
  retry: Type.Object({
    maxAttempts: Count,
    backoff: oneOf("FIXED", "EXPONENTIAL"),
    initialDelayMs: Count,
    maxDelayMs: Count,
    jitter: Type.Boolean(),
  }),
  timeoutMs: Count,
  maxLifetimeMs: Type.Optional(Count),
  cancelGraceMs: Count,
  maxLost: Count,
  onWorkerLost: oneOf("RETRY", "DEAD"),
  startBefore: nullable(Instant),
  onFinish: Type.Optional(Type.Object({ url: Type.String() })),
  traceparent: Type.Optional(Id),
});

const Row = Type.Object({
  id: Id,
  jobId: Id,
  shard: Shard,
  tenant: Id,
  pool: Id,
  handler: Id,
  requires: Type.Array(Type.String()),
  concurrencyKey: nullable(Type.String()),
  concurrencyLimit: Count,
  hasUniqueKey: Type.Boolean(),
  priority: Count,
  rank: Type.Number(),
  dueAt: Instant,
  scheduledAt: Instant,
  policy: Policy,
  jobVersion: Count,
  payloadBytes: Count,
  state: oneOf("PENDING", "RUNNING"),
  queue: oneOf("NONE", "WAITING", "READY", "HELD", "OPEN", "PARKED"),
  attempt: Count,
  failures: Count,
  lost: Count,
  startedAt: nullable(Instant),
  steps: Type.Optional(oneOf("RECORDED", "SLEEPING", "AWAITING")),
  node: Type.Optional(Type.Integer({ minimum: RUN_NODE })),
  item: Type.Optional(Count),
});

export const WorkerSchema = {
  workerId: Id,
  name: Type.String(),
  pool: Id,
  handlers: Type.Array(Type.String()),
  capabilities: Type.Array(Type.String()),
  slots: Count,
  prefetch: Count,
  autoPrefetch: Type.Optional(Type.Boolean()),
};

const Credit = Type.Object({
  workerId: Id,
  account: Count,
  granted: Count,
  highest: Count,
  missing: Type.Array(Count),
  free: Type.Optional(Count),
  stuck: Type.Optional(Count),
  ahead: Type.Optional(Count),
});

const Wait = Type.Object({
  name: Type.String({ maxLength: STEP_NAME_MAX_CHARS }),
  delayMs: Count,
  signals: Type.Array(Type.String(), { maxItems: WAIT_SIGNALS_MAX }),
  isRecorded: Type.Boolean(),
});

const Spawned = Type.Object({
  graph: Count,
  definitions: Count,
  payloads: Type.Array(Type.Object({ node: Count, payload: Count })),
});

const Result = Type.Object({
  ...tokenFields,
  workerId: Id,
  state: oneOf("SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED", "RELEASED", "SUSPENDED"),
  startedAt: nullable(Instant),
  finishedAt: Instant,
  result: Bytes,
  error: nullable(Type.Object({ name: Type.String(), message: Type.String(), stack: Type.Optional(Type.String()) })),
  advice: nullable(
    Type.Union([Type.Object({ kind: Type.Literal("NEVER") }), Type.Object({ kind: Type.Literal("AT"), at: Instant })]),
  ),
  waits: Type.Optional(Type.Array(Wait)),
  branch: Type.Optional(Type.String({ pattern: NODE_NAME_PATTERN })),
  spawn: Type.Optional(Spawned),
});

const ReportedStep = Type.Object({
  ...tokenFields,
  workerId: Id,
  number: Count,
  name: Type.String({ maxLength: STEP_NAME_MAX_CHARS }),
  step: oneOf("RESULT", "CHECKPOINT"),
  data: Bytes,
  signalId: Type.Optional(Id),
});

const command = { id: Id, shard: Shard };
const ofJob = { ...command, jobId: Id, executionIds: Type.Array(Id) };
const Definition = Type.Object({
  name: nullable(Type.String()),
  pool: Id,
  handler: Id,
  requires: Type.Array(Type.String()),
  priority: Count,
  scheduledAt: Instant,
  recurrence: nullable(Recurrence),
  policy: Policy,
  concurrencyKey: nullable(Type.String()),
  concurrencyLimit: Count,
  uniqueKey: nullable(Type.String()),
  labels: Type.Record(Type.String(), Type.String()),
});
const OfNode = Type.Object({
  run: Id,
  node: Count,
  item: Type.Optional(Count),
  isKeyed: Type.Optional(Type.Literal(true)),
});
const Command = Type.Union([
  Type.Object({
    ...{ ...command, kind: Type.Literal("CANCEL"), executionId: Id },
    reason: Type.Optional(Type.String()),
  }),
  Type.Object({
    ...{ ...command, kind: Type.Literal("SIGNAL"), executionId: Id },
    ofNode: Type.Optional(OfNode),
  }),
  Type.Object({
    ...{ ...command, kind: Type.Literal("NODE_ENDED"), executionId: Id, ofNode: OfNode },
    ...{ state: oneOf(...FINAL_STATES), branch: nullable(Type.String()) },
  }),
  Type.Object({ ...command, kind: oneOf("PAUSE_RUN", "RESUME_RUN"), executionId: Id }),
  Type.Object({ ...ofJob, kind: Type.Literal("REPLACE"), version: Count, definition: Definition, payloadBytes: Count }),
  Type.Object({ ...ofJob, kind: Type.Literal("DELETE") }),
  Type.Object({ ...command, kind: Type.Literal("PLAN"), jobId: Id, order: Order }),
]);
const watch = { executionId: Id, shard: Shard };

type Is<Kind extends ToScheduler["kind"]> = Extract<ToScheduler, { kind: Kind }>;

export const toScheduler: SchemasOf<ToScheduler> = {
  HINT: schemaOf<Is<"HINT">>()(
    Type.Object({ kind: Type.Literal("HINT"), rows: Type.Array(Type.Object({ row: Row, payload: Bytes })) }),
  ),
  COMMAND: schemaOf<Is<"COMMAND">>()(Type.Object({ kind: Type.Literal("COMMAND"), command: Command })),
  PLANNED: schemaOf<Is<"PLANNED">>()(Type.Object({ kind: Type.Literal("PLANNED"), shard: Shard, jobId: Id })),
  ASK: schemaOf<Is<"ASK">>()(Type.Object({ kind: Type.Literal("ASK"), request: Id, executionIds: Type.Array(Id) })),
  ASK_TALLY: schemaOf<Is<"ASK_TALLY">>()(Type.Object({ kind: Type.Literal("ASK_TALLY"), request: Id })),
  EXPLAIN: schemaOf<Is<"EXPLAIN">>()(Type.Object({ kind: Type.Literal("EXPLAIN"), request: Id, row: Row })),
  WATCH: schemaOf<Is<"WATCH">>()(Type.Object({ kind: Type.Literal("WATCH"), ...watch })),
  UNWATCH: schemaOf<Is<"UNWATCH">>()(Type.Object({ kind: Type.Literal("UNWATCH"), ...watch })),
  ASK_POOLS: schemaOf<Is<"ASK_POOLS">>()(Type.Object({ kind: Type.Literal("ASK_POOLS"), request: Id })),
  APPLY_POOLS: schemaOf<Is<"APPLY_POOLS">>()(Type.Object({ kind: Type.Literal("APPLY_POOLS"), request: Id })),
  SHARES: schemaOf<Is<"SHARES">>()(
    Type.Object({
      kind: Type.Literal("SHARES"),
      shares: Type.Array(Type.Object({ pool: Id, tenant: Id, attempts: Count }), { maxItems: TOLD_SHARES_MAX }),
    }),
  ),
  ...permitSchemas,
  WORKER_UP: schemaOf<Is<"WORKER_UP">>()(
    Type.Object({
      kind: Type.Literal("WORKER_UP"),
      term: Count,
      worker: Type.Object(WorkerSchema),
      connection: Count,
      account: Count,
      holds: Type.Array(Type.Object({ ...tokenFields, startedAt: nullable(Instant) })),
      isAnswer: Type.Optional(Type.Boolean()),
    }),
  ),
  ABSENT: schemaOf<Is<"ABSENT">>()(
    Type.Object({ kind: Type.Literal("ABSENT"), askedAt: Instant, workerIds: Type.Array(Id) }),
  ),
  WORKER_LOST: schemaOf<Is<"WORKER_LOST">>()(
    Type.Object({ kind: Type.Literal("WORKER_LOST"), workerId: Id, connection: Count, reason: Type.String() }),
  ),
  WORKER_DRAINING: schemaOf<Is<"WORKER_DRAINING">>()(
    Type.Object({ kind: Type.Literal("WORKER_DRAINING"), workerId: Id }),
  ),
  CREDITS: schemaOf<Is<"CREDITS">>()(
    Type.Object({ kind: Type.Literal("CREDITS"), term: Count, roll: Type.Boolean(), credits: Type.Array(Credit) }),
  ),
  RECALL: schemaOf<Is<"RECALL">>()(
    Type.Object({
      kind: Type.Literal("RECALL"),
      term: Count,
      workers: Type.Array(Type.Object({ workerId: Id, account: Count })),
    }),
  ),
  STARTED: schemaOf<Is<"STARTED">>()(
    Type.Object({
      kind: Type.Literal("STARTED"),
      tokens: Type.Array(Type.Object({ ...TokenSchema.properties, workerId: Id, startedAt: Instant })),
    }),
  ),
  FINISHED: schemaOf<Is<"FINISHED">>()(Type.Object({ kind: Type.Literal("FINISHED"), results: Type.Array(Result) })),
  STEPS: schemaOf<Is<"STEPS">>()(Type.Object({ kind: Type.Literal("STEPS"), steps: Type.Array(ReportedStep) })),
};
