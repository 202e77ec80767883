import { type Static, Type } from "typebox";
import { API_KEY_KINDS, API_KEY_STATES, SCOPES } from "./enums.ts";
import { described, Instant, InstantOrNull, Line, named, oneOf, orNull, StringOrNull, Uuid } from "./fields.ts";
import {
  KEY_OVERLAP_SEC_DEFAULT,
  KEY_OVERLAP_SEC_MAX,
  KEY_POOLS_MAX,
  SESSION_KEY_CHARS_MAX,
  WORD_CHARS_MAX,
} from "./limits.ts";
import { TenantName } from "./tenant.ts";

const closed = { additionalProperties: false } as const;

const Kind = oneOf(
  API_KEY_KINDS,
  "CLIENT submits and changes jobs, WORKER runs them, READER reads, TENANT_ADMIN does what CLIENT does and manages keys, OPERATOR does everything, METRICS reads GET /metrics",
  "ApiKeyKind",
);
const ScopeName = oneOf(
  SCOPES,
  "right of a key; /openapi.json has the one that each operation needs as x-scope",
  "Scope",
);
const PoolGlob = Type.String({
  pattern: "^[A-Za-z0-9_*][A-Za-z0-9_.:/@=+*-]*$",
  maxLength: WORD_CHARS_MAX,
  description: "name of a pool, in which * stands for any characters",
  examples: ["gpu-*"],
});

/** Body of POST /v1/api-keys. */
export const ApiKeySubmission = named(
  "ApiKeySubmission",
  {
    kind: Kind,
    name: Line("for people, such as the program that has the key"),
    scopes: Type.Optional(
      Type.Array(ScopeName, {
        minItems: 1,
        maxItems: SCOPES.length,
        uniqueItems: true,
        description: "fewer scopes than those of the kind; left out: all of them",
      }),
    ),
    pools: Type.Optional(
      Type.Array(PoolGlob, {
        minItems: 1,
        maxItems: KEY_POOLS_MAX,
        description: "pools that workers with the key may serve; left out: every pool. Only for keys with worker:serve",
      }),
    ),
    expiresAt: Type.Optional(Instant("the key is good until then; left out: it does not expire")),
    requireCert: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "whether a worker with the key must show a certificate with the alternative name URI:mainspring://CLUSTER/worker/KEY_ID. Only for keys of the kind WORKER",
      }),
    ),
    tenant: Type.Optional(
      described(TenantName, "whose key it is; only operators may say so. Left out: the caller's tenant"),
    ),
  },
  closed,
);
export type ApiKeySubmission = Static<typeof ApiKeySubmission>;

const keyFields = {
  keyId: Uuid("the key"),
  kind: Kind,
  tenant: StringOrNull("null: the key is one of operators"),
  name: Type.String(),
  hint: Type.String({ description: "beginning and end of the key", examples: ["msw_…x7Qa"] }),
  scopes: Type.Array(ScopeName),
  pools: orNull(Type.Array(Type.String()), "pools that workers with the key may serve; null: the key serves none"),
  certificateId: orNull(
    Uuid("a key"),
    "key id in the name mainspring://CLUSTER/worker/KEY_ID that the certificate of a worker must have: that of the key, or of the key that it replaces; null: workers need no certificate",
  ),
  state: oneOf(API_KEY_STATES, "only an ACTIVE key is good", "ApiKeyState"),
  createdAt: Instant("when it was created"),
  createdBy: Type.String({ description: "keyId of the caller that created it" }),
  expiresAt: InstantOrNull("null: it does not expire"),
  revokedAt: InstantOrNull("null: it is not revoked"),
  lastUsedAt: InstantOrNull("to the minute, and known a minute later; null: it was not used yet"),
  replaces: orNull(Uuid("a key"), "key whose rotation created this one; null: none"),
};

export const ApiKeyBody = named("ApiKey", keyFields);
export type ApiKeyBody = Static<typeof ApiKeyBody>;

export const CreatedApiKeyBody = named("CreatedApiKey", {
  ...keyFields,
  key: Type.String({ description: "the key itself, which no other answer has" }),
});
export type CreatedApiKeyBody = Static<typeof CreatedApiKeyBody>;

/** Body of POST /v1/api-keys/{keyId}/rotate. */
export const ApiKeyRotation = named(
  "ApiKeyRotation",
  {
    overlapSec: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: KEY_OVERLAP_SEC_MAX,
        default: KEY_OVERLAP_SEC_DEFAULT,
        description: "seconds for which the former key is good, too",
      }),
    ),
  },
  closed,
);
export type ApiKeyRotation = Static<typeof ApiKeyRotation>;

export const MeBody = named("Me", {
  keyId: Type.String({
    description:
      "id of the key; oidc: and the subject of a token; environment or environment-also: a key of the server's settings; loopback: the server asks for no key",
  }),
  kind: Kind,
  tenant: Type.String({ description: "whose jobs the key reaches" }),
  scopes: Type.Array(ScopeName),
  pools: orNull(Type.Array(Type.String()), "pools that workers with the key may serve; null: the key serves none"),
});
export type MeBody = Static<typeof MeBody>;

/** Body of POST /v1/session. */
export const SessionRequest = named(
  "SessionRequest",
  {
    key: Type.String({
      pattern: "^[\\x21-\\x7e]+$",
      maxLength: SESSION_KEY_CHARS_MAX,
      description: "an API key, or a token of the issuer",
    }),
  },
  closed,
);
export type SessionRequest = Static<typeof SessionRequest>;
