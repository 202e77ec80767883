import type { ExecutionError } from "../client/api-types.ts";
import type { Ending } from "../session/work.ts";
import type { Attempt } from "./attempt.ts";
import type { AbortCause } from "./context.ts";

/** An attempt, as a worker's hooks get it. */
export interface HookedAttempt {
  executionId: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Name of the task. */
  handler: string;
  /** Number of failures before this attempt. */
  failures: number;
  /** Number of failures after which the execution is DEAD. */
  maxAttempts: number;
  /** Trace context by W3C of the attempt, as the handler gets it; null: the handler is in no trace. */
  traceparent: string | null;
  startedAt: Date;
}

export interface SucceededAttempt extends HookedAttempt {
  /** Time that the handler took, in milliseconds. */
  durationMs: number;
}

export interface SuspendedAttempt extends HookedAttempt {
  /** Names of the steps that sleep or wait for a signal. */
  waits: readonly string[];
  /** Time since the start of the attempt, in milliseconds. */
  durationMs: number;
}

export interface FailedAttempt extends HookedAttempt {
  /**
   * Outcome of the attempt. FAILED and TIMED_OUT count as failures. CANCELLED: a user cancelled the execution.
   * SUPERSEDED: the server has given the execution to another worker. WORKER_LEAVES: the worker stopped before the
   * handler ended.
   */
  outcome: "FAILED" | Exclude<AbortCause, "SUSPENDED">;
  /** Error that the worker reports to the server; null: none. */
  error: ExecutionError | null;
  /** Time since the start of the attempt, in milliseconds. */
  durationMs: number;
}

/** A condition that keeps handlers from running normally. */
export type Stall =
  /** An attempt is over, but its handler ignores `ctx.signal`, still runs and keeps its slot. */
  | { reason: "HANDLER_STUCK"; attempt: HookedAttempt }
  /** Handlers blocked the event loop. `forMs`: measured time in which nothing else ran, in milliseconds. */
  | { reason: "LOOP_BLOCKED"; forMs: number }
  /**
   * The whole process stood still for seconds, or had no server: the worker hands back attempts that have not started.
   */
  | { reason: "PROCESS_STOPPED" };

/**
 * Functions that a worker calls in its own process, for metrics, traces and error trackers. Hooks get plain data and
 * change nothing: an exception or rejection of a hook harms neither the attempt nor the worker, and the worker logs the
 * first one of each hook. Each call of `onStart` is followed by one call of `onSuccess`, `onFailure` or `onSuspend` for
 * the same attempt. Hooks run on the event loop of the handlers, so they must not block it.
 */
export interface WorkerHooks {
  /** Called right before the handler. */
  onStart?(attempt: HookedAttempt): void | Promise<void>;
  /** Called when the handler has returned; the server acknowledges the result later. */
  onSuccess?(attempt: SucceededAttempt): void | Promise<void>;
  /** Called when an attempt ends in another way, even if its handler still runs. */
  onFailure?(attempt: FailedAttempt): void | Promise<void>;
  /**
   * Called when an attempt ends because its handler sleeps or waits for signals: the execution runs on as another attempt.
   */
  onSuspend?(attempt: SuspendedAttempt): void | Promise<void>;
  /** Called when a handler, the event loop or the process stalls. */
  onStalled?(stall: Stall): void | Promise<void>;
}

/** Calls a worker's hooks and catches their errors. */
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

  /** Called when an attempt that has started ends. */
  ended(attempt: Attempt, { outcome, error, waits = [] }: Ending, nowMs: number): void {
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
      case "SUSPENDED": {
        if (this.#hooks.onSuspend === undefined) return;
        const told = {
          ...hooked(attempt),
          waits: waits.map(({ name }) => name),
          durationMs: durationOf(attempt, nowMs),
        };
        return this.#call("onSuspend", () => this.#hooks.onSuspend?.(told));
      }
      // A RELEASED attempt has not started, so no hook is called.
      case "RELEASED":
    }
  }

  /** Called when the server no longer wants the result of an attempt that has started. */
  dropped(attempt: Attempt, cause: "SUPERSEDED" | "WORKER_LEAVES", nowMs: number): void {
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
  const { executionId, attempt, handler, failures, maxAttempts, traceparent = null } = assignment;
  return { executionId, attempt, handler, failures, maxAttempts, traceparent, startedAt: new Date(startedAtMs) };
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
