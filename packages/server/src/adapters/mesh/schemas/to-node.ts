import { Type } from "typebox";
import type { ToNode } from "../../../ports/bus.ts";
import { Count, Id, type SchemasOf, schemaOf } from "./fields.ts";

export const toNode: SchemasOf<ToNode> = {
  ASK_SERIES: schemaOf<ToNode>()(
    Type.Object({ kind: Type.Literal("ASK_SERIES"), request: Id, from: Count, until: Count }),
  ),
};
