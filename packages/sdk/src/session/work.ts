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
  /** Records of earlier attempts, and signals; absent: none. */
  recorded?: readonly StepRecord[];
  /** Whether the handler may add nodes to the run of its node; absent: it may not. */
  maySpawn?: true;
  /** Traceparent by W3C for the handler; absent: the handler is in no trace. */
  traceparent?: string;
}

/** Kind of a record that a handler makes: the result of a step, or a checkpoint. */
export type StepKind = "RESULT" | "CHECKPOINT";

/** A record or signal that comes with an assignment. */
export type StepRecord =
  /** Result of a step, or a checkpoint, whose name is empty. `data`: JSON text; empty: undefined. */
  | { kind: StepKind; name: string; data: string }
  /**
   * Wait for which an earlier attempt suspended, until `untilMs` on the monotonic clock. `isOver`: whether that was before
   * the assignment arrived, so that all signals which came in time came with the assignment.
   */
  | { kind: "WAIT"; name: string; untilMs: number; isOver: boolean }
  /** Signal that no step has consumed. `data`: JSON text; empty: none. */
  | { kind: "SIGNAL"; name: string; data: string; signalId: string };

/** Name of a record between worker and server. */
export interface StepRef extends AttemptRef {
  /** Number of the record, from 1, which grows within an attempt. */
  number: number;
}

/** New record of a handler. */
export interface StepReport extends StepRef {
  /** Name of the step; empty: a checkpoint. */
  name: string;
  kind: StepKind;
  /** JSON text; empty: undefined. */
  data: string;
  /** Id of the signal that the step consumes; absent: none. */
  signalId?: string;
}

/** Wait of an attempt that suspends. */
export interface WaitReport {
  /** Name of the step that waits. */
  name: string;
  /** Milliseconds from the end of the attempt until the wait is over. */
  delayMs: number;
  /** Names of signals that end the wait earlier; empty: the step sleeps. */
  signals: readonly string[];
  /** Whether an earlier attempt suspended for the wait. */
  isRecorded: boolean;
}

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

export const OUTCOMES = ["SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED", "RELEASED", "SUSPENDED"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Node that a handler adds to its run. */
export interface SpawnedNodeReport {
  name: string;
  /** JSON text of the node without its name and payload. */
  definition: string;
  /** JSON text; empty: none. */
  payload: string;
}

/** Outcome of an attempt, without its times. */
export interface Ending {
  outcome: Outcome;
  /** Result as JSON text; empty: none. */
  result: string;
  error: ExecutionError | null;
  advice: RetryAdvice | null;
  /** Waits of a SUSPENDED attempt, at least one; absent otherwise. */
  waits?: readonly WaitReport[];
}

export interface FinishedReport extends AttemptRef, Ending {
  /** Branch that the handler of a SUCCEEDED attempt has named; absent: none. */
  branch?: string;
  /** Nodes that the handler of a SUCCEEDED attempt adds to its run; absent: none. */
  spawned?: readonly SpawnedNodeReport[];
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
