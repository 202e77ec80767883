import type { Execution, ExecutionError, FieldError, Problem } from "./client/api-types.ts";
import type { Workflow } from "./client/workflow-types.ts";

/** Codes of `MainspringError`, the errors that the SDK itself throws. */
export const ERROR_CODES = [
  /** HTTP 400: the request does not match the schema, or no server of this installation issued the cursor. */
  "BAD_REQUEST",
  /** HTTP 401: the API key is missing or wrong. */
  "UNAUTHENTICATED",
  /** HTTP 403: the API key does not allow the request. */
  "FORBIDDEN",
  /** HTTP 404: the thing that the request names does not exist. */
  "NOT_FOUND",
  /**
   * HTTP 409: the state does not allow the request, or another request with the same idempotency key is in progress.
   */
  "CONFLICT",
  /** HTTP 410: the server no longer keeps what the request asks for; see `EventsGone`. */
  "GONE",
  /** HTTP 412: the job has another version than `ifVersion`. */
  "PRECONDITION_FAILED",
  /** HTTP 413: the request is too large. */
  "TOO_LARGE",
  /** HTTP 415: the request's content type is not supported. */
  "UNSUPPORTED_MEDIA_TYPE",
  /** HTTP 422: an earlier request used the same idempotency key with another body. */
  "KEY_REUSED",
  /** HTTP 429: the client sends too many requests. */
  "TOO_MANY_REQUESTS",
  /** HTTP 503, or no answer: the request may or may not have taken effect. */
  "UNAVAILABLE",
  /** Another HTTP status of 500 or above. */
  "INTERNAL",
  /** An answer that no Mainspring server gives, for example because the URL is wrong. */
  "UNEXPECTED_ANSWER",
  /** The payload does not match the task's schema, or JSON cannot express it. Nothing was sent. */
  "INVALID_PAYLOAD",
  /** The execution ended in another state than SUCCEEDED; see `ExecutionFailed`. */
  "EXECUTION_FAILED",
  /** The run of a workflow ended in another state than SUCCEEDED; see `WorkflowFailed`. */
  "WORKFLOW_FAILED",
  /** The server refuses the worker because of its protocol version, settings or key. */
  "WORKER_REFUSED",
  /** An option has a wrong value. */
  "BAD_OPTION",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Error class of the SDK. `code` is for programs, `message` for people. */
export class MainspringError extends Error {
  override readonly name: string = "MainspringError";
  readonly code: ErrorCode;
  /** Body of the server's answer; null: there was no answer, or not a problem. */
  readonly problem: Problem | null;
  /** Faults by field; empty: none is known. */
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

  /** HTTP status of the answer; null: there was no answer. */
  get status(): number | null {
    return this.problem?.status ?? null;
  }
}

/**
 * Thrown by `client.events` if the server no longer keeps events behind the position. A program goes on with
 * `after: "oldest"`, and reads from `listExecutions` what it missed.
 */
export class EventsGone extends MainspringError {
  override readonly name = "EventsGone";

  constructor(cause: MainspringError) {
    super("GONE", cause.message, { cause, ...(cause.problem !== null && { problem: cause.problem }) });
  }
}

/** Thrown by `client.events` if the server keeps no events: every node needs MAINSPRING_EVENTS=api. */
export class EventsOff extends MainspringError {
  override readonly name = "EventsOff";

  constructor(cause: MainspringError) {
    super("CONFLICT", cause.message, { cause, ...(cause.problem !== null && { problem: cause.problem }) });
  }
}

/** Thrown by a handle's `result()` if the execution is final and did not succeed. */
export class ExecutionFailed extends MainspringError {
  override readonly name = "ExecutionFailed";
  readonly execution: Execution;

  constructor(execution: Execution) {
    const why = execution.error?.message ?? execution.reason;
    super("EXECUTION_FAILED", `execution ${execution.executionId} is ${execution.state}${why ? `: ${why}` : ""}`);
    this.execution = execution;
  }
}

/** Thrown by the `result()` of a run's handle if the run is final and did not succeed. */
export class WorkflowFailed extends MainspringError {
  override readonly name = "WorkflowFailed";
  readonly workflowId: string;
  /** Name of the DEAD node that made the run fail; null: no DEAD node did, as after a cancellation or at the deadline. */
  readonly node: string | null;
  /** Error of that node, else of the run; null: none. */
  readonly error: ExecutionError | null;
  /** The run. */
  readonly workflow: Workflow;

  constructor(workflow: Workflow) {
    const { workflowId, state, reason } = workflow;
    const node = deadNode(workflow);
    const error = node?.error ?? workflow.error;
    const why = error?.message ?? node?.reason ?? reason;
    const of = node === null ? "" : `: node ${node.name} is DEAD`;
    super("WORKFLOW_FAILED", `workflow ${workflowId} is ${state}${of}${why ? `: ${why}` : ""}`);
    this.workflowId = workflowId;
    this.node = node?.name ?? null;
    this.error = error;
    this.workflow = workflow;
  }
}

/** The run's error names the node, because nodes that are allowed to fail may be DEAD, too. */
function deadNode({ reason, error, failed }: Workflow): Workflow["failed"][number] | null {
  if (reason !== "NODE_DEAD") return null;
  const words = error?.message.split(" ") ?? [];
  return failed.find(({ name }) => words.includes(name)) ?? failed[0] ?? null;
}
