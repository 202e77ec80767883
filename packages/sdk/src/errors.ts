import type { Execution, FieldError, Problem } from "./api-types.ts";

/** Everything that the SDK throws by itself has one of these codes. */
export const ERROR_CODES = [
  /** 400: the request is not as the schema wants it, or the cursor is not one of ours. */
  "BAD_REQUEST",
  /** 401 */
  "UNAUTHENTICATED",
  /** 403 */
  "FORBIDDEN",
  /** 404 */
  "NOT_FOUND",
  /** 409: not in the state that the request needs, or the idempotency key is in flight. */
  "CONFLICT",
  /** 412 */
  "PRECONDITION_FAILED",
  /** 413 */
  "TOO_LARGE",
  /** 415 */
  "UNSUPPORTED_MEDIA_TYPE",
  /** 422: the idempotency key was used with another body. */
  "KEY_REUSED",
  /** 429: slow down. */
  "TOO_MANY_REQUESTS",
  /** 503, or nobody answered: the request may or may not have taken effect. */
  "UNAVAILABLE",
  /** Another 5xx. */
  "INTERNAL",
  /** An answer that no Mainspring server gives; is the URL right? */
  "UNEXPECTED_ANSWER",
  /** The payload does not fit the task's schema, or is not JSON. Nothing was sent. */
  "INVALID_PAYLOAD",
  /** The execution ended otherwise than SUCCEEDED; see `ExecutionFailed`. */
  "EXECUTION_FAILED",
  /** The server will not have this worker: protocol version, settings or key. */
  "WORKER_REFUSED",
  /** An option is not what it must be. */
  "BAD_OPTION",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The one error class of the SDK; `code` is for programs, the message for people. */
export class MainspringError extends Error {
  override readonly name: string = "MainspringError";
  readonly code: ErrorCode;
  /** Body of the server's answer, if it had one. */
  readonly problem: Problem | null;
  /** Faults by field; empty where none is known. */
  readonly errors: readonly FieldError[];

  constructor(
    code: ErrorCode,
    message: string,
    details: { problem?: Problem; errors?: FieldError[]; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.problem = details.problem ?? null;
    this.errors = details.errors ?? details.problem?.errors ?? [];
  }

  /** HTTP status of the answer; null where there was none. */
  get status(): number | null {
    return this.problem?.status ?? null;
  }
}

/** Thrown by a handle's `result()` where the execution is final and did not succeed. */
export class ExecutionFailed extends MainspringError {
  override readonly name = "ExecutionFailed";
  readonly execution: Execution;

  constructor(execution: Execution) {
    const why = execution.error?.message ?? execution.reason;
    super("EXECUTION_FAILED", `execution ${execution.executionId} is ${execution.state}${why ? `: ${why}` : ""}`);
    this.execution = execution;
  }
}
