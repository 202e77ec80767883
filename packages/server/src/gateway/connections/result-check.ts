import { isUtf8 } from "node:buffer";
import type { ExecutionError } from "../../domain/execution.ts";
import { jsonFault } from "../../domain/json-text.ts";
import { RESULT_DEPTH_MAX, RESULT_MAX_BYTES } from "../limits.ts";

/**
 * Judges a result before the scheduler and the store hear of it. Answers carry a result as its own bytes, so bytes that
 * are no JSON value would break the answer, or add members to it.
 * @returns null: it is one JSON value that may be kept; else the error that the attempt fails with
 */
export function resultFault(result: Uint8Array): ExecutionError | null {
  if (result.length > RESULT_MAX_BYTES) {
    const message = `the result has ${result.length} bytes; ${RESULT_MAX_BYTES} are allowed`;
    return { name: "ResultTooLarge", message };
  }
  const fault = isUtf8(result) ? jsonFault(result, RESULT_DEPTH_MAX) : "it is not valid UTF-8";
  if (fault === null) return null;
  return { name: "ResultInvalid", message: `result invalid: ${fault}; a result is one JSON value, in UTF-8` };
}
