/**
 * The part of the protocol of etcd that servers speak. The SDK does not need it, so it is apart from the protocols of workers
 * and nodes.
 */
export * from "./gen/mainspring/etcd/v1/etcd_pb.js";
