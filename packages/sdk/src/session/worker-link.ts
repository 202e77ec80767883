import type { ServerMessage, WorkerMessage } from "@mainspring/proto";

/** Why a connection ended; `code` is gRPC's status where there is one. */
export interface ClosedReason {
  code?: number;
  message: string;
}

export interface LinkEvents {
  message(message: ServerMessage): void;
  /** Nothing comes after it. */
  closed(reason: ClosedReason): void;
}

/** One connection to a gateway. */
export interface LinkConnection {
  /** Address of the gateway, for people; left out: it has none. */
  readonly peer?: string;
  send(message: WorkerMessage): void;
  /** Sends what was given to `send` and says goodbye. */
  close(): void;
  /** Whether more is waiting to be sent than should; what is merely nice to have is better left out then. */
  isCongested?(): boolean;
}

/** How a session reaches a gateway: over gRPC, in memory, in a simulation. */
export interface WorkerLink {
  open(events: LinkEvents): LinkConnection;
}
