import type { IncomingMessage } from "node:http";
import type { Scope } from "@mainspring/contract/enums";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TenantState } from "../../domain/tenant.ts";
import { type Authenticator, isRefusal, type Principal, type Refusal, type Tenant } from "../../ports/authenticator.ts";
import type { SessionSeal } from "../../security/session-seal.ts";
import { sendProblem } from "./error-answers.ts";
import { busy, ProblemError, problem } from "./errors.ts";
import { originFault, sessionOf } from "./session-cookie.ts";

const LOOPBACK = /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(:\d{1,5})?$/i;
/** Seconds after which a client may try again. */
const RETRY_AFTER_SEC = 1;

/** Right that an operation needs: a scope; `any`: none, but a key; `public`: nothing. */
export type RouteScope = Scope | "any" | "public";

declare module "fastify" {
  interface FastifyContextConfig {
    scope?: RouteScope;
    /** Whether the body of the request may be left out. */
    mayLackBody?: boolean;
  }
  interface FastifyRequest {
    /** Caller of the request; null: the operation is public. */
    principal: Principal | null;
  }
}

/**
 * Refuses requests without permission. A request needs a key with the scope of its operation. If the server asks for no key,
 * a request must come from this machine, and not through a foreign page in a browser: neither by its origin, nor by a
 * foreign name that points to this machine.
 * @param seal of sessions of browsers; null: there are none
 */
export function guard(app: FastifyInstance, authenticator: Authenticator, seal: SessionSeal | null): void {
  app.decorateRequest("principal", null);
  demandScopes(app);
  // The hooks use no promise, because the time of work after a promise does not count in the turn of the request.
  app.addHook("onRequest", (request, reply, done) => {
    // Answers contain data of jobs, which no browser may interpret as a page.
    void reply.header("x-content-type-options", "nosniff");
    const misled = waysFault(request, authenticator.isOpen);
    if (misled !== null) return done(misled);
    if (scopeOf(request) === "public") return done();
    const session = sessionOf(request, seal);
    const unclear = session === null ? null : originFault(request);
    if (unclear !== null) return done(unclear);
    const authorization = session === null ? request.headers.authorization : `Bearer ${session}`;
    const judged = authenticator.judge(authorization, request.ip);
    const admit = (one: Principal | Refusal) => done(admission(request, reply, one, authenticator) ?? undefined);
    if (judged instanceof Promise) judged.then(admit, done);
    else admit(judged);
  });
  // A body may take a minute to arrive, and its key may be revoked meanwhile.
  app.addHook("preHandler", (request, reply, done) => {
    const refusal = request.principal === null ? null : authenticator.judgeAgain(request.principal);
    done(refusal === null ? undefined : errorOf(refusal, reply));
  });
}

/** Caller of a request. @throws {ProblemError} 401: the operation is public, so the request has no caller */
export function callerOf({ principal }: Pick<FastifyRequest, "principal">): Principal {
  if (principal === null) throw new ProblemError(problem("unauthorized"));
  return principal;
}

/** Tenant whose limits a request counts against; null: operators have none, nor has a request without a key. */
export function limitedTenantOf({ principal }: Pick<FastifyRequest, "principal">): Tenant | null {
  return principal === null || principal.kind === "OPERATOR" ? null : principal.tenant;
}

/** Tenant for which the caller of a request acts. */
export function tenantOfCaller(request: Pick<FastifyRequest, "principal">): Tenant {
  return callerOf(request).tenant;
}

/** Keeps an application from starting that has a route without a scope. */
function demandScopes(app: FastifyInstance): void {
  const routes: { method: string | string[]; url: string; config?: { scope?: RouteScope } }[] = [];
  app.addHook("onRoute", (route) => void routes.push(route));
  app.addHook("onReady", async () => {
    const open = routes.find(({ config }) => config?.scope === undefined);
    if (open !== undefined) throw new Error(`the route ${open.method} ${open.url} has no scope in its config`);
  });
}

/** Scope that a request needs; a path without a route needs a key. */
function scopeOf({ routeOptions, is404 }: FastifyRequest): RouteScope | undefined {
  return is404 ? "any" : routeOptions.config.scope;
}

