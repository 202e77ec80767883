import type { ServerMessage, WorkerMessage } from "@mainspring/proto";
import type { Principal } from "../../ports/authenticator.ts";

/** Why a gateway closes a connection, by the names of gRPC's status codes. */
export type ConnectionRefusal =
  /** The worker violated the protocol, and a retry with the same message would fail again. */
  | "INVALID_ARGUMENT"
  /** The server does not know the worker's protocol version. */
  | "FAILED_PRECONDITION"
  /** The key is missing, or no longer good; a retry with the same key would fail again. */
  | "UNAUTHENTICATED"
  /** The id in the hello belongs to another worker, or the key does not allow the pool. */
  | "PERMISSION_DENIED"
  /** A newer connection of the same worker took over, or the worker was declared lost. */
  | "ABORTED"
  /** The worker reads too slowly, or there are too many connections. */
  | "RESOURCE_EXHAUSTED"
  /** The server is stopping; the worker connects again. */
  | "UNAVAILABLE";

/** A worker's connection as the gateway uses it: over gRPC, or within the process. */
export interface WorkerConnection {
  send(message: ServerMessage): void;
  /** Closes the connection. The gateway sends nothing more, and ignores messages that still arrive. */
  close(code: ConnectionRefusal, detail: string): void;
  /** Whether the worker has so much unread that it gets no more work for now. Absent: never. */
  isCongested?(): boolean;
  /** Whether the worker runs in this process. Absent: it does not. */
  readonly isInner?: boolean;
  /** Caller whose key the worker has shown. Absent: the transport asks for no key. */
  readonly principal?: Principal | null;
}

/** The gateway's side of a connection, which the transport calls. */
export interface ConnectedWorker {
  receive(message: WorkerMessage): void;
  /** Reports the end of the connection, whichever side closed it. Idempotent. */
  closed(): void;
}
