import type { ServerMessage, WorkerMessage } from "@mainspring/proto";

/** Why a gateway ends a connection; the names are gRPC's. */
export type ConnectionRefusal =
  /** The worker said something that the protocol does not allow; trying again the same way is pointless. */
  | "INVALID_ARGUMENT"
  /** The worker's protocol version is not known here. */
  | "FAILED_PRECONDITION"
  /** The worker's id is that of another worker. */
  | "PERMISSION_DENIED"
  /** Another connection of the same worker took over, or it was declared lost. */
  | "ABORTED"
  /** It reads too slowly, or there are too many workers. */
  | "RESOURCE_EXHAUSTED"
  /** The server is stopping: come back. */
  | "UNAVAILABLE";

/** A worker's connection as its gateway sees it: over gRPC, or within the process. */
export interface WorkerConnection {
  send(message: ServerMessage): void;
  /** Ends it. Nothing is sent after it, and what still arrives is not listened to. */
  close(code: ConnectionRefusal, detail: string): void;
  /** More waits to be read by the worker than should: it gets no more work for now. Absent: never. */
  isCongested?(): boolean;
  /** Whether the worker lives in this process. Absent: it does not. */
  readonly isInner?: boolean;
}

/** The gateway as a connection's carrier sees it. */
export interface ConnectedWorker {
  receive(message: WorkerMessage): void;
  /** The connection is gone, whoever ended it. Idempotent. */
  closed(): void;
}
