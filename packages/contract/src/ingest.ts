import { type Static, Type } from "typebox";
import { Count, Instant, named } from "./fields.ts";

const closed = { additionalProperties: false } as const;

const PartitionBody = named("IngestPartition", {
  partition: Count("from 0"),
  next: Count("offset of the next record that is taken in"),
  end: Count("offset of the next record that a producer will write"),
  lag: Count("records that are not taken in"),
});

export const IngestBody = named("IngestStatus", {
  mode: Type.String({ description: "MAINSPRING_INGEST of this node: fallback or kafka" }),
  partitions: Type.Array(PartitionBody, { description: "of the topic of requests" }),
});
export type IngestBody = Static<typeof IngestBody>;

export const SeekRequest = named(
  "IngestSeek",
  { to: Instant("records from this time on are read again; those that were taken in are not taken in twice") },
  closed,
);

export const SeekBody = named("IngestSought", {
  partitions: Type.Array(
    named("IngestMove", {
      partition: Count("from 0"),
      from: Count("offset that was next"),
      to: Count("offset that is next now"),
    }),
    { description: "partitions whose position was set back; none: no record that is taken in is as young" },
  ),
});
export type SeekBody = Static<typeof SeekBody>;
