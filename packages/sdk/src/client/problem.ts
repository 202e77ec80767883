import type { FieldError, Problem } from "./api-types.ts";
import { type ErrorCode, MainspringError } from "./errors.ts";

const CODES: Record<number, ErrorCode> = {
  400: "BAD_REQUEST",
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  412: "PRECONDITION_FAILED",
  413: "TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  422: "KEY_REUSED",
  429: "TOO_MANY_REQUESTS",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/** The error that an answer stands for, whether it is a problem of ours or came from something in between. */
export async function errorOf(response: Response): Promise<MainspringError> {
  const problem = problemOf(await response.text().catch(() => ""), response.status);
  const code = CODES[response.status] ?? (response.status >= 500 ? "INTERNAL" : "UNEXPECTED_ANSWER");
  if (problem === null) return new MainspringError(code, strange(response));
  const fields = (problem.errors ?? []).map((error) => `${error.field}: ${error.message}`);
  // `detail` may repeat the first field's, for those who read only that.
  const message = [...new Set([problem.detail ?? problem.title, ...fields])].join("; ");
  return new MainspringError(code, message, { problem });
}

/** Proxies answer 502 and the like for a server that is away; any other answer without a problem comes from another program. */
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
