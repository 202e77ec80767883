import type { ExecutionError } from "../client/api-types.ts";
import type { Ending, WaitReport } from "../session/work.ts";
import type { AbortCause } from "./context.ts";
import { adviceOf, advised } from "./retry-errors.ts";

export const RESULT_MAX_BYTES = 1024 * 1024;
const TEXT_MAX_CHARS = 8 * 1024;

/**
 * Outcome of a handler that returned. The attempt succeeds even if the handler was told to stop, because the work is
 * done.
 */
export function endingOfReturn(value: unknown, abort: AbortCause | null): Ending {
  // Only the timeout is a hard limit: a result after the timeout does not count.
  if (abort === "TIMED_OUT") return timedOut(null);
  if (value === undefined) return succeeded("");
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    return terminal("ResultNotJson", `the result cannot be written as JSON: ${errorOf(error).message}`);
  }
  if (json === undefined) return succeeded("");
  if (!isTooLarge(json)) return succeeded(json);
  return terminal(
    "ResultTooLarge",
    `the result is ${Buffer.byteLength(json)} bytes of JSON; ${RESULT_MAX_BYTES} may be`,
  );
}

/** Outcome of a handler that threw. */
export function endingOfThrow(thrown: unknown, abort: AbortCause | null): Ending {
  // A suspension ends with a thrown error as a rule, nobody reads it, and the text of its stack is expensive.
  if (abort === "SUSPENDED") return suspended([]);
  const error = errorOf(thrown);
  if (abort === "TIMED_OUT") return timedOut(error);
  if (abort === "CANCELLED") return { outcome: "CANCELLED", result: "", error, advice: null };
  return { outcome: "FAILED", result: "", error, advice: adviceOf(thrown) };
}

/** The error of a handler or step that threw in another process or thread, as if it were thrown here. */
export function thrownBy({ error, advice }: Ending): Error {
  const { name = "Error", message = "", stack } = error ?? {};
  const thrown = Object.assign(new Error(message), { name, stack: stack ?? "" });
  return advice === null ? thrown : advised(thrown, advice);
}

/** Outcome of an attempt that suspends, whatever its handler returned or threw. */
export function suspended(waits: readonly WaitReport[]): Ending {
  return { outcome: "SUSPENDED", result: "", error: null, advice: null, waits };
}

/** Outcome of an attempt that ended without its handler. */
export function endingOfForce(outcome: "TIMED_OUT" | "CANCELLED" | "RELEASED"): Ending {
  return outcome === "TIMED_OUT" ? timedOut(null) : { outcome, result: "", error: null, advice: null };
}

/** A failure that is not retried, because another attempt would fail in the same way. */
export function terminal(name: string, message: string): Ending {
  return { outcome: "FAILED", result: "", error: { name, message }, advice: { kind: "NEVER" } };
}

/** @param result result as JSON text */
export function succeeded(result: string): Ending {
  return { outcome: "SUCCEEDED", result, error: null, advice: null };
}

function timedOut(error: ExecutionError | null): Ending {
  const said = error ?? { name: "TimedOut", message: "the handler ran past its timeout" };
  return { outcome: "TIMED_OUT", result: "", error: said, advice: null };
}

function isTooLarge(json: string): boolean {
  // A UTF-16 code unit is at most three bytes in UTF-8, so most results need no exact count of bytes.
  return json.length * 3 > RESULT_MAX_BYTES && Buffer.byteLength(json) > RESULT_MAX_BYTES;
}

function errorOf(thrown: unknown): ExecutionError {
  try {
    return described(thrown);
  } catch {
    // The getters or methods of the thrown value throw themselves.
    return { name: "Error", message: "the handler threw something that cannot be described" };
  }
}

function described(thrown: unknown): ExecutionError {
  if (!(thrown instanceof Error)) return { name: "Error", message: cut(textOf(thrown)) };
  const { name, message, stack } = thrown;
  return { name: cut(String(name)), message: cut(String(message)), ...(stack && { stack: cut(String(stack)) }) };
}

function textOf(thrown: unknown): string {
  try {
    return typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return String(thrown);
  }
}

function cut(text: string): string {
  return text.length <= TEXT_MAX_CHARS ? text : text.slice(0, TEXT_MAX_CHARS);
}
