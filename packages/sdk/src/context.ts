/** Facts about a handler's attempt, and the means to report while it runs. */
export interface TaskContext {
  readonly executionId: string;
  /** Grows with every assignment, from 1: also after a lost worker or a hand-back. */
  readonly attempt: number;
  /** Failures before this attempt, and how many there may be: `failures + 1 === maxAttempts` is the last try. */
  readonly failures: number;
  readonly maxAttempts: number;
  /**
   * The fencing token, `<execution id>:<attempt>`. The server refuses all that an older attempt says; a handler that puts
   * the token's number into its own writes can have them refused likewise: write only where the stored attempt is not
   * greater.
   */
  readonly fence: string;
  /** When it was to run. */
  readonly scheduledAt: Date;
  /** When this attempt times out. A hard limit. */
  readonly deadline: Date;
  /** How long it may take to stop once `signal` has aborted; then the server goes on without it. */
  readonly cancelGraceMs: number;
  /**
   * Aborts when the execution is cancelled, times out, was given to another worker, or the worker leaves; its reason
   * is an `AttemptAborted`. A handler that ignores it keeps its slot until it really ends.
   */
  readonly signal: AbortSignal;
  /**
   * Waits at least `delayMs` milliseconds, 0 or more, on the worker's clock: in a simulated test that costs no time.
   * Ends early, with the signal's reason as its error, when the signal aborts.
   */
  sleep(delayMs: number): Promise<void>;
  /**
   * How far it is; shown to people. Only the latest is sent, about ten times a second.
   * @param fraction 0 to 1; what is beyond is cut
   */
  progress(fraction: number, message?: string): void;
  /**
   * Adds a line to the execution's log: at most 8 KiB, a thousand lines in a tenth of a second; what is beyond is
   * dropped.
   */
  log(line: string): void;
}

export type AbortCause = "CANCELLED" | "TIMED_OUT" | "SUPERSEDED" | "WORKER_LEAVES";

/** Why `ctx.signal` was aborted. */
export class AttemptAborted extends Error {
  // The name that libraries look for when they tell an abort from a failure.
  override readonly name = "AbortError";
  readonly reason: AbortCause;

  constructor(fence: string, reason: AbortCause) {
    super(`attempt ${fence} was aborted: ${reason}`);
    this.reason = reason;
  }
}