/** @returns null: the request may go on */
function admission(
  request: FastifyRequest,
  reply: FastifyReply,
  judged: Principal | Refusal,
  authenticator: Authenticator,
): ProblemError | null {
  if (isRefusal(judged)) return errorOf(judged, reply);
  // A refusal names its caller, too.
  request.principal = judged;
  const lack = scopeFault(judged, scopeOf(request));
  if (lack !== null) return lack;
  const acting = actingBy(judged, request.headers["mainspring-tenant"], authenticator);
  if (acting instanceof ProblemError) return acting;
  request.principal = acting;
  const stopped = stateFault(authenticator.stateOf(acting), scopeOf(request));
  if (stopped !== null) return stopped;
  const release = authenticator.hold({ principal: acting, end: (refusal) => cutOff(request, reply, refusal) });
  // The client may have left while its credential was judged.
  if (reply.raw.destroyed) release();
  else reply.raw.once("close", release);
  return null;
}

function scopeFault({ scopes }: Principal, scope: RouteScope | undefined): ProblemError | null {
  if (scope === "any" || scope === "public") return null;
  if (scope !== undefined && scopes.has(scope)) return null;
  return new ProblemError(problem("missing-scope", `the key lacks the scope ${scope}`));
}

/** The caller for the tenant that a header names. Only keys that may act for tenants may name one, even their own. */
function actingBy(
  principal: Principal,
  named: string | string[] | undefined,
  authenticator: Authenticator,
): Principal | ProblemError {
  if (named === undefined) return principal;
  if (!principal.scopes.has("tenants:act")) {
    return new ProblemError(
      problem("missing-scope", "the header Mainspring-Tenant needs the scope tenants:act: leave it out"),
    );
  }
  const acting = typeof named === "string" ? authenticator.actingFor(principal, named) : null;
  return acting ?? new ProblemError(problem("not-found", "there is no such tenant"));
}

/** A suspended tenant submits nothing, and one that is being deleted changes nothing. */
function stateFault(state: TenantState | null, scope: RouteScope | undefined): ProblemError | null {
  const stopped: readonly (RouteScope | undefined)[] = state === "DELETING" ? CHANGES : ["jobs:submit"];
  if (state === "ACTIVE" || state === null || !stopped.includes(scope)) return null;
  const detail =
    state === "SUSPENDED" ? "the tenant is suspended: it can read, and submit nothing" : "the tenant is being deleted";
  return new ProblemError(problem("tenant-suspended", detail));
}

const CHANGES: readonly RouteScope[] = ["jobs:submit", "jobs:write", "runs:control", "tenant:admin"];

/**
 * Ends a request whose key is no longer good. A read that waits gets its refusal. A stream ends, and the outcome of a change
 * stays unknown to its client.
 */
function cutOff(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): void {
  const isRead = request.method === "GET" || request.method === "HEAD";
  // The request that creates the first key ends what needed none so far, and its answer alone has the text of the key.
  if (!isRead && request.principal?.source === "OPEN") return;
  if (!isRead || reply.raw.headersSent || reply.sent) return void reply.raw.destroy();
  const { problem: body, headers } = errorOf(refusal, reply);
  void sendProblem(reply, body, headers);
}

/** Error for a refusal of a credential. */
export function errorOf({ code, detail, isToken }: Refusal, reply: FastifyReply): ProblemError {
  if (code === "TOO_MANY_TRIES") return busy("too-many-requests", detail, RETRY_AFTER_SEC);
  if (code === "UNAVAILABLE") return busy("unavailable", detail, RETRY_AFTER_SEC);
  void reply.header("www-authenticate", isToken === true ? 'Bearer error="invalid_token"' : "Bearer");
  return new ProblemError(problem("unauthorized", detail));
}

/** Fault in the way of a request, whoever sends it. @param isOpen whether the server asks for no key */
function waysFault(request: FastifyRequest, isOpen: boolean): ProblemError | null {
  const { host, origin } = request.headers;
  const unclear = unclearHost(request.raw);
  if (unclear !== null) return unclear;
  if (origin !== undefined && !isSameOrigin(origin, host)) {
    return forbidden("the header Origin names another site: pages of elsewhere may not use this API");
  }
  if (!isOpen || LOOPBACK.test(host ?? "")) return null;
  return forbidden("without an API key, Host must be localhost, 127.0.0.1 or [::1]");
}

/** Refuses a request with two Host headers, because a proxy may have judged the other one. */
function unclearHost({ rawHeaders, httpVersion }: IncomingMessage): ProblemError | null {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts === 1 || (hosts === 0 && httpVersion === "1.0")) return null;
  const detail = hosts === 0 ? "a request of HTTP/1.1 has the header Host" : "send the header Host once";
  return new ProblemError(problem("malformed-http", detail));
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  if (!URL.canParse(origin) || host === undefined) return false;
  const { protocol, host: originHost } = new URL(origin);
  // The comparison uses URL, so that a default port that only one of them names makes no difference.
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === originHost;
}

function forbidden(detail: string): ProblemError {
  return new ProblemError(problem("forbidden", detail));
}
