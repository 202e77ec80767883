import { invalid, ProblemError } from "./errors.ts";

/** For routes that take no body. Clients that always send JSON send `{}` for nothing. @throws {ProblemError} */
export function refuseBody(body: unknown): void {
  if (body === undefined || body === null || JSON.stringify(body) === "{}") return;
  throw new ProblemError(invalid([{ field: "", message: "this route takes no body" }]));
}
