import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ProblemError, problem } from "./errors.ts";

/** Public paths, which reveal nothing of the jobs. */
const PUBLIC = /^\/(|healthz|readyz|openapi\.json|problems(\/:name)?|docs(\/.*)?)$/;
const LOOPBACK = /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(:\d{1,5})?$/i;
const BEARER = /^Bearer +(\S+)$/i;

/** API keys of clients and workers. */
export interface ApiKeys {
  /** API key; null: every client that reaches the server by a loopback name may use it. */
  apiKey: string | null;
  /** Second valid key, for the time of a key change; null: none. */
  apiKeyAlso?: string | null;
}

/**
 * Refuses requests without permission. With an API key, a request needs the key. Without one, a request must come from
 * this machine, and not through a foreign page in a browser: neither by its origin, nor by a foreign name that points
 * to this machine.
 */
export function guard(app: FastifyInstance, { apiKey, apiKeyAlso = null }: ApiKeys): void {
  const isAuthorized = apiKey === null ? null : authorizes(apiKey, apiKeyAlso);
  // The hook uses no promise, because the time of work after a promise does not count in the turn of the request.
  app.addHook("onRequest", (request, reply, done) => {
    // Answers contain data of jobs, which no browser may interpret as a page.
    void reply.header("x-content-type-options", "nosniff");
    const error = refusalOf(request, isAuthorized);
    if (error?.problem.status === 401) void reply.header("www-authenticate", "Bearer");
    done(error ?? undefined);
  });
}

/** @param isAuthorized check of the key; null: the server has no key */
function refusalOf(request: FastifyRequest, isAuthorized: ReturnType<typeof authorizes> | null): ProblemError | null {
  const { host, origin, authorization } = request.headers;
  const unclear = unclearHost(request.raw);
  if (unclear !== null) return unclear;
  if (origin !== undefined && !isSameOrigin(origin, host)) {
    return forbidden("the header Origin names another site: pages of elsewhere may not use this API");
  }
  if (isAuthorized === null) {
    if (LOOPBACK.test(host ?? "")) return null;
    return forbidden("without an API key, Host must be localhost, 127.0.0.1 or [::1]");
  }
  if (isPublic(request) || isAuthorized(authorization)) return null;
  return new ProblemError(problem("unauthorized", "send Authorization: Bearer <key>, with the server's key"));
}

/** Refuses a request with two Host headers, because a proxy may have judged the other one. */
function unclearHost({ rawHeaders, httpVersion }: IncomingMessage): ProblemError | null {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) return null;
  const detail = hosts === 0 ? "a request of HTTP/1.1 has the header Host" : "send the header Host once";
  return new ProblemError(problem("malformed-http", detail));
}

function isPublic(request: FastifyRequest): boolean {
  return PUBLIC.test(request.routeOptions.url ?? "");
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (!URL.canParse(origin) || host === undefined) return false;
  const { protocol, host: originHost } = new URL(origin);
  // The comparison uses URL, so that a default port that only one of them names makes no difference.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === originHost;
}

/**
 * Whether an `Authorization` header has the key, or the second key if there is one. The comparison uses digests of one
 * length, so its time reveals nothing.
 */
export function authorizes(apiKey: string, also: string | null = null): (authorization: string | undefined) => boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = [digest(apiKey), digest(also ?? apiKey)];
  return (authorization) => {
    const given = digest(BEARER.exec(authorization ?? "")?.[1] ?? "");
    return expected.map((own) => timingSafeEqual(own, given)).includes(true);
  };
}

function forbidden(detail: string): ProblemError {
  return new ProblemError(problem("forbidden", detail));
}
