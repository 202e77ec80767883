import { type Static, Type } from "typebox";
import { DISK_CLASSES, NODE_ROLES, STORE_SYSTEMS } from "./enums.ts";
import { Count, named, oneOf } from "./fields.ts";

export const NodeRole = oneOf(NODE_ROLES, "part that a node plays", "NodeRole");

export const HealthBody = named("Health", { status: oneOf(["ok"], "the process answers") });

export const DurabilityBody = named(
  "StatsDurability",
  {
    store: oneOf(STORE_SYSTEMS, "system that keeps the truth"),
    disk: oneOf(
      DISK_CLASSES,
      "ALWAYS: a change is on disk before it is answered; RELAXED: a crash of Redis loses the last ones",
    ),
    replicas: Count("replicas of Redis that must have a change before it is answered; PostgreSQL has its own setting"),
  },
  { description: "durability of accepted jobs, by the settings of this server" },
);

export const ReadinessBody = named("Readiness", {
  status: oneOf(["ready", "unready"], "whether work should be sent here"),
  durability: DurabilityBody,
  checks: Type.Array(
    named("ReadinessCheck", {
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.String({ description: "empty if ok" }),
    }),
  ),
});
export type ReadinessBody = Static<typeof ReadinessBody>;

export const ProblemBody = named(
  "Problem",
  {
    type: Type.String({ description: "stable; tells errors apart; under /problems/" }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.Optional(Type.String({ description: "what happened, and what would be right" })),
    errors: Type.Optional(
      Type.Array(
        named("FieldError", {
          field: Type.String(),
          message: Type.String(),
          position: Type.Optional(Type.Integer({ description: "of the first wrong character of the field, from 1" })),
        }),
      ),
    ),
  },
  { description: "An error (RFC 9457)" },
);

export const ProblemTypeBody = named("ProblemType", {
  type: Type.String({ description: "what a problem says as its `type`" }),
  title: Type.String(),
  status: Type.Integer(),
  help: Type.String({ description: "what to do" }),
});
export const ProblemTypesBody = named("ProblemTypes", { items: Type.Array(ProblemTypeBody) });
