/**
 * Time, timers, randomness and ids. Nothing outside `adapters/system` asks the platform for these, so a whole
 * control plane can run on a simulated clock.
 */
export interface Runtime {
  /** The store's clock as well as it is known here: milliseconds since 1970, whole. For due times. */
  now(): number;
  /** Milliseconds that never step; for durations and trust. */
  monotonicMs(): number;
  /** Calls `run` once, after at least `delayMs`. Does not keep a process alive. */
  setTimer(delayMs: number, run: () => void): Timer;
  /** Evenly spread in [0, 1). */
  random(): number;
  /** A new UUIDv7; within one process each is greater than the last. */
  uuid(): string;
  /** Calls `run` once, when what this turn of the loop has to do is done. Where it is absent, a timer of 0 ms serves. */
  defer?(run: () => void): void;
}

export interface Timer {
  /** Idempotent; a cancelled timer never runs. */
  cancel(): void;
}

/** Runs it when this turn of the loop is over: what comes up in one turn goes on together. */
export function atEndOfTurn(runtime: Pick<Runtime, "defer" | "setTimer">, run: () => void): void {
  if (runtime.defer === undefined) runtime.setTimer(0, run);
  else runtime.defer(run);
}
