import type { ExecutionError } from "../client/api-types.ts";
import type { RetryAdvice } from "../handlers/retry-errors.ts";

/**
 * Messages between the session, which talks to the server, and the executor, which runs handlers. The messages are
 * batches of plain data with JSON as text, because the two may live in different threads.
 */

/** Fencing token. Between two attempts of one execution, the greater number is the later attempt. */
export interface AttemptRef {
  executionId: string;
  /** From 1. */
  attempt: number;
}

export interface Assignment extends AttemptRef {
  handler: string;
  /** Payload as JSON text; empty: none. */
  payload: string;
  /** Time limit of the attempt from its start, in milliseconds. */
  timeoutMs: number;
  cancelGraceMs: number;
  /** Number of FAILED and TIMED_OUT attempts before this one, and the number after which the execution is DEAD. */
  failures: number;
  maxAttempts: number;
  scheduledAtMs: number;
  /** Records of earlier attempts; absent: none. */
  recorded?: readonly StepRecord[];
}

/** Kind of a record: the result of a step, or a checkpoint. */
export type StepKind = "RESULT" | "CHECKPOINT";

/** Part of a handler's progress that outlives its attempt. */
export interface StepRecord {
  /** Name of the step; empty: a checkpoint. */
  name: string;
  kind: StepKind;
  /** JSON text; empty: undefined. */
  data: string;
}

/** Name of a record between worker and server. */
export interface StepRef extends AttemptRef {
  /** Number of the record, from 1, which grows within an attempt. */
  number: number;
}

export interface StepReport extends StepRef, StepRecord {}

export type CancelCause = "REQUESTED" | "TIMED_OUT";

/** Messages from the session to the executor. */
export interface Orders {
  assigns: readonly Assignment[];
  cancels: readonly (AttemptRef & { cause: CancelCause })[];
  /** Attempts that are no longer current: the executor aborts them and drops their results. */
  forget: readonly AttemptRef[];
  /** Attempts to hand back if they have not started; for those that have, the executor reports the start again. */
  takeBack: readonly AttemptRef[];
  /** Records that the server has stored; absent: none. */
  stepAcks?: readonly StepRef[];
  /** Whether to hand back all attempts that have not started, now and from now on. */
  drain: boolean;
  /** Whether to abort all running attempts, because the worker leaves without them. */
  abandon: boolean;
}

export const NO_ORDERS: Orders = { assigns: [], cancels: [], forget: [], takeBack: [], drain: false, abandon: false };

export interface StartedReport extends AttemptRef {
  startedAtMs: number;
}

export const OUTCOMES = ["SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED", "RELEASED"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Outcome of an attempt, without its times. */
export interface Ending {
  outcome: Outcome;
  /** Result as JSON text; empty: none. */
  result: string;
  error: ExecutionError | null;
  advice: RetryAdvice | null;
}

export interface FinishedReport extends AttemptRef, Ending {
  /** Start of the handler, in milliseconds since 1970; 0: it never started. */
  startedAtMs: number;
  finishedAtMs: number;
  /** Whether the attempt was ended by force and its handler still runs. A later report names it in `ended`. */
  stillRunning: boolean;
}

export interface ProgressReport extends AttemptRef {
  /** Finished part, 0 to 1. */
  fraction: number;
  message: string;
}

export interface LogReport extends AttemptRef {
  atMs: number;
  line: string;
}

/** Message from the executor to the session: all events of one turn of the event loop. */
export interface Report {
  /** Attempts that started and have not finished in the same report; a finished one carries its own start. */
  started: readonly StartedReport[];
  finished: readonly FinishedReport[];
  /**
   * Attempts that were over already, by force or because the server dropped them, and whose handlers have ended now.
   */
  ended: readonly AttemptRef[];
  progress: readonly ProgressReport[];
  logs: readonly LogReport[];
  /** New records of running attempts, and of those that finish in this report; absent: none. */
  steps?: readonly StepReport[];
}
