import { type Static, Type } from "typebox";
import { TENANT_CHANGE_STATES, TENANT_SOURCE_KINDS, TENANT_STATES } from "./enums.ts";
import { Count, Instant, named, oneOf, orNull } from "./fields.ts";
import {
  BATCH_BODY_BYTES_MAX,
  KEY_POOLS_MAX,
  LINE_CHARS_MAX,
  PAYLOAD_BYTES_MAX,
  TENANT_CHARS_MAX,
  TENANT_COUNT_MAX,
  TENANT_RATE_MAX,
  TENANT_RATE_MIN,
  WORD_CHARS_MAX,
} from "./limits.ts";

const closed = { additionalProperties: false } as const;

export const TenantName = Type.String({
  pattern: "^[a-z0-9-]+$",
  minLength: 1,
  maxLength: TENANT_CHARS_MAX,
  description: "name of the tenant: a-z, 0-9 and -",
  examples: ["acme"],
});

const limit = (minimum: number, maximum: number, description: string) =>
  orNull(Type.Integer({ minimum, maximum }), `${description}; null (default): no limit`);
const rate = (description: string) =>
  orNull(
    Type.Number({ minimum: TENANT_RATE_MIN, maximum: TENANT_RATE_MAX }),
    `${description}; null (default): no limit`,
  );

/** Limits of a tenant over all nodes. null: none. */
const limits = {
  maxRunning: limit(0, TENANT_COUNT_MAX, "attempts that may be at workers at once"),
  maxWaiting: limit(
    0,
    TENANT_COUNT_MAX,
    "executions that may be neither at a worker nor final before a submit is refused",
  ),
  maxRecurring: limit(0, TENANT_COUNT_MAX, "recurring jobs that may exist before another one is refused"),
  submitsPerSec: rate("jobs that it may submit in a second on average"),
  requestsPerSec: rate("requests that it may send in a second on average"),
  maxPayloadBytes: limit(0, PAYLOAD_BYTES_MAX, "bytes of the payload of a job"),
  maxBatchBytes: limit(1, BATCH_BODY_BYTES_MAX, "bytes of the body of a request that submits a batch or a workflow"),
};

const settings = {
  weight: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    description: "share beside other tenants that have work in the same pool; default 100",
  }),
  pools: orNull(
    Type.Array(
      Type.String({
        pattern: "^[A-Za-z0-9_*][A-Za-z0-9_.:/@=+*-]*$",
        maxLength: WORD_CHARS_MAX,
        description: "name of a pool, in which * stands for any characters",
      }),
      { maxItems: KEY_POOLS_MAX },
    ),
    "pools that its jobs may name; null (default): every pool",
  ),
  ...limits,
};

/** Body of POST /v1/tenants. */
export const TenantSubmission = named(
  "TenantSubmission",
  { name: TenantName, ...Type.Partial(Type.Object(settings)).properties },
  closed,
);
export type TenantSubmission = Static<typeof TenantSubmission>;

/** Body of PATCH /v1/tenants/{name}. */
export const TenantPatch = named(
  "TenantPatch",
  {
    state: Type.Optional(
      oneOf(
        TENANT_CHANGE_STATES,
        "SUSPENDED: submits are refused, and nothing new starts; ACTIVE: work goes on",
        "TenantChangeState",
      ),
    ),
    ...Type.Partial(Type.Object(settings)).properties,
  },
  closed,
);
export type TenantPatch = Static<typeof TenantPatch>;

const Source = named("TenantSource", {
  kind: oneOf(
    TENANT_SOURCE_KINDS,
    "ROLE: a database role that submits in SQL; TOPIC: a topic of requests in Kafka",
    "TenantSourceKind",
  ),
  name: Type.String({ minLength: 1, maxLength: LINE_CHARS_MAX, description: "name of the role or topic" }),
});
export const TenantSourceParams = Type.Object({
  name: TenantName,
  kind: Source.properties.kind,
  source: Source.properties.name,
});

export const TenantBody = named("Tenant", {
  name: Type.String(),
  state: oneOf(
    TENANT_STATES,
    "SUSPENDED: submits are refused, and nothing new starts; DELETING: its work is being cancelled, and its keys are revoked",
    "TenantState",
  ),
  ...settings,
  version: Type.Integer({ description: "grows with each change; the ETag" }),
  createdAt: Instant("when it was created"),
  updatedAt: Instant("when it was changed last"),
  sources: Type.Array(Source, { description: "origins of requests without a key that belong to it" }),
});
export type TenantBody = Static<typeof TenantBody>;

export const TenantUsageBody = named("TenantUsage", {
  name: Type.String(),
  waiting: Count("executions that wait for their time"),
  ready: Count("executions that wait for a worker"),
  running: Count("executions whose rows say so: for a second or longer"),
  deadLetters: Count("DEAD, and neither replayed nor discarded"),
  openRuns: orNull(
    Type.Integer({ minimum: 0 }),
    "runs of workflows that have begun and not ended; null: not known yet",
  ),
  countedUpTo: Count("what there is more of is told as this"),
});
export type TenantUsageBody = Static<typeof TenantUsageBody>;
