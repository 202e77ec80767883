import type { ExecutionError } from "./api-types.ts";
import type { RetryAdvice } from "./retry-errors.ts";

/**
 * Messages between the session, which talks to the server, and the executor, which runs handlers. Batches, plain
 * data, JSON as text: they may live in different threads.
 */

/** The fencing token. The attempt with the greater number is the later one of an execution's two attempts. */
export interface AttemptRef {
  executionId: string;
  /** From 1. */
  attempt: number;
}

export interface Assignment extends AttemptRef {
  handler: string;
  /** JSON text; empty: none. */
  payload: string;
  /** From its start. */
  timeoutMs: number;
  cancelGraceMs: number;
  /** FAILED and TIMED_OUT attempts before this one, and how many there may be. */
  failures: number;
  maxAttempts: number;
  scheduledAtMs: number;
}

export type CancelCause = "REQUESTED" | "TIMED_OUT";

/** From the session to the executor. */
export interface Orders {
  assigns: readonly Assignment[];
  cancels: readonly (AttemptRef & { cause: CancelCause })[];
  /** Attempts that are no longer current: the executor aborts them and drops their results. */
  forget: readonly AttemptRef[];
  /** Attempts to hand back where they have not started; those that have say again when. */
  takeBack: readonly AttemptRef[];
  /** Hand back what has not started, now and from now on. */
  drain: boolean;
  /** Abort all that runs: the worker leaves without it. */
  abandon: boolean;
}

export const NO_ORDERS: Orders = { assigns: [], cancels: [], forget: [], takeBack: [], drain: false, abandon: false };

export interface StartedReport extends AttemptRef {
  startedAtMs: number;
}

export const OUTCOMES = ["SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED", "RELEASED"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** How an attempt went, before it is known when. */
export interface Ending {
  outcome: Outcome;
  /** JSON text; empty: none. */
  result: string;
  error: ExecutionError | null;
  advice: RetryAdvice | null;
}

export interface FinishedReport extends AttemptRef, Ending {
  /** 0: it never started. */
  startedAtMs: number;
  finishedAtMs: number;
  /** Whether the attempt was ended by force and its handler still runs. A later report names it in `ended`. */
  stillRunning: boolean;
}

export interface ProgressReport extends AttemptRef {
  /** 0 to 1 */
  fraction: number;
  message: string;
}

export interface LogReport extends AttemptRef {
  atMs: number;
  line: string;
}

/** From the executor to the session: all of one turn of the loop. */
export interface Report {
  /** Attempts that started and have not finished in the same report; a finished one carries its own start. */
  started: readonly StartedReport[];
  finished: readonly FinishedReport[];
  /** Attempts that were over already, by force or because nobody wanted them, and whose handlers have ended now. */
  ended: readonly AttemptRef[];
  progress: readonly ProgressReport[];
  logs: readonly LogReport[];
}
