import { type Static, Type } from "typebox";
import { AUDIT_ACTOR_KINDS, AUDIT_OUTCOMES } from "./enums.ts";
import { Instant, named, oneOf, StringOrNull, Uuid } from "./fields.ts";
import { pageQuery } from "./listing.ts";

const Hash = (description: string) => Type.String({ pattern: "^[0-9a-f]{64}$", description });

const AuditActor = named("AuditActor", {
  kind: oneOf(
    AUDIT_ACTOR_KINDS,
    "kind of the key; SYSTEM: a server, or a program that works on the store; UNKNOWN: nobody who is known",
    "AuditActorKind",
  ),
  keyId: StringOrNull("id of the API key; null: none"),
  for: StringOrNull("tenant for which an operator acted; null: its own"),
});

export const AuditRecordBody = named("AuditRecord", {
  chain: Uuid("the chain: each life of a server has one"),
  seq: Type.Integer({ minimum: 1, description: "place in the chain, from 1 on, without gaps" }),
  at: Instant("when, by the clock of the store"),
  tenant: Type.String(),
  actor: AuditActor,
  action: Type.String({ description: "operation of this document, or an action of the server", examples: ["putPool"] }),
  target: StringOrNull("id or name of the object; null: none"),
  outcome: oneOf(
    AUDIT_OUTCOMES,
    "VOID: the transaction of the record in this place failed, so what it would have recorded did not happen",
    "AuditOutcome",
  ),
  requestId: StringOrNull("null: no request"),
  address: StringOrNull("address of the caller; null: none, or it is that of an operator, which only operators see"),
  detail: Type.Record(Type.String(), Type.Unknown(), {
    description: "further facts: names of changed fields, counts and ids, but no payloads",
  }),
  prev: Hash("hash of the record before; zeros: it is the first one of the chain"),
  hash: Hash("SHA-256 of prev and the canonical JSON of all other fields, with the time in milliseconds since 1970"),
});
export type AuditRecordBody = Static<typeof AuditRecordBody>;

const ChainHead = named("AuditChainHead", { chain: Uuid("a chain"), seq: Type.Integer(), hash: Hash("its hash") });

export const AuditAnchorBody = named("AuditAnchor", {
  number: Type.Integer({ minimum: 1 }),
  at: Instant("when, by the clock of the store"),
  heads: Type.Array(ChainHead, { description: "last records of the chains that moved since the anchor before" }),
  floors: Type.Array(ChainHead, { description: "last records that retention removed with this anchor" }),
  prev: Hash("hash of the anchor before; zeros: it is the first one"),
  hash: Hash("SHA-256 of prev and the canonical JSON of number, time in milliseconds since 1970, heads and floors"),
  signature: StringOrNull("Ed25519 signature of the digits of hash, in base64; null: the server has no key"),
});
export type AuditAnchorBody = Static<typeof AuditAnchorBody>;

const closed = { additionalProperties: false } as const;
const Name = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }));

export const AuditQuery = Type.Object(
  {
    actor: Name("id of an API key"),
    action: Name("an operation, as putPool"),
    target: Name("id or name of an object"),
    since: Type.Optional(Instant("records of this time or later")),
    ...pageQuery,
  },
  closed,
);
export const AuditRecordsQuery = Type.Object(
  { since: Type.Optional(Instant("records of this time or later")), ...pageQuery },
  closed,
);
export const AuditAnchorsQuery = Type.Object(pageQuery, closed);
