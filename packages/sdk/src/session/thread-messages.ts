import type { AssignColumns, FinishedColumns } from "./columns.ts";
import type { ErrorCode } from "./errors.ts";
import type { GrpcTarget } from "./grpc-target.ts";
import type { WorkerProfile } from "./profile.ts";
import type { Orders, Report } from "./work.ts";

/** Data that the thread is started with. */
export interface ThreadSettings {
  profile: WorkerProfile;
  /** Gateways of one cluster. */
  targets: readonly GrpcTarget[];
  apiKey: string | null;
  /** Shared with the main thread; see stall-guard.ts. */
  cells: Int32Array<SharedArrayBuffer>;
  /** Shared with the main thread; see start-board.ts. */
  starts: SharedArrayBuffer;
}

/** From the process's main thread, where handlers run, to the connection's. */
export type ToThread =
  | { kind: "REPORT"; finished: FinishedColumns; rest: Omit<Report, "finished"> }
  | { kind: "PONG" }
  | { kind: "DRAIN"; limitMs: number | null };

/** From the connection's thread to the main one. */
export type FromThread =
  | { kind: "ORDERS"; assigns: AssignColumns; rest: Omit<Orders, "assigns"> }
  /** To be answered at once: how long that takes is how late the main loop is. */
  | { kind: "PING" }
  | { kind: "WELCOMED" }
  /** The main loop came to a ping so late, in milliseconds. */
  | { kind: "LATE"; forMs: number }
  | { kind: "WARN"; message: string }
  | { kind: "LEFT"; error: { code: ErrorCode; message: string } | null };
