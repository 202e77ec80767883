/**
 * Events as the values of messages of Kafka have them in Protobuf. Neither workers nor nodes need them, so they are apart from
 * their protocols.
 */
export * from "./gen/mainspring/events/v1/events_pb.js";
