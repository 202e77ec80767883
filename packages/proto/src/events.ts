/**
 * Events as the values of messages of Kafka have them in Protobuf. Neither workers nor nodes need them, so they are apart from
 * their protocols.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { type JobEvent, JobEventSchema } from "./gen/mainspring/events/v1/events_pb.js";

export * from "./gen/mainspring/events/v1/events_pb.js";

/** Reads the value of a message whose header `content-type` is `application/protobuf`. @throws {Error} it is no JobEvent */
export function readJobEvent(value: Uint8Array): JobEvent {
  return fromBinary(JobEventSchema, value);
}
