import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FieldError } from "./client/api-types.ts";
import { TerminalError } from "./handlers/retry-errors.ts";

/**
 * Error for a payload that does not match the task's schema. The error is terminal, because another attempt would fail
 * as well.
 */
export class InvalidPayload extends TerminalError {
  override readonly name = "InvalidPayload";
  readonly errors: FieldError[];

  constructor(task: string, errors: FieldError[]) {
    const what = errors.map((error) => (error.field === "" ? error.message : `${error.field}: ${error.message}`));
    super(`the payload of ${task} does not fit its schema: ${what.join("; ")}`);
    this.errors = errors;
  }
}

/**
 * Validates a payload and returns the schema's output: directly if the schema is synchronous, because a promise per job
 * is expensive, otherwise as a promise.
 * @throws {InvalidPayload} or rejects with it
 */
export function validate<S extends StandardSchemaV1>(
  task: string,
  schema: S,
  payload: unknown,
): StandardSchemaV1.InferOutput<S> | Promise<StandardSchemaV1.InferOutput<S>> {
  const answer = schema["~standard"].validate(payload);
  return answer instanceof Promise ? answer.then((late) => valueOf(task, late)) : valueOf(task, answer);
}

function valueOf<T>(task: string, answer: StandardSchemaV1.Result<T>): T {
  if (answer.issues === undefined) return answer.value;
  throw new InvalidPayload(task, answer.issues.map(fieldError));
}

function fieldError(issue: StandardSchemaV1.Issue): FieldError {
  const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  return { field: keys.map(String).join("."), message: issue.message };
}
