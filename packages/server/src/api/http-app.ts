import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyBaseLogger } from "fastify";
import Fastify, { type FastifyInstance, type FastifyRequest, type RawServerDefault } from "fastify";
import type { Logger } from "pino";
import type { TSchema } from "typebox";
import type { ApiMetrics } from "../ports/metrics.ts";
import { limitBodies } from "./body-budget.ts";
import { answerBrokenRequest, answerErrors, frameworkProblem, sendProblem } from "./error-answers.ts";
import { invalid, ProblemError, problem } from "./errors.ts";
import { parseJsonBody, SINGLE_BODY_BYTES_MAX } from "./json-body.ts";
import { writeJson } from "./raw-json.ts";
import { type ApiKeys, guard } from "./security.ts";
import { answerUnknownRoutes } from "./unknown-routes.ts";
import { compileCheck } from "./validation.ts";

export type HttpApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

declare module "fastify" {
  interface FastifyRequest {
    /** The body as it came; null where there was none. */
    rawBody: Buffer | null;
  }
}

/** What connections may take up. Whoever opens one must get on with it; answers may take long: waiting is a feature. */
export interface HttpLimits {
  /** At once; more are closed without a word. */
  connections: number;
  /** For all headers of a request to arrive, */
  headersTimeoutMs: number;
  /** and for the whole of it. */
  requestTimeoutMs: number;
  /** How often the two are looked at. */
  checkIntervalMs: number;
}

const HTTP_LIMITS: HttpLimits = {
  connections: 12_000,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  checkIntervalMs: 5_000,
};

/**
 * An HTTP server that knows how this API speaks, and has no routes yet.
 * @param unknown what is said where no route has the path
 */
export function createHttpApp(
  keys: ApiKeys,
  metrics: ApiMetrics,
  log: Logger,
  limits: HttpLimits = HTTP_LIMITS,
  unknown = "no route has this path",
): HttpApp {
  const app: HttpApp = Fastify({
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: 65_000,
    // Without a byte in either direction.
    connectionTimeout: 120_000,
    bodyLimit: SINGLE_BODY_BYTES_MAX,
    http: {
      maxHeaderSize: 16 * 1024,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
    },
    // A name of 255 characters in a path: at most nine bytes each, as %E2%82%AC.
    routerOptions: { maxParamLength: 255 * 9 },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, _request, reply) => {
      void sendProblem(reply, frameworkProblem(error) ?? problem("malformed-http"));
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.server.maxConnections = limits.connections;
  speakJson(app);
  answerErrors(app, log);
  guard(app, keys);
  answerUnknownRoutes(app, unknown);
  limitBodies(app);
  countRequests(app, metrics);
  partOnClose(app);
  return app;
}

function speakJson(app: HttpApp): void {
  app.decorateRequest("rawBody", null);
  takeJson(app, parseJsonBody);
  app.setValidatorCompiler<TSchema>(({ schema, httpPart }) => validator(schema, httpPart === "querystring"));
  app.setSerializerCompiler(() => writeJson);
}

/** Bodies are JSON and nothing else, read by `parse`, and kept as they came. */
export function takeJson(
  app: Pick<FastifyInstance, "removeAllContentTypeParsers" | "addContentTypeParser">,
  parse: (body: Buffer) => unknown,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async (request: FastifyRequest, body: Buffer) => {
    request.rawBody = body;
    return parse(body);
  });
}

/** @param fromText the values come as text, as in a query, and numbers are to be read out of it */
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

/** A parameter that may be repeated comes as a text where it is not. */
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

/** A connection that stays open for more requests would hold up the stop for as long as it is kept alive. */
function partOnClose(app: HttpApp): void {
  let closing = false;
  app.addHook("preClose", (done) => {
    closing = true;
    done();
  });
  app.addHook("onSend", (_request, reply, _payload, done) => {
    if (closing) void reply.header("connection", "close");
    done();
  });
}
