import { Type } from "typebox";
import type { ToGateway } from "../../../ports/messages.ts";
import {
  Bytes,
  Count,
  Id,
  Instant,
  oneOf,
  type SchemasOf,
  Shard,
  schemaOf,
  TokenSchema,
  tokenFields,
} from "./fields.ts";

const Demand = Type.Object({ pool: Id, rank: Type.Number(), share: Type.Optional(Type.Number({ minimum: 0 })) });
export const OwnedSchema = Type.Array(Type.Object({ shard: Shard, epoch: Count }));

const Assignment = Type.Object({
  ...tokenFields,
  epoch: Count,
  workerId: Id,
  gateway: Id,
  account: Count,
  credit: Count,
  handler: Id,
  payload: Bytes,
  payloadBytes: Count,
  timeoutMs: Count,
  cancelGraceMs: Count,
  failures: Count,
  maxAttempts: Count,
  scheduledAt: Instant,
  steps: Type.Optional(Bytes),
  maySpawn: Type.Optional(Type.Literal(true)),
  traceparent: Type.Optional(Id),
});

const tokens = { workerId: Id, tokens: Type.Array(TokenSchema) };

type Is<Kind extends ToGateway["kind"]> = Extract<ToGateway, { kind: Kind }>;

export const toGateway: SchemasOf<ToGateway> = {
  OWNER: schemaOf<Is<"OWNER">>()(
    Type.Object({
      kind: Type.Literal("OWNER"),
      term: Count,
      life: Count,
      shards: OwnedSchema,
      demand: Type.Array(Demand),
    }),
  ),
  DEMAND: schemaOf<Is<"DEMAND">>()(
    Type.Object({ kind: Type.Literal("DEMAND"), term: Count, demand: Type.Array(Demand) }),
  ),
  VOID: schemaOf<Is<"VOID">>()(
    Type.Object({ kind: Type.Literal("VOID"), workerId: Id, account: Count, credits: Type.Array(Count) }),
  ),
  WHO: schemaOf<Is<"WHO">>()(
    Type.Object({ kind: Type.Literal("WHO"), workerIds: Type.Array(Id), askedAt: Type.Optional(Instant) }),
  ),
  TAKE_BACK: schemaOf<Is<"TAKE_BACK">>()(Type.Object({ kind: Type.Literal("TAKE_BACK"), ...tokens })),
  ASSIGN: schemaOf<Is<"ASSIGN">>()(Type.Object({ kind: Type.Literal("ASSIGN"), assigns: Type.Array(Assignment) })),
  CANCEL: schemaOf<Is<"CANCEL">>()(
    Type.Object({
      kind: Type.Literal("CANCEL"),
      workerId: Id,
      token: TokenSchema,
      reason: oneOf("REQUESTED", "TIMED_OUT"),
      graceMs: Count,
    }),
  ),
  ACK: schemaOf<Is<"ACK">>()(Type.Object({ kind: Type.Literal("ACK"), ...tokens })),
  STEPPED: schemaOf<Is<"STEPPED">>()(
    Type.Object({
      kind: Type.Literal("STEPPED"),
      workerId: Id,
      steps: Type.Array(Type.Object({ ...tokenFields, number: Count })),
    }),
  ),
  REFUSED: schemaOf<Is<"REFUSED">>()(Type.Object({ kind: Type.Literal("REFUSED"), ...tokens })),
  LIST_WORKERS: schemaOf<Is<"LIST_WORKERS">>()(
    Type.Object({ kind: Type.Literal("LIST_WORKERS"), request: Id, workerId: Type.Optional(Id) }),
  ),
  KEYS_CHANGED: schemaOf<Is<"KEYS_CHANGED">>()(Type.Object({ kind: Type.Literal("KEYS_CHANGED") })),
  LIST_HANDLERS: schemaOf<Is<"LIST_HANDLERS">>()(Type.Object({ kind: Type.Literal("LIST_HANDLERS"), request: Id })),
  DRAIN_WORKER: schemaOf<Is<"DRAIN_WORKER">>()(
    Type.Object({ kind: Type.Literal("DRAIN_WORKER"), request: Id, workerId: Id }),
  ),
  FOLLOW: schemaOf<Is<"FOLLOW">>()(
    Type.Object({
      kind: Type.Literal("FOLLOW"),
      follows: Type.Array(Type.Object({ executionId: Id, after: Type.Number(), tenant: Type.Optional(Id) })),
    }),
  ),
  UNFOLLOW: schemaOf<Is<"UNFOLLOW">>()(Type.Object({ kind: Type.Literal("UNFOLLOW"), executionIds: Type.Array(Id) })),
  ASK_PROGRESS: schemaOf<Is<"ASK_PROGRESS">>()(
    Type.Object({ kind: Type.Literal("ASK_PROGRESS"), request: Id, executionId: Id, tenant: Type.Optional(Id) }),
  ),
  ASK_LOGS: schemaOf<Is<"ASK_LOGS">>()(
    Type.Object({
      kind: Type.Literal("ASK_LOGS"),
      request: Id,
      executionId: Id,
      attempt: Count,
      tenant: Type.Optional(Id),
    }),
  ),
};
