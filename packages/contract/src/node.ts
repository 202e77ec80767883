import { type Static, Type } from "typebox";
import { oneOf } from "./fields.ts";

export const HealthBody = Type.Object({ status: oneOf(["ok"], "the process answers") });

export const ReadinessBody = Type.Object({
  status: oneOf(["ready", "unready"], "whether work should be sent here"),
  checks: Type.Array(
    Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String({ description: "empty if ok" }) }),
  ),
});
export type ReadinessBody = Static<typeof ReadinessBody>;

export const ProblemBody = Type.Object(
  {
    type: Type.String({ description: "stable; tells errors apart; under /problems/" }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.Optional(Type.String({ description: "what happened, and what would be right" })),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String(),
          message: Type.String(),
          position: Type.Optional(Type.Integer({ description: "of the first wrong character of the field, from 1" })),
        }),
      ),
    ),
  },
  { description: "An error (RFC 9457)" },
);
