/**
 * Time, timers, randomness and ids. Nothing but `system-runtime.ts` asks the platform for these, so that a session and
 * an executor run as well on a simulated clock. The server's Runtime fits it.
 */
export interface Runtime {
  /** Milliseconds since 1970, whole. */
  now(): number;
  /** Milliseconds that never step; for durations. */
  monotonicMs(): number;
  /** Calls `run` once, after at least `delayMs`, of which the platform's timers may cut off what exceeds 24 days. */
  setTimer(delayMs: number, run: () => void): Timer;
  /** Evenly spread in [0, 1). */
  random(): number;
  /** A new UUID. */
  uuid(): string;
  /** Calls `run` once, when what this turn of the loop has to do is done. Default: a timer of 0 ms. */
  defer?(run: () => void): void;
}

export interface Timer {
  /** Idempotent; a cancelled timer never runs. */
  cancel(): void;
}

/** Once the turn is done, so that all that happened in it goes out as one batch. */
export function defer(runtime: Runtime, run: () => void): void {
  if (runtime.defer === undefined) runtime.setTimer(0, run);
  else runtime.defer(run);
}

/** Waits at least `delayMs`; ends early where the signal says so. */
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
