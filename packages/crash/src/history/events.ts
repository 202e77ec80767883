import type { WeatherKind } from "../stage/proxy/weather.ts";

/**
 * Events that clients, workers and the injector of faults write, each into files of its own. `at` is the machine's
 * monotonic clock in milliseconds, the same for all of them.
 */

export type FinalState = "SUCCEEDED" | "CANCELLED" | "DEAD" | "SKIPPED";

/** Outcome that an accepted job must have. */
export interface Expected {
  /** Unless its worker was lost `maxLost` times, or somebody asked for its cancellation. */
  state: FinalState;
  /** FAILED and TIMED_OUT attempts. */
  failures: { least: number; most: number };
  maxAttempts: number;
  maxLost: number;
  concurrency: { key: string; limit: number } | null;
  uniqueKey: string | null;
  /** Least delay between the submit and the start, in milliseconds. */
  delayMs: number;
  /** After so long it is not started any more. */
  expiresMs: number | null;
  payloadSha: string;
}

export type ClientEvent =
  /** Written before the request is sent. `idempotent`: it will be repeated until it is answered. */
  | { event: "INTENDED"; at: number; key: string; kind: string; idempotent: boolean; expected: Expected }
  | { event: "ANSWERED"; at: number; key: string; executionId: string; jobId: string; deduplicated: boolean }
  /** The server said no. */
  | { event: "REFUSED"; at: number; key: string; message: string }
  | { event: "CANCEL_ASKED"; at: number; executionId: string }
  /** CANCELLED: it had not started. REQUESTED: its worker is told. FINAL: too late. */
  | { event: "CANCEL_ANSWERED"; at: number; executionId: string; answer: "CANCELLED" | "REQUESTED" | "FINAL" }
  /** The client read that the execution is final. */
  | { event: "SEEN_FINAL"; at: number; executionId: string; state: string; resultSha: string };

export type WorkerEvent =
  | { event: "STARTED"; at: number; pid: number; executionId: string; attempt: number; key: string }
  /** The signal was aborted: CANCELLED, TIMED_OUT, SUPERSEDED or WORKER_LEAVES. */
  | { event: "ABORTED"; at: number; pid: number; executionId: string; attempt: number; reason: string }
  /** Written before the handler returns or throws. `resultSha`: null where it throws. */
  | { event: "ENDED"; at: number; pid: number; executionId: string; attempt: number; resultSha: string | null };

/**
 * RESTARTED and RETIRED: asked to leave in peace, as in an upgrade. PAUSED: stopped, not for long. ABORTED: as `pg_ctl
 * stop -m immediate` does. DOWN: for a while. FAILED_OVER: killed, and a standby promoted.
 */
export type ProcessFault =
  | `SERVER_${"KILLED" | "PAUSED" | "STOPPED" | "RESTARTED"}`
  | `STORE_${"KILLED" | "ABORTED" | "DOWN" | "FULL" | "FAILED_OVER"}`
  | `WORKER_${"KILLED" | "STOPPED" | "RETIRED"}`
  | "CLIENT_KILLED";

/** Between a node and PostgreSQL, other nodes, workers, clients. */
export const LINKS = ["STORE_LINK", "MESH_LINK", "GATEWAY_LINK", "API_LINK"] as const;
export type LinkName = (typeof LINKS)[number];
export type LinkFault = `${LinkName}_${WeatherKind}`;
export type Fault = ProcessFault | LinkFault;

export type FaultEvent =
  /** Written before it happens. */
  | { event: ProcessFault; at: number; pid: number }
  /** Written when it is over. `pid`: of the node at one end. `hits`: how often it did something to somebody. */
  | { event: LinkFault; at: number; pid: number; hits: number }
  | { event: "SERVER_READY" | "SERVER_CONTINUED" | "STORE_READY" | "WORKER_CONTINUED"; at: number; pid: number }
  /** An api's answer to a submit while the store was down. `status`: null: nothing. */
  | { event: "OUTAGE_TOLD"; at: number; pid: number; status: number | null; retryAfter: string | null; tookMs: number };
