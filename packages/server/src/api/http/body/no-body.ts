import { invalid, ProblemError } from "../errors.ts";

/**
 * Refuses a body on routes that take none. Clients that always send JSON send `{}` instead of nothing. @throws
 * {ProblemError}
 */
export function refuseBody(body: unknown): void {
  if (body === undefined || body === null || JSON.stringify(body) === "{}") return;
  throw new ProblemError(invalid([{ field: "", message: "this route takes no body" }]));
}
