import type { StepName, StepOptions } from "./step-context.ts";
import { StepError } from "./step-error.ts";

/** Largest name of a step, in UTF-16 code units. */
export const STEP_NAME_MAX_CHARS = 256;
/** Largest result of a step, and largest checkpoint, in bytes of JSON. */
export const STEP_MAX_BYTES = 256 * 1024;
/** Largest number of steps of an execution, and their largest size together, in bytes of JSON. */
export const STEPS_MAX = 1_000;
export const STEPS_MAX_BYTES = 4 * 1024 * 1024;
const RETRIES_MAX = 1_000;

/** @throws {StepError} InvalidStep */
export function stepName(name: StepName): string {
  const text = typeof name === "string" ? name : joined(name);
  if (text.length < 1 || text.length > STEP_NAME_MAX_CHARS) {
    throw new StepError(
      "InvalidStep",
      `the name of a step has 1 to ${STEP_NAME_MAX_CHARS} characters, not ${text.length}`,
    );
  }
  // A database stores neither, so another attempt would not find the step under its name.
  if (text.includes("\0") || !text.isWellFormed()) {
    const message = "the name of a step must not contain the character U+0000 or half of a surrogate pair";
    throw new StepError("InvalidStep", message);
  }
  return text;
}

/** JSON text of a list, in which different lists cannot collide. */
function joined(parts: readonly (string | number)[]): string {
  const isList = Array.isArray(parts) && parts.length > 0;
  if (isList && parts.every((part) => typeof part === "string" || Number.isFinite(part))) return JSON.stringify(parts);
  const message = 'the name of a step is a text, or a list of texts and finite numbers such as ["charge", 2]';
  throw new StepError("InvalidStep", message);
}

/** @throws {StepError} InvalidStep */
export function checkRun(name: string, fn: unknown, { retries = 0 }: StepOptions): number {
  if (typeof fn !== "function") {
    const message = `step ${JSON.stringify(name)}: the second argument must be the function to run`;
    throw new StepError("InvalidStep", message);
  }
  if (Number.isInteger(retries) && retries >= 0 && retries <= RETRIES_MAX) return retries;
  const message = `step ${JSON.stringify(name)}: retries must be a whole number from 0 to ${RETRIES_MAX}`;
  throw new StepError("InvalidStep", message);
}

/** @returns JSON text; empty: undefined. @throws {StepError} StepNotJson, StepTooLarge */
export function resultData(name: string, value: unknown): string {
  return dataOf(`the result of step ${JSON.stringify(name)}`, value);
}

/** @returns JSON text; empty: undefined. @throws {StepError} StepNotJson, StepTooLarge */
export function checkpointData(value: unknown): string {
  return dataOf("the checkpoint", value);
}

function dataOf(subject: string, value: unknown): string {
  const json = jsonOf(subject, value);
  const bytes = Buffer.byteLength(json);
  if (bytes <= STEP_MAX_BYTES) return json;
  const advice = "store the data elsewhere and keep a reference to it";
  throw new StepError("StepTooLarge", `${subject} is ${bytes} bytes of JSON; ${STEP_MAX_BYTES} may be: ${advice}`);
}

function jsonOf(subject: string, value: unknown): string {
  try {
    // A function or symbol has no JSON and becomes undefined, as in the result of a handler.
    return JSON.stringify(value) ?? "";
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StepError("StepNotJson", `${subject} cannot be written as JSON: ${why}`);
  }
}

/** Result of a step that has received a signal, as JSON text. @param signal `data`: JSON text; empty: none */
export function receivedData({ name, data, signalId }: { name: string; data: string; signalId: string }): string {
  return `{"name":${JSON.stringify(name)},"data":${data === "" ? "null" : data},"id":${JSON.stringify(signalId)}}`;
}

/** @param data JSON text; empty: undefined */
export function valueOf(data: string): unknown {
  return data === "" ? undefined : JSON.parse(data);
}
