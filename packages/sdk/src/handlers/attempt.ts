import type { Runtime } from "../runtime.ts";
import type { Assignment, AttemptRef } from "../session/work.ts";
import { AttemptSteps } from "../steps/attempt-steps.ts";
import type { Checkpoint, Steps } from "../steps/step-context.ts";
import type { StepOutbox } from "../steps/step-outbox.ts";
import { branchName } from "./branch.ts";
import { type AbortCause, AttemptAborted } from "./context.ts";
import { handlerSleep } from "./handler-sleep.ts";
import type { MiddlewareContext } from "./middleware.ts";
import { SpawnedNodes, type SpawnNode, type SpawnOptions, spawnedTooLate } from "./spawn.ts";

/**
 * Phase of an attempt at the executor: WAITING for a slot, RUNNING, or OVER for the server. The handler of an attempt
 * that is OVER can still occupy a slot, but its result is dropped.
 */
export type AttemptPhase = "WAITING" | "RUNNING" | "OVER";

/** One attempt at the executor. */
export class Attempt {
  readonly assignment: Assignment;
  phase: AttemptPhase = "WAITING";
  startedAtMs = 0;
  /** Start of the attempt, in milliseconds of the monotonic clock; 0: not started. */
  beganMs = 0;
  /**
   * Next deadline of the attempt, in milliseconds of the monotonic clock: first the time at which the handler is told
   * to stop, then the time at which the executor gives up the attempt.
   */
  dueMs = Number.POSITIVE_INFINITY;
  /** Whether the handler is to stop within its grace time, because of the timeout or a suspension. */
  isStopping = false;
  /** First reason to stop, which later reasons do not replace; null: none. */
  abortCause: AbortCause | null = null;
  /** Branch that the handler has named last; null: none. */
  branch: string | null = null;
  /** Nodes that the handler adds to its run; null: it has added none. */
  spawned: SpawnedNodes | null = null;
  /** Steps, created when the handler first uses them; null: it has not. */
  steps: AttemptSteps | null = null;
  /**
   * Controller of the handler's signal, created when the handler first reads the signal. Most handlers never read it,
   * and a controller costs more than a small job.
   */
  #controller: AbortController | null = null;

  constructor(assignment: Assignment) {
    this.assignment = assignment;
  }

  get ref(): AttemptRef {
    return { executionId: this.assignment.executionId, attempt: this.assignment.attempt };
  }

  /** Fencing token as one text, `<execution id>:<attempt>`. */
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

  stepsFor(parts: ContextParts): AttemptSteps {
    this.steps ??= new AttemptSteps(this, parts, () => parts.suspend(this));
    return this.steps;
  }

  abort(cause: AbortCause): void {
    if (this.abortCause !== null) return;
    this.abortCause = cause;
    this.#controller?.abort(new AttemptAborted(this.fence, cause));
    this.steps?.abort();
  }
}

/** Receiver of a running handler's progress and log lines. */
export interface Listener {
  progress(attempt: Attempt, fraction: number, message: string): void;
  log(attempt: Attempt, line: string): void;
}

/** Parts of an executor that the contexts of all its attempts use. */
export interface ContextParts {
  readonly listener: Listener;
  readonly outbox: StepOutbox;
  readonly runtime: Runtime;
  /** Tells the handler of an attempt to stop, because all that it waits for are steps that wait. */
  suspend(attempt: Attempt): void;
}

/**
 * Context that a handler gets: a view of its attempt that the handler cannot change. Every attempt has one, so it has few
 * fields and no private methods, which cost as much as a field.
 */
export class AttemptContext implements MiddlewareContext {
  readonly #attempt: Attempt;
  readonly #parts: ContextParts;

  constructor(attempt: Attempt, parts: ContextParts) {
    this.#attempt = attempt;
    this.#parts = parts;
  }

  get handler(): string {
    return this.#attempt.assignment.handler;
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
  get traceparent(): string | null {
    return this.#attempt.assignment.traceparent ?? null;
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
  get step(): Steps {
    return this.#attempt.stepsFor(this.#parts).step;
  }
  get checkpoint(): Checkpoint {
    return this.#attempt.stepsFor(this.#parts).checkpoint;
  }

  sleep(delayMs: number): Promise<void> {
    return handlerSleep(this.#parts.runtime, delayMs, this.signal);
  }

  progress(fraction: number, message = ""): void {
    this.#parts.listener.progress(this.#attempt, fraction, message);
  }

  log(line: string): void {
    this.#parts.listener.log(this.#attempt, line);
  }

  branch(name: string): void {
    this.#attempt.branch = branchName(name);
  }

  spawn(nodes: readonly SpawnNode[], options?: SpawnOptions): void {
    if (this.#attempt.phase === "OVER") throw spawnedTooLate();
    this.#attempt.spawned ??= new SpawnedNodes(this.#attempt.assignment.maySpawn === true);
    this.#attempt.spawned.add(nodes, options);
  }
}
