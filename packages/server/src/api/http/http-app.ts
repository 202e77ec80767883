import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { PARSED_BYTES_MAX } from "@mainspring/contract/limits";
import type { FastifyBaseLogger } from "fastify";
import Fastify, { type FastifyInstance, type RawServerDefault } from "fastify";
import type { Logger } from "pino";
import type { TSchema } from "typebox";
import type { Authenticator } from "../../ports/authenticator.ts";
import type { CertificateSource } from "../../ports/certificates.ts";
import type { ApiMetrics, Readings } from "../../ports/metrics.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { SessionSeal } from "../../security/session-seal.ts";
import { BODY_BUDGET_BYTES, BodyBudget } from "./body/body-budget.ts";
import type { ReceivedBody } from "./body/body-reader.ts";
import { type BodyParts, JobParts } from "./body/json-parts.ts";
import { writeJson } from "./body/raw-json.ts";
import { type BodyScope, takeBodies } from "./body/take-bodies.ts";
import type { Connections } from "./connections.ts";
import { answerErrors, frameworkProblem, sendProblem } from "./error-answers.ts";
import { busy, invalid, ProblemError, problem } from "./errors.ts";
import { boundsOf, createHttpServer, HTTP_LIMITS, type HttpLimits } from "./http-server.ts";
import { RequestTurns } from "./request-turns.ts";
import { guard, limitedTenantOf, type RouteScope } from "./security.ts";
import { answerUnknownRoutes } from "./unknown-routes.ts";
import { compileCheck } from "./validation.ts";

/** Time in seconds after which a request on a connection beyond those of its tenant may be repeated. */
const CONNECTIONS_RETRY_SEC = 5;

export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

declare module "fastify" {
  interface FastifyRequest {
    /** Body as it came; null: none. */
    received: ReceivedBody | null;
    response: ServerResponse | null;
  }
  interface FastifyInstance {
    /** Figures of connections and bodies for metrics. */
    admissions: () => Pick<Readings, "httpConnections" | "httpBodyBytes" | "httpRefused">;
    /** Makes the routes of a scope accept only JSON bodies, with these parts. */
    takeBodies(scope: BodyScope, make: () => BodyParts): void;
  }
}

export interface HttpAppDependencies {
  authenticator: Authenticator;
  /** Seal of sessions of browsers; left out or null: the server takes none. */
  seal?: SessionSeal | null;
  metrics: ApiMetrics;
  log: Logger;
  runtime: Runtime;
  limits?: Partial<HttpLimits> | undefined;
  /** Certificate of the server; left out or null: it speaks plain HTTP. */
  certificates?: CertificateSource | null | undefined;
  /** Detail of the 404 for a path without a route. */
  unknown?: string;
  /** Tenants of the store; left out: there is only `default`. */
  tenants?: { readonly hasSeveral: boolean } | undefined;
  /** Whether clients should disconnect; default: while the server closes. */
  isStopping?: (() => boolean) | undefined;
}

