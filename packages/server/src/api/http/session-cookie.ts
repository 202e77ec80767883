import { SESSION_MAX_SEC } from "@mainspring/contract/limits";
import type { FastifyRequest } from "fastify";
import type { SessionSeal } from "../../security/session-seal.ts";
import { ProblemError, problem } from "./errors.ts";

/** Cookie that holds a sealed session. */
const NAME = "mainspring_session";
const OWN = new RegExp(`(?:^|;)\\s*${NAME}=([\\w-]+)`);

/**
 * Header Set-Cookie of a session. It names no path, so a browser sends the cookie to the paths beside `/v1/session` alone, whatever
 * prefix a proxy adds. @param sealed null: the session ends now
 */
export function sessionCookie(sealed: string | null, request: Pick<FastifyRequest, "headers" | "protocol">): string {
  const { origin = "" } = request.headers;
  // Behind a proxy that ends TLS, only the origin of the page says that the browser uses it.
  const isSecure = request.protocol === "https" || origin.startsWith("https:");
  const age = sealed === null ? 0 : SESSION_MAX_SEC;
  return `${NAME}=${sealed ?? ""}; HttpOnly; SameSite=Strict; Max-Age=${age}${isSecure ? "; Secure" : ""}`;
}

/** Credential of the session of a request; null: it has none, or sends a credential itself. */
export function sessionOf({ headers }: Pick<FastifyRequest, "headers">, seal: SessionSeal | null): string | null {
  const { authorization, cookie } = headers;
  if (authorization !== undefined || cookie === undefined || seal === null) return null;
  const sealed = OWN.exec(cookie)?.[1];
  return sealed === undefined ? null : seal.open(sealed);
}

/** Fault of a change by a session without the header Origin; null: none. An Origin of another site is refused before. */
export function originFault({ method, headers }: Pick<FastifyRequest, "method" | "headers">): ProblemError | null {
  if (method === "GET" || method === "HEAD" || headers.origin !== undefined) return null;
  const detail = "a change by a session needs the header Origin, which browsers send: programs send an API key instead";
  return new ProblemError(problem("forbidden", detail));
}
