import type { ServerMessage, WorkerMessage } from "@mainspring/proto";

/** Why a connection ended; `code` is gRPC's status where there is one. */
export interface ClosedReason {
  code?: number;
  message: string;
}

export interface LinkEvents {
  message(message: ServerMessage): void;
  /** Called once, as the last event of the connection. */
  closed(reason: ClosedReason): void;
}

/** One connection to a gateway. */
export interface LinkConnection {
  /** Address of the gateway, for people; absent: it has none. */
  readonly peer?: string;
  send(message: WorkerMessage): void;
  /** Sends the queued messages and a goodbye, then closes the connection. */
  close(): void;
  /** Whether too many bytes wait to be sent, so that the session drops optional messages. */
  isCongested?(): boolean;
}

/** Way of a session to reach a gateway: over gRPC, in memory, or in a simulation. */
export interface WorkerLink {
  open(events: LinkEvents): LinkConnection;
}
