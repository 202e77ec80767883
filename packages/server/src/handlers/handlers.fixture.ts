import { AttemptAborted, type Task, type TaskContext } from "@mainspring/sdk";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import type { Runtime } from "../ports/runtime.ts";

export const NOW_MS = 1_770_000_000_000;

/** A clock that stands, and timers that only fire when the test says so. */
export class HandTimers {
  readonly timers = new Set<{ delayMs: number; run: () => void }>();
  readonly #isSet = new Map<number, PromiseWithResolvers<void>>();
  readonly runtime: Runtime = {
    ...systemRuntime(),
    now: () => NOW_MS,
    setTimer: (delayMs, run) => {
      const timer = { delayMs, run };
      this.timers.add(timer);
      this.#isSet.get(delayMs)?.resolve();
      return { cancel: () => this.timers.delete(timer) };
    },
  };

  /** Resolves when a timer of that length is set. */
  set(delayMs: number): Promise<void> {
    const isSet = Promise.withResolvers<void>();
    this.#isSet.set(delayMs, isSet);
    if ([...this.timers].some((timer) => timer.delayMs === delayMs)) isSet.resolve();
    return isSet.promise;
  }

  /** Fires the one timer of that length. */
  fire(delayMs: number): void {
    for (const timer of this.timers) {
      if (timer.delayMs !== delayMs || !this.timers.delete(timer)) continue;
      timer.run();
      return;
    }
    throw new Error(`no timer of ${delayMs} ms is set`);
  }
}

export const EXECUTION_ID = "0199f3a0-0000-7000-8000-000000000001";

/** Runs a task as the third attempt of an execution. */
export function invoke<P, R>(
  task: Task<P, R>,
  payload: unknown,
  cancelGraceMs = 10_000,
  traceparent: string | null = null,
) {
  const controller = new AbortController();
  const fence = `${EXECUTION_ID}:3`;
  const { signal } = controller;
  const ctx = { executionId: EXECUTION_ID, attempt: 3, fence, signal, cancelGraceMs, traceparent } as TaskContext;
  const result = (async () => task.invoke(payload, ctx))();
  return {
    result,
    abort: (cause: "CANCELLED" | "TIMED_OUT" | "WORKER_LEAVES") => controller.abort(new AttemptAborted(fence, cause)),
  };
}
