import { type Static, Type } from "typebox";
import { Count, Id, oneOf, type SchemasOf, schemaOf } from "./fields.ts";

/** Largest number of routes that a node announces. */
const ROUTES_MAX = 128;

const Reading = Type.Object({
  kind: Type.Literal("READING"),
  cluster: Id,
  signedWith: oneOf("SECRET", "API_KEY", "NOTHING"),
  isOpen: Type.Boolean(),
  routes: Type.Array(Type.Object({ topic: Id, partition: Count }), { maxItems: ROUTES_MAX }),
});

/**
 * A node reads messages for itself from these partitions of the Kafka cluster with this id. Repeated each second. `isOpen`: whether
 * it can read now. `signedWith`: credential that the messages must be signed with.
 */
export type BusReading = Static<typeof Reading>;

export const toBus: SchemasOf<BusReading> = { READING: schemaOf<BusReading>()(Reading) };
