import { isUtf8 } from "node:buffer";
import { DEPTH_MAX, RESULT_MAX_BYTES } from "@mainspring/contract/limits";
import type { ExecutionError } from "../../domain/execution.ts";
import { jsonFault } from "../../domain/json-text.ts";

/**
 * Checks a result before it reaches the scheduler and the store. API responses contain results verbatim, so bytes that
 * are not a JSON value would break a response, or add members to it.
 * @returns null: the result is one valid JSON value; else the error with which the attempt fails
 */
export function resultFault(result: Uint8Array): ExecutionError | null {
  if (result.length > RESULT_MAX_BYTES) {
    const message = `the result has ${result.length} bytes; ${RESULT_MAX_BYTES} are allowed`;
    return { name: "ResultTooLarge", message };
  }
  const fault = isUtf8(result) ? jsonFault(result, DEPTH_MAX) : "it is not valid UTF-8";
  if (fault === null) return null;
  return { name: "ResultInvalid", message: `result invalid: ${fault}; a result is one JSON value, in UTF-8` };
}
