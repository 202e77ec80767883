import { Type } from "typebox";
import type { PermitAnswer, PermitCall } from "../../../ports/messages.ts";
import { Count, Id, Instant, nullable, Shard, schemaOf } from "./fields.ts";

const about = { pool: Id, epoch: Count, life: Count, account: Count };
const owned = { shard: Shard, epoch: Count };

/** Messages between machines and the coordinators of pools. */
export const permitSchemas = {
  PERMIT_CALL: schemaOf<PermitCall>()(
    Type.Object({
      kind: Type.Literal("PERMIT_CALL"),
      ...about,
      opening: nullable(
        Type.Object({
          held: Count,
          shards: Type.Array(Type.Object(owned)),
          departed: Type.Array(Type.Object({ ...owned, count: Count })),
        }),
      ),
      seq: Count,
      returned: Count,
      wanted: Count,
      rank: Type.Number(),
      at: Instant,
    }),
  ),
  PERMITS: schemaOf<PermitAnswer>()(
    Type.Object({
      kind: Type.Literal("PERMITS"),
      ...about,
      isKnown: Type.Boolean(),
      granted: Count,
      giveBack: Type.Boolean(),
      serial: Count,
      starts: Count,
      at: Instant,
      maxRunning: Type.Optional(nullable(Count)),
      taken: Count,
      isComplete: Type.Boolean(),
      nextStartMs: nullable(Type.Number()),
    }),
  ),
};
