/**
 * The worker protocol as TypeScript: message types, their schemas (for `create`, `toBinary`, `fromBinary` of
 * `@bufbuild/protobuf`), enums, and the service's description.
 */
export * from "./gen/mainspring/worker/v1/worker_pb.js";

/** What `Hello.protocol_version` says; a server refuses a worker of a version that it does not know. */
export const PROTOCOL_VERSION = 1;
