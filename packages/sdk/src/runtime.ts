/**
 * Time, timers, randomness and ids. Only `system-runtime.ts` asks the platform for these, so that a session and an
 * executor also run on a simulated clock. The server's Runtime has the same shape.
 */
export interface Runtime {
  /** Wall clock, in whole milliseconds since 1970. */
  now(): number;
  /** Monotonic clock for durations, in milliseconds, which never steps. */
  monotonicMs(): number;
  /** Calls `run` once, after at least `delayMs` milliseconds. Platforms may cut off delays above 24 days. */
  setTimer(delayMs: number, run: () => void): Timer;
  /** Random number, evenly spread in [0, 1). */
  random(): number;
  /** A new UUID. */
  uuid(): string;
  /** Calls `run` once, at the end of this turn of the event loop. Default: a timer of 0 ms. */
  defer?(run: () => void): void;
}

export interface Timer {
  /** Cancels the timer, which then never runs. Repeated calls do nothing. */
  cancel(): void;
}

/** Calls `run` at the end of this turn of the event loop, so that all events of the turn go out as one batch. */
export function defer(runtime: Runtime, run: () => void): void {
  if (runtime.defer === undefined) runtime.setTimer(0, run);
  else runtime.defer(run);
}

/** Waits at least `delayMs` milliseconds. When the signal aborts, the wait ends early. */
export function sleep(runtime: Runtime, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = runtime.setTimer(delayMs, end);
    signal?.addEventListener("abort", end);
  });
}
