import type { ExecutionError } from "./api-types.ts";
import type { Attempt } from "./attempt.ts";
import type { AbortCause } from "./context.ts";
import type { Ending } from "./work.ts";

/** An attempt that a worker runs. */
export interface HookedAttempt {
  executionId: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Name of the task. */
  handler: string;
  /** Failures before this attempt. */
  failures: number;
  /** Failures after which the execution is DEAD. */
  maxAttempts: number;
  startedAt: Date;
}

export interface SucceededAttempt extends HookedAttempt {
  /** Time that the handler took, in milliseconds. */
  durationMs: number;
}

export interface FailedAttempt extends HookedAttempt {
  /**
   * FAILED and TIMED_OUT count as failures. CANCELLED: somebody cancelled the execution. SUPERSEDED: the server has given the execution to
   * another worker. WORKER_LEAVES: the worker stopped before the handler ended.
   */
  outcome: "FAILED" | AbortCause;
  /** Error that the server is told; null: none. */
  error: ExecutionError | null;
  /** Time since the start of the attempt, in milliseconds. */
  durationMs: number;
}

/** Something that keeps handlers from running as they should. */
export type Stall =
  /** An attempt is over, but its handler ignores `ctx.signal`, still runs and keeps its slot. */
  | { reason: "HANDLER_STUCK"; attempt: HookedAttempt }
  /** Handlers blocked the event loop. `forMs`: time for which nothing else ran, in milliseconds, as far as it was measured. */
  | { reason: "LOOP_BLOCKED"; forMs: number }
  /** The whole process stood still for seconds, or had no server: attempts that waited at the worker are handed back. */
  | { reason: "PROCESS_STOPPED" };

/**
 * Functions that a worker calls in its own process, for metrics, traces and error trackers. They get plain data and change nothing: an
 * exception or rejection harms neither the attempt nor the worker, and the first one of each hook is logged. Each call of `onStart` is
 * followed by one call of `onSuccess` or `onFailure` for the same attempt. They run on the loop of the handlers, so they must not block it.
 */
export interface WorkerHooks {
  /** Called right before the handler. */
  onStart?(attempt: HookedAttempt): void | Promise<void>;
  /** Called when the handler has returned; the server acknowledges the result later. */
  onSuccess?(attempt: SucceededAttempt): void | Promise<void>;
  /** Called when an attempt ends in another way, also where its handler still runs. */
  onFailure?(attempt: FailedAttempt): void | Promise<void>;
  /** Called when something stalls: a handler, the event loop or the process. */
  onStalled?(stall: Stall): void | Promise<void>;
}

/** Calls a worker's hooks, and keeps their failures away from it. */
export class Hooks {
  readonly #hooks: WorkerHooks;
  readonly #warn: (message: string) => void;
  readonly #failed = new Set<keyof WorkerHooks>();

  constructor(hooks: WorkerHooks, warn: (message: string) => void) {
    this.#hooks = hooks;
    this.#warn = warn;
  }

  started(attempt: Attempt): void {
    if (this.#hooks.onStart !== undefined) this.#call("onStart", () => this.#hooks.onStart?.(hooked(attempt)));
  }

  /** An attempt that has started ends. */
  ended(attempt: Attempt, { outcome, error }: Ending, nowMs: number): void {
    switch (outcome) {
      case "SUCCEEDED":
        if (this.#hooks.onSuccess === undefined) return;
        return this.#call("onSuccess", () =>
          this.#hooks.onSuccess?.({ ...hooked(attempt), durationMs: durationOf(attempt, nowMs) }),
        );
      case "FAILED":
      case "TIMED_OUT":
      case "CANCELLED":
        return this.#fails(attempt, outcome, error, nowMs);
      // Only an attempt that has not started is handed back.
      case "RELEASED":
    }
  }

  /** The server wants no result of an attempt that has started. */
  dropped(attempt: Attempt, cause: AbortCause, nowMs: number): void {
    this.#fails(attempt, cause, null, nowMs);
  }

  stuck(attempt: Attempt): void {
    this.stalled({ reason: "HANDLER_STUCK", attempt: hooked(attempt) });
  }

  stalled(stall: Stall): void {
    this.#call("onStalled", () => this.#hooks.onStalled?.(stall));
  }

  #fails(attempt: Attempt, outcome: FailedAttempt["outcome"], error: ExecutionError | null, nowMs: number): void {
    if (this.#hooks.onFailure === undefined) return;
    const failed = { ...hooked(attempt), outcome, error, durationMs: durationOf(attempt, nowMs) };
    this.#call("onFailure", () => this.#hooks.onFailure?.(failed));
  }

  #call(hook: keyof WorkerHooks, call: () => unknown): void {
    try {
      const value = call();
      if (value instanceof Promise) value.catch((error: unknown) => this.#told(hook, error));
    } catch (error) {
      this.#told(hook, error);
    }
  }

  #told(hook: keyof WorkerHooks, error: unknown): void {
    if (this.#failed.has(hook)) return;
    this.#failed.add(hook);
    this.#warn(
      `the hook ${hook} failed: ${textOf(error)}. The worker goes on, and does not log further failures of this hook`,
    );
  }
}

function hooked({ assignment, startedAtMs }: Attempt): HookedAttempt {
  const { executionId, attempt, handler, failures, maxAttempts } = assignment;
  return { executionId, attempt, handler, failures, maxAttempts, startedAt: new Date(startedAtMs) };
}

function durationOf({ beganMs }: Attempt, nowMs: number): number {
  return Math.max(0, nowMs - beganMs);
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "it threw something that cannot be described";
  }
}
