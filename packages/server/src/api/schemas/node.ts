import { type Static, Type } from "typebox";
import { Count, Instant, oneOf } from "./fields.ts";

export const WorkerBody = Type.Object({
  workerId: Type.String(),
  name: Type.String(),
  pool: Type.String(),
  handlers: Type.Array(Type.String()),
  capabilities: Type.Array(Type.String()),
  slots: Count("how many attempts it runs at once"),
  prefetch: Count("how many more may wait at it"),
  state: oneOf(["ALIVE", "DISCONNECTED", "DRAINING", "DEAD"], "as its gateway sees it"),
  running: Count("attempts it runs now"),
  connectedAt: Instant("when it connected"),
  lastHeartbeatAt: Instant("when it was last heard of"),
  loopLagMs: Count("how late the loop that runs its handlers was"),
});
export type WorkerBody = Static<typeof WorkerBody>;

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