/** Creates an HTTP server with the API's conventions and without routes. */
export function createHttpApp({ authenticator, metrics, log, runtime, ...deps }: HttpAppDependencies): HttpApp {
  const limits = { ...HTTP_LIMITS, ...deps.limits };
  const hasSeveralTenants = () => deps.tenants?.hasSeveral === true;
  const asksForKeys = () => !authenticator.isOpen;
  const connections = boundsOf(limits, { hasSeveralTenants, asksForKeys, monotonicMs: () => runtime.monotonicMs() });
  const budget = new BodyBudget(BODY_BUDGET_BYTES, hasSeveralTenants);
  const { certificates = null } = deps;
  const tls = certificates && { certificates, handshakes: boundsOf(limits) };
  const turns = new RequestTurns(runtime);
  const app: HttpApp = Fastify({
    // Called for each server that listens, because a name such as localhost may stand for several addresses.
    serverFactory: (handle) => createHttpServer({ limits, runtime, connections, turns, tls }, handle),
    bodyLimit: PARSED_BYTES_MAX,
    // Limit for a name of 255 characters in a path, each at most nine bytes, as %E2%82%AC.
    routerOptions: { maxParamLength: 255 * 9 },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // Each server answers these errors itself.
    clientErrorHandler: () => undefined,
    frameworkErrors: (error, _request, reply) => {
      void sendProblem(reply, frameworkProblem(error) ?? problem("malformed-http"));
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  speakJson(app, { budget, runtime, turns });
  answerErrors(app, log);
  guard(app, authenticator, deps.seal ?? null);
  countConnections(app, connections);
  app.decorate("admissions", () => ({
    httpConnections: connections.kinds,
    httpBodyBytes: budget.takenBytes,
    httpRefused: new Map(Object.entries({ ...connections.refused, TENANT_BODIES: budget.refusedOfTenants })),
  }));
  answerUnknownRoutes(app, deps.unknown ?? "no route has this path");
  countRequests(app, metrics);
  partOnClose(app, deps.isStopping ?? (() => false));
  return app;
}

/** Counts the connections of each tenant. Operators are not limited. */
function countConnections(app: HttpApp, connections: Connections): void {
  app.addHook("onRequest", (request, reply, done) => {
    const tenant = limitedTenantOf(request);
    if (request.principal === null || connections.isUsedBy(request.raw.socket, tenant)) return done();
    void reply.header("connection", "close");
    const detail = "the tenant has as many connections open as a tenant may have: close some, or ask again later";
    done(busy("too-many-requests", detail, CONNECTIONS_RETRY_SEC));
  });
}

function speakJson(app: HttpApp, means: Parameters<typeof takeBodies>[2]): void {
  app.decorateRequest("received", null);
  app.decorateRequest("response", null);
  app.addHook("onRequest", (request, reply, done) => {
    request.response = reply.raw;
    done();
  });
  app.decorate("takeBodies", (scope: BodyScope, make: () => BodyParts) => takeBodies(scope, make, means));
  app.takeBodies(app, () => new JobParts());
  app.setValidatorCompiler<TSchema>(({ schema, httpPart }) =>
    validator(schema, httpPart === "querystring" || httpPart === "params"),
  );
  app.setSerializerCompiler(() => writeJson);
}

/**
 * Options of a route whose body may be left out; it then counts as an empty object. A body that says null is refused like any that is no
 * object. @param scope that the route needs
 */
export function withoutBody<S extends { body: TSchema }>(schema: S, scope: RouteScope) {
  const ofBody = validator(schema.body, false);
  const validatorCompiler = (part: { schema: TSchema; httpPart?: string }) =>
    part.httpPart === "body" ? (value: unknown) => ofBody(value ?? {}) : validator(part.schema, false);
  // The validator gets null for both, and the request has undefined for a body that was left out.
  const preValidation = ({ body }: { body: unknown }, _reply: unknown, done: (error?: Error) => void) =>
    done(body === null ? ofBody(null).error : undefined);
  return { schema, validatorCompiler, preValidation, config: { scope, mayLackBody: true } };
}

/** @param fromText whether values come as text, as in a query and a path, so that numbers must be parsed */
export function validator(schema: TSchema, fromText: boolean) {
  const check = compileCheck(schema);
  const numbers = fromText ? fieldsOf(schema, "integer", "number") : [];
  const lists = fromText ? fieldsOf(schema, "array") : [];
  return (value: unknown) => {
    const one = lists.length === 0 ? value : withLists(value as Record<string, unknown>, lists);
    const read = numbers.length === 0 ? one : withNumbers(one as Record<string, unknown>, numbers);
    return check.ok(read) ? { value: read } : { error: new ProblemError(invalid(check.errors(read))) };
  };
}

function fieldsOf(schema: TSchema, ...types: string[]): string[] {
  const properties = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
  return Object.keys(properties).filter((name) => types.includes(properties[name]?.type ?? ""));
}

/** Turns a repeatable parameter that occurs once into a list. */
function withLists(query: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const read = { ...query };
  for (const name of names) if (typeof read[name] === "string") read[name] = [read[name]];
  return read;
}

function withNumbers(query: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const read = { ...query };
  for (const name of names) {
    const text = read[name];
    if (typeof text === "string" && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) read[name] = Number(text);
  }
  return read;
}

function countRequests(app: HttpApp, metrics: ApiMetrics): void {
  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    metrics.request({ method: request.method, route, status: reply.statusCode, durationMs: reply.elapsedTime });
    done();
  });
}

/**
 * Closes connections after their answers once the server stops. A connection that stays open for more requests would
 * delay the stop.
 */
function partOnClose(app: HttpApp, isStopping: () => boolean): void {
  let closing = false;
  app.addHook("preClose", (done) => {
    closing = true;
    done();
  });
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (closing || isStopping()) void reply.header("connection", "close");
    done();
  });
}
