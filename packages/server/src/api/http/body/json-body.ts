import { DEPTH_MAX, PARSED_BYTES_MAX } from "@mainspring/contract/limits";
import { type FieldError, ProblemError, problem } from "../errors.ts";
import { type JsonFault, JsonScanner, type JsonWatcher } from "./json-scanner.ts";

/** Size of the head of a body that is too large to be parsed, in bytes. Faults are looked for in the head. */
const HEAD_BYTES = 32 * 1024;
/** Size above which line and column of a fault are not counted, in bytes, because that would take too long. */
const COUNTED_BYTES_MAX = 1024 * 1024;

/** A JSON body, or a part of one, that is too large to be parsed as a whole. */
export class OversizeJson {
  /** Value of the first bytes, with all open containers closed. */
  readonly head: unknown;
  readonly fault: FieldError;

  constructor(json: Buffer, maxBytes = PARSED_BYTES_MAX) {
    this.head = headOf(json);
    const message = `has ${json.length} bytes without its payload: at most ${maxBytes} are taken`;
    this.fault = { field: "", message };
  }
}

/**
 * Value of JSON that was validated.
 * @param json text without the payload, whose bytes stay as they came
 * @param maxBytes largest size that is parsed
 */
export function parseProven(json: Buffer, maxBytes = PARSED_BYTES_MAX): unknown {
  if (json.length > maxBytes) return new OversizeJson(json, maxBytes);
  return JSON.parse(json.toString("utf8"));
}

function headOf(json: Buffer): unknown {
  const scanner = new JsonScanner(DEPTH_MAX + 2, NOBODY, -1);
  scanner.scan(json, HEAD_BYTES);
  return JSON.parse(scanner.closed(json));
}

/** Watcher for a text that only needs validation. */
export const NOBODY: JsonWatcher = { key: () => undefined, value: () => undefined };

/** @param what name of the text in the error */
export function malformed(what: string, { kind, at }: JsonFault, json: Buffer): ProblemError {
  if (kind === "DEPTH") return malformedBecause(`${what} is nested deeper than ${DEPTH_MAX} levels`);
  return malformedBecause(`${what} is not JSON: ${at === null ? "it ends too early" : placeOf(json, at)}`);
}

export function malformedBecause(detail: string): ProblemError {
  return new ProblemError(problem("malformed-json", detail));
}

/** Position of the fault, without the text around it, which may be secret. */
function placeOf(json: Buffer, at: number): string {
  if (at > COUNTED_BYTES_MAX) return `look at position ${at}`;
  const before = json.subarray(0, at);
  let line = 1;
  for (const byte of before) if (byte === 0x0a) line++;
  return `look at position ${at} (line ${line} column ${at - before.lastIndexOf(0x0a)})`;
}
