import { type ErrorCode, MainspringError } from "../errors.ts";
import type { FieldError, Problem } from "./api-types.ts";

const CODES: Record<number, ErrorCode> = {
  400: "BAD_REQUEST",
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  410: "GONE",
  412: "PRECONDITION_FAILED",
  413: "TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  422: "KEY_REUSED",
  429: "TOO_MANY_REQUESTS",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

function codeOf(status: number): ErrorCode {
  return CODES[status] ?? (status >= 500 ? "INTERNAL" : "UNEXPECTED_ANSWER");
}

/** Creates the error for an answer, which may be a problem of the server or come from a proxy in between. */
export async function errorOf(response: Response): Promise<MainspringError> {
  const problem = problemOf(await response.text().catch(() => ""), response.status);
  const code = codeOf(response.status);
  return problem === null ? new MainspringError(code, strange(response)) : errorOfProblem(problem, code);
}

/**
 * Creates the error for a problem.
 * @param code code of the error; default: the code for the problem's status
 */
export function errorOfProblem(problem: Problem, code: ErrorCode = codeOf(problem.status)): MainspringError {
  const fields = (problem.errors ?? []).map((error) => `${error.field}: ${error.message}`);
  // `detail` can repeat the message of the first field, for clients that read only `detail`.
  const message = [...new Set([problem.detail ?? problem.title, ...fields])].join("; ");
  return new MainspringError(code, message, { problem });
}

/**
 * Describes an answer that has no problem as its body. A proxy answers 502 and the like when the server is away; any
 * other such answer comes from another program.
 */
function strange({ status, url }: Response): string {
  const said = `${url || "the server"} answered ${status} without a problem document`;
  return CODES[status] === "UNAVAILABLE"
    ? said
    : `${said}: is it a Mainspring server, and is MAINSPRING_URL (or the option url) right?`;
}

function problemOf(text: string, status: number): Problem | null {
  const body = parsed(text);
  if (typeof body.title !== "string") return null;
  return {
    type: typeof body.type === "string" ? body.type : "about:blank",
    title: body.title,
    status,
    ...(typeof body.detail === "string" && { detail: body.detail }),
    ...(Array.isArray(body.errors) && { errors: body.errors.map(fieldError) }),
  };
}

function fieldError(item: unknown): FieldError {
  const { field, path, pointer, message, position } = (item ?? {}) as Record<string, unknown>;
  return {
    field: String(field ?? path ?? pointer ?? ""),
    message: String(message ?? ""),
    ...(typeof position === "number" && { position }),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
