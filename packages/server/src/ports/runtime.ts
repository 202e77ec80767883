/**
 * Time, timers, randomness and ids. Nothing outside `adapters/system` asks the platform for these, so a whole
 * control plane can run on a simulated clock.
 */
export interface Runtime {
  /** This node's estimate of the store's clock in whole milliseconds since 1970. For due times. */
  now(): number;
  /** Milliseconds that never step; for durations and trust. */
  monotonicMs(): number;
  /** Calls `run` once, after at least `delayMs`. Does not keep a process alive. */
  setTimer(delayMs: number, run: () => void): Timer;
  /** Evenly spread in [0, 1). */
  random(): number;
  /** A new UUIDv7; within one process each is greater than the last. */
  uuid(): string;
  /** Calls `run` once at the end of this turn of the event loop. A runtime without it uses a timer of 0 ms. */
  defer?(run: () => void): void;
}

/** Settles like an answer, or rejects with `late` after a time. The timer ends with the answer. */
export function within<T>(
  ms: number,
  runtime: Pick<Runtime, "setTimer">,
  answer: Promise<T>,
  late: () => Error = () => new Error(`no answer within ${ms / 1_000} s`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = runtime.setTimer(ms, () => reject(late()));
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}

export interface Timer {
  /** Idempotent; a cancelled timer never runs. */
  cancel(): void;
}

/** Calls `run` at the end of this turn of the event loop, so that all events of one turn are handled together. */
export function atEndOfTurn(runtime: Pick<Runtime, "defer" | "setTimer">, run: () => void): void {
  if (runtime.defer === undefined) runtime.setTimer(0, run);
  else runtime.defer(run);
}
