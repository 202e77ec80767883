/** Advice about retries that a handler puts into its error. */
export type RetryAdvice = { kind: "NEVER" } | { kind: "AT"; atMs: number };

/** Last instant that a Date can hold, in milliseconds since 1970. */
const INSTANT_MAX = 8.64e15;
/** A registered symbol, so that two copies of the SDK in one process understand each other's advice. */
const ADVICE = Symbol.for("mainspring.retry-advice");

/** Error for handlers that prevents further attempts, whatever the retry policy allows. */
export class TerminalError extends Error {
  override readonly name: string = "TerminalError";
  readonly [ADVICE]: RetryAdvice = { kind: "NEVER" };
}

/**
 * Error for handlers that sets the time of the next attempt, instead of the policy's backoff. The attempt counts as a
 * failure like any other.
 */
export class RetryAtError extends Error {
  override readonly name: string = "RetryAtError";
  readonly [ADVICE]: RetryAdvice;

  /**
   * @param at time of the next attempt: a Date, or milliseconds since 1970
   * @param cause reason: the message of an Error, or anything else as text
   */
  constructor(at: Date | number, cause?: unknown) {
    const atMs = Math.ceil(Number(at));
    if (!(atMs >= 0 && atMs <= INSTANT_MAX)) throw new RangeError("RetryAtError: `at` must be a valid time");
    super(messageOf(cause) ?? `to be tried again at ${new Date(atMs).toISOString()}`, { cause });
    this[ADVICE] = { kind: "AT", atMs };
  }
}

/** Attaches retry advice to an error that came from another process or thread. */
export function advised(error: Error, advice: RetryAdvice): Error {
  return Object.assign(error, { [ADVICE]: advice });
}

/** Retry advice of an error; null: the job's policy decides. */
export function adviceOf(error: unknown): RetryAdvice | null {
  if (typeof error !== "object" || error === null) return null;
  return (error as { [ADVICE]?: RetryAdvice })[ADVICE] ?? null;
}

function messageOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  return cause instanceof Error ? cause.message : String(cause);
}
