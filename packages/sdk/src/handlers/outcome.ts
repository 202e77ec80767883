import type { ExecutionError } from "./api-types.ts";
import type { AbortCause } from "./context.ts";
import { adviceOf } from "./retry-errors.ts";
import type { Ending } from "./work.ts";

export const RESULT_MAX_BYTES = 1024 * 1024;
const TEXT_MAX_CHARS = 8 * 1024;

/** The handler returned. Even where it was asked to stop: the work is done, and saying otherwise would be a lie. */
export function endingOfReturn(value: unknown, abort: AbortCause | null): Ending {
  // Only the timeout is a hard limit: what comes after it does not count.
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

/** The handler threw. */
export function endingOfThrow(thrown: unknown, abort: AbortCause | null): Ending {
  const error = errorOf(thrown);
  if (abort === "TIMED_OUT") return timedOut(error);
  if (abort === "CANCELLED") return { outcome: "CANCELLED", result: "", error, advice: null };
  return { outcome: "FAILED", result: "", error, advice: adviceOf(thrown) };
}

/** It ends without the handler's say. */
export function endingOfForce(outcome: "TIMED_OUT" | "CANCELLED" | "RELEASED"): Ending {
  return outcome === "TIMED_OUT" ? timedOut(null) : { outcome, result: "", error: null, advice: null };
}

/** A failure that another attempt would only repeat. */
export function terminal(name: string, message: string): Ending {
  return { outcome: "FAILED", result: "", error: { name, message }, advice: { kind: "NEVER" } };
}

/** @param result JSON text */
export function succeeded(result: string): Ending {
  return { outcome: "SUCCEEDED", result, error: null, advice: null };
}

function timedOut(error: ExecutionError | null): Ending {
  const said = error ?? { name: "TimedOut", message: "the handler ran past its timeout" };
  return { outcome: "TIMED_OUT", result: "", error: said, advice: null };
}

function isTooLarge(json: string): boolean {
  // A UTF-16 unit is at most three bytes: most results need not be measured.
  return json.length * 3 > RESULT_MAX_BYTES && Buffer.byteLength(json) > RESULT_MAX_BYTES;
}

function errorOf(thrown: unknown): ExecutionError {
  try {
    return described(thrown);
  } catch {
    // Its own getters or methods throw.
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
