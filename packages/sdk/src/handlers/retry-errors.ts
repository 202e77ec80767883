/** A handler's word on retrying, in its error. */
export type RetryAdvice = { kind: "NEVER" } | { kind: "AT"; atMs: number };

/** The last instant that a Date can hold. */
const INSTANT_MAX = 8.64e15;
/** A registered symbol, so that advice is understood across two copies of the SDK in one process. */
const ADVICE = Symbol.for("mainspring.retry-advice");

/** Thrown by a handler: do not try again, whatever the retry policy allows. */
export class TerminalError extends Error {
  override readonly name: string = "TerminalError";
  readonly [ADVICE]: RetryAdvice = { kind: "NEVER" };
}

/** Thrown by a handler: try again at that time, not by the policy's backoff. It spends an attempt like any failure. */
export class RetryAtError extends Error {
  override readonly name: string = "RetryAtError";
  readonly [ADVICE]: RetryAdvice;

  /**
   * @param at a Date, or milliseconds since 1970
   * @param cause an Error gives its message; anything else is taken as the message
   */
  constructor(at: Date | number, cause?: unknown) {
    const atMs = Math.ceil(Number(at));
    if (!(atMs >= 0 && atMs <= INSTANT_MAX)) throw new RangeError("RetryAtError: `at` must be a valid time");
    super(messageOf(cause) ?? `to be tried again at ${new Date(atMs).toISOString()}`, { cause });
    this[ADVICE] = { kind: "AT", atMs };
  }
}

/** Makes an error that came from elsewhere say about trying again what it said there. */
export function advised(error: Error, advice: RetryAdvice): Error {
  return Object.assign(error, { [ADVICE]: advice });
}

/** null: the job's policy decides. */
export function adviceOf(error: unknown): RetryAdvice | null {
  if (typeof error !== "object" || error === null) return null;
  return (error as { [ADVICE]?: RetryAdvice })[ADVICE] ?? null;
}

function messageOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  return cause instanceof Error ? cause.message : String(cause);
}
