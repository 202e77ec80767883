import type { ErrorCode } from "../errors.ts";
import type { AssignColumns, FinishedColumns } from "./columns.ts";
import type { GrpcTarget } from "./grpc-target.ts";
import type { WorkerProfile } from "./profile.ts";
import type { Orders, Report } from "./work.ts";
import type { WorkerCertificate } from "./worker-certificate.ts";

/** Data with which the thread starts. */
export interface ThreadSettings {
  profile: WorkerProfile;
  /** Gateways of one cluster. */
  targets: readonly GrpcTarget[];
  /** API key; null: none. */
  apiKey: string | null;
  /** Authorities in PEM for targets with TLS; null: those of the system. */
  ca: string | null;
  /** Certificate that the worker shows to targets with TLS; null: none. */
  certificate: WorkerCertificate | null;
  /** Memory shared with the main thread; see stall-guard.ts. */
  cells: Int32Array<SharedArrayBuffer>;
  /** Memory shared with the main thread; see start-board.ts. */
  starts: SharedArrayBuffer;
}

/** Messages from the process's main thread, where handlers run, to the connection's thread. */
export type ToThread =
  | { kind: "REPORT"; finished: FinishedColumns; rest: Omit<Report, "finished"> }
  | { kind: "PONG" }
  /** API key of connections from now on. */
  | { kind: "KEY"; apiKey: string | null }
  | { kind: "DRAIN"; limitMs: number | null };

/** Messages from the connection's thread to the main thread. */
export type FromThread =
  | { kind: "ORDERS"; assigns: AssignColumns; rest: Omit<Orders, "assigns"> }
  /** A question that the main thread answers at once; the time until the answer is the delay of the main event loop. */
  | { kind: "PING" }
  /** `tooOld`: name of the server if it is too old to store steps. */
  | { kind: "WELCOMED"; tooOld: string | null }
  /** The main event loop took `forMs` milliseconds to answer a ping. */
  | { kind: "LATE"; forMs: number }
  /** A server has refused this key. */
  | { kind: "KEY_REFUSED"; apiKey: string | null }
  | { kind: "WARN"; message: string }
  | { kind: "LEFT"; error: { code: ErrorCode; message: string } | null };
