/** Jobs as other programs write them into Kafka in Protobuf, apart from the protocols of workers and nodes. */
export * from "./gen/mainspring/requests/v1/requests_pb.js";
