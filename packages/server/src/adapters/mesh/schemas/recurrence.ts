import { Type } from "typebox";
import { MISFIRES, OVERLAPS } from "../../../domain/recurrence.ts";
import { Count, Instant, nullable, oneOf } from "./fields.ts";

/** Schedule of a recurring job, as in its definition. */
export const Recurrence = Type.Object({
  times: Type.Union([
    Type.Object({
      type: Type.Literal("CRON"),
      cron: Type.String(),
      timezone: Type.String(),
      dst: Type.Object({ gap: oneOf("SHIFT", "SKIP"), fold: oneOf("FIRST", "LAST", "BOTH") }),
    }),
    Type.Object({ type: Type.Literal("INTERVAL"), everyMs: Count, mode: oneOf("FIXED_RATE", "FIXED_DELAY") }),
  ]),
  startAt: nullable(Instant),
  endAt: nullable(Instant),
  maxFires: nullable(Count),
  spreadSec: Type.Number(),
  overlap: oneOf(...OVERLAPS),
  misfire: oneOf(...MISFIRES),
  misfireGraceMs: Count,
  maxCatchUp: Count,
  startWithinMs: nullable(Count),
  startsWorkflow: Type.Optional(Type.Literal(true)),
});

/** Command for a plan. */
export const Order = Type.Union([
  Type.Object({ kind: Type.Literal("LOOK") }),
  Type.Object({ kind: Type.Literal("PAUSE"), at: Instant }),
  Type.Object({ kind: Type.Literal("RESUME"), at: Instant, catchUp: Type.Boolean() }),
  Type.Object({ kind: Type.Literal("BACKFILL"), since: Instant, until: Instant, limit: Count }),
]);
