import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { RequestNotSent } from "../../ports/request-log.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { QueryUnserved } from "../../ports/store-errors.ts";
import { busy, type Problem, ProblemError, problem } from "./errors.ts";

const PROBLEM_JSON = "application/problem+json; charset=utf-8";

/** Turns every error of a request into a problem. */
export function answerErrors(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error, request, reply) => {
    const known = problemError(error, log, request);
    return sendProblem(reply, known.problem, known.headers);
  });
}

export function sendProblem(reply: FastifyReply, body: Problem, headers: Readonly<Record<string, string>> = {}) {
  return reply.code(body.status).headers(headers).type(PROBLEM_JSON).send(JSON.stringify(body));
}

/**
 * Problem for an error. Outages and refusals of the framework have their own problems; any other error is a bug, and is
 * logged as one.
 */
export function problemError(error: unknown, log: Logger, request?: Asked): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof QueryUnserved) return new ProblemError(problem("query-unserved", error.message));
  if (error instanceof StoreUnavailable && error.isListTimeout) {
    log.warn({ err: error }, "the api ended a list that took too long");
    return busy("list-timeout", "the list took too long; other requests are served", 2);
  }
  if (error instanceof StoreUnavailable) {
    log.warn({ err: error }, "the api could not reach the store for a request");
    return busy("unavailable", outageDetail(error, request), 1);
  }
  if (error instanceof RequestNotSent) {
    log.warn({ err: error }, "the api could not write a request into the log of requests");
    const detail = error.isUnasked ? `${error.message}; nothing was changed` : outageDetail(error, request);
    return busy("unavailable", detail.replace("the store did", "Kafka did"), 1);
  }
  const framework = frameworkProblem(error as FastifyError);
  if (framework !== null) return new ProblemError(framework);
  log.error({ err: error }, "the api failed to answer a request");
  return new ProblemError(problem("internal"));
}

type Asked = Pick<FastifyRequest, "method" | "headers">;

/** Possible outcome of the request, and advice for the client. */
function outageDetail({ isUnasked }: { isUnasked: boolean }, request?: Asked): string {
  const isRead = request === undefined || request.method === "GET" || request.method === "HEAD";
  if (isRead) return "the store cannot be reached now";
  if (isUnasked) return "the store cannot be reached now; nothing was changed";
  if (request.headers["idempotency-key"] !== undefined) {
    return "the store did not answer; repeat the request with the same Idempotency-Key: it takes effect once";
  }
  return "the store did not answer: the request may or may not have taken effect";
}

/** Problem for a request that the HTTP framework itself refused; null: the error is another one. */
export function frameworkProblem({ code, statusCode }: Pick<FastifyError, "code" | "statusCode">): Problem | null {
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return problem("payload-too-large", "the body is larger than this route takes");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return problem("unsupported-media-type", "send the body as application/json");
    case "FST_ERR_BAD_URL":
      return problem("malformed-http", "the path cannot be decoded: % must be followed by two hexadecimal digits");
    case "FST_ERR_MAX_PARAM_LENGTH":
      return problem("not-found", "a part of the path is too long for any name here");
    default:
      return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? problem("malformed-http") : null;
  }
}

const NOT_EVEN_HTTP: Record<string, Problem> = {
  ERR_HTTP_REQUEST_TIMEOUT: problem("request-timeout"),
  HPE_HEADER_OVERFLOW: problem("headers-too-large"),
};

/** Answers a request that does not reach the framework, and closes the connection. */
export function lastWords(response: ServerResponse, body: Problem, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(body.status, { ...headers, "content-type": PROBLEM_JSON, connection: "close" });
  response.end(JSON.stringify(body));
}

/** Answers bytes that are no valid request, and closes the connection. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  endWith(socket, NOT_EVEN_HTTP[error.code ?? ""] ?? problem("malformed-http"));
}

/** Answers a connection without a request, and closes it. */
export function endWith(socket: Socket, body: Problem): void {
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${body.status} ${body.title}\r\nContent-Type: ${PROBLEM_JSON}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
