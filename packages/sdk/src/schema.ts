import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FieldError } from "./client/api-types.ts";
import { MainspringError } from "./errors.ts";
import { TerminalError } from "./handlers/retry-errors.ts";

/**
 * Error for a payload that does not match the task's schema. The error is terminal, because another attempt would fail
 * as well.
 */
class InvalidPayload extends TerminalError {
  override readonly name = "InvalidPayload";
  readonly errors: FieldError[];

  /** @param subject what does not fit, as "the payload of greet" */
  constructor(subject: string, errors: FieldError[]) {
    const what = errors.map((error) => (error.field === "" ? error.message : `${error.field}: ${error.message}`));
    super(`${subject} does not fit its schema: ${what.join("; ")}`);
    this.errors = errors;
  }
}

/**
 * Validates a payload, or the input of a workflow, and returns the schema's output: directly if the schema is synchronous, because a promise per job
 * is expensive, otherwise as a promise.
 * @throws {InvalidPayload} or rejects with it
 */
export function validate<S extends StandardSchemaV1>(
  task: string,
  schema: S,
  payload: unknown,
  kind: "payload" | "input" = "payload",
): StandardSchemaV1.InferOutput<S> | Promise<StandardSchemaV1.InferOutput<S>> {
  const answer = schema["~standard"].validate(payload);
  return answer instanceof Promise ? answer.then((late) => valueOf(kind, task, late)) : valueOf(kind, task, answer);
}

/**
 * Validates a payload or input before anything is sent.
 * @throws {MainspringError} INVALID_PAYLOAD
 */
export async function validated<S extends StandardSchemaV1>(
  ...[name, schema, value, kind]: Parameters<typeof validate<S>>
): Promise<StandardSchemaV1.InferOutput<S>> {
  try {
    return await validate(name, schema, value, kind);
  } catch (cause) {
    if (!(cause instanceof InvalidPayload)) throw cause;
    throw new MainspringError("INVALID_PAYLOAD", cause.message, { errors: cause.errors, cause });
  }
}

function valueOf<T>(kind: string, task: string, answer: StandardSchemaV1.Result<T>): T {
  if (answer.issues === undefined) return answer.value;
  throw new InvalidPayload(`the ${kind} of ${task}`, answer.issues.map(fieldError));
}

function fieldError(issue: StandardSchemaV1.Issue): FieldError {
  const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  return { field: keys.map(String).join("."), message: issue.message };
}
