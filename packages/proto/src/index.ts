/**
 * The protocols of workers and between nodes as TypeScript: message types, their schemas (for `create`, `toBinary`,
 * `fromBinary` of `@bufbuild/protobuf`), enums, and the services' descriptions.
 */
export * from "./gen/mainspring/mesh/v1/mesh_pb.js";
export * from "./gen/mainspring/worker/v1/worker_pb.js";
export { decodeServerMessage, decodeWorkerMessage, encodeServerMessage, encodeWorkerMessage } from "./hot/codec.ts";
export { contentOf, countFields, type Piece, piecesOf } from "./hot/fields.ts";
export { isSecretWorkerId, workerIdOf } from "./worker-id.ts";

/** Value of `Hello.protocol_version`; a server refuses a worker of a version that it does not know. */
export const PROTOCOL_VERSION = 1;
/** The same of `MeshHello.protocol_version`, between nodes. */
export const MESH_PROTOCOL_VERSION = 1;
