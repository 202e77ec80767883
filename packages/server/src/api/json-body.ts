import { isUtf8 } from "node:buffer";
import { ProblemError, problem } from "./errors.ts";
import { depthOf } from "./json-scan.ts";

/** The largest payload, and the largest result that a worker may send. */
export const PAYLOAD_BYTES_MAX = 1024 * 1024;
/** A payload and what may be around it. */
export const SINGLE_BODY_BYTES_MAX = PAYLOAD_BYTES_MAX + 128 * 1024;
export const BATCH_BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Whoever reads it later may recurse; this much every language stands. */
const DEPTH_MAX = 128;

/**
 * Reads a body, or a part of one, as JSON. Keys such as `__proto__` become plain members, which schemas refuse and
 * nothing merges.
 * @param what how a complaint names it
 * @throws {ProblemError} malformed-json
 */
export function parseJsonBody(bytes: Buffer, what = "the body"): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw malformed(`${what} is not valid UTF-8`);
  if (depthOf(bytes) > DEPTH_MAX) throw malformed(`${what} is nested deeper than ${DEPTH_MAX} levels`);
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw malformed(`${what} is not JSON: ${placeOf(error as SyntaxError)}`);
  }
}

/** The parser's complaint without the piece of the body that it quotes, which may be secret. */
function placeOf(error: SyntaxError): string {
  const place = /at position \d+( \(line \d+ column \d+\))?/.exec(error.message);
  return place === null ? "it ends too early or has something that does not belong there" : `look ${place[0]}`;
}

function malformed(detail: string): ProblemError {
  return new ProblemError(problem("malformed-json", detail));
}
