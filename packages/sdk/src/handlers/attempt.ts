import { type AbortCause, AttemptAborted, type TaskContext } from "./context.ts";
import { handlerSleep } from "./handler-sleep.ts";
import type { Runtime } from "./runtime.ts";
import type { Assignment, AttemptRef } from "./work.ts";

/** WAITING for a slot, RUNNING, or OVER for the server: its handler may still occupy a slot, but nobody hears it. */
export type AttemptPhase = "WAITING" | "RUNNING" | "OVER";

/** One attempt at the executor. */
export class Attempt {
  readonly assignment: Assignment;
  phase: AttemptPhase = "WAITING";
  startedAtMs = 0;
  /** Start on the monotonic clock, in milliseconds. */
  beganMs = 0;
  /** On the monotonic clock: when it is to be told to stop and, once `abort` is set by that, when it is given up. */
  dueMs = Number.POSITIVE_INFINITY;
  isPastTimeout = false;
  /** The first reason to stop; it stays. */
  abortCause: AbortCause | null = null;
  /** Made when the handler asks for the signal: most never do, and a controller costs more than a small job. */
  #controller: AbortController | null = null;

  constructor(assignment: Assignment) {
    this.assignment = assignment;
  }

  get ref(): AttemptRef {
    return { executionId: this.assignment.executionId, attempt: this.assignment.attempt };
  }

  /** The fencing token as one text. */
  get fence(): string {
    return `${this.assignment.executionId}:${this.assignment.attempt}`;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.abortCause !== null) this.#controller.abort(new AttemptAborted(this.fence, this.abortCause));
    }
    return this.#controller.signal;
  }

  abort(cause: AbortCause): void {
    if (this.abortCause !== null) return;
    this.abortCause = cause;
    this.#controller?.abort(new AttemptAborted(this.fence, cause));
  }
}

/** Hears what a handler says while it runs. */
export interface Listener {
  progress(attempt: Attempt, fraction: number, message: string): void;
  log(attempt: Attempt, line: string): void;
}

/** The context that a handler gets: a view of its attempt that it cannot meddle with. */
export class AttemptContext implements TaskContext {
  readonly #attempt: Attempt;
  readonly #listener: Listener;
  readonly #runtime: Runtime;

  constructor(attempt: Attempt, listener: Listener, runtime: Runtime) {
    this.#attempt = attempt;
    this.#listener = listener;
    this.#runtime = runtime;
  }

  get executionId(): string {
    return this.#attempt.assignment.executionId;
  }
  get attempt(): number {
    return this.#attempt.assignment.attempt;
  }
  get failures(): number {
    return this.#attempt.assignment.failures;
  }
  get maxAttempts(): number {
    return this.#attempt.assignment.maxAttempts;
  }
  get fence(): string {
    return this.#attempt.fence;
  }
  get scheduledAt(): Date {
    return new Date(this.#attempt.assignment.scheduledAtMs);
  }
  get deadline(): Date {
    return new Date(this.#attempt.startedAtMs + this.#attempt.assignment.timeoutMs);
  }
  get cancelGraceMs(): number {
    return this.#attempt.assignment.cancelGraceMs;
  }
  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  sleep(delayMs: number): Promise<void> {
    return handlerSleep(this.#runtime, delayMs, this.signal);
  }

  progress(fraction: number, message = ""): void {
    this.#listener.progress(this.#attempt, fraction, message);
  }

  log(line: string): void {
    this.#listener.log(this.#attempt, line);
  }
}
