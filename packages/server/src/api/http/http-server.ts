import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import { type CertificateSource, HANDSHAKE_MAX_MS } from "../../ports/certificates.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { type CallerBounds, Connections } from "./connections.ts";
import { answerBrokenRequest, endWith, lastWords } from "./error-answers.ts";
import { problem } from "./errors.ts";
import { type RequestTurns, stopReading } from "./request-turns.ts";
import { gatheringMessages } from "./small-pieces.ts";
import { refuseTunnel, withoutTunnels } from "./tunnels.ts";

/**
 * Limits and timeouts of connections. A client must send its request in time; answers may take long, because waiting is
 * a feature.
 */
export interface HttpLimits {
  /** Largest number of connections at once, for requests of every kind. */
  connections: number;
  /** Largest number of these connections from one address. */
  peerConnections: number;
  /** Number of connections beyond both limits, for health checks alone. */
  reservedConnections: number;
  /** Largest number of connections on which no request has had a good key yet, where requests need keys. */
  unknownConnections: number;
  /** Largest number of connections of a tenant, where there are several tenants. */
  tenantConnections: number;
  /** Largest number of requests of one connection before the first is answered. */
  pipelined: number;
  /** Time limit for all headers of a request, in milliseconds, */
  headersTimeoutMs: number;
  /** and time limit for the whole request, in milliseconds. */
  requestTimeoutMs: number;
  /** Interval of the checks of both time limits, in milliseconds. */
  checkIntervalMs: number;
  /**
   * Time from the last answer of a connection that is refused further requests until the connection is cut, in
   * milliseconds.
   */
  lingerMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connections: 12_000,
  peerConnections: 8_000,
  reservedConnections: 100,
  unknownConnections: 500,
  tenantConnections: 6_000,
  pipelined: 32,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  checkIntervalMs: 5_000,
  lingerMs: 1_000,
};

/** Longest time without a byte in either direction, in milliseconds. */
const SILENCE_MS = 120_000;
const KEEP_ALIVE_MS = 65_000;
const UNKNOWN = problem(
  "too-many-requests",
  "too many connections wait for their first request with a good key: send it soon after you connect",
);
const HEALTH_PATHS: readonly string[] = ["/healthz", "/readyz", "/metrics"];

export interface Listener {
  limits: HttpLimits;
  runtime: Pick<Runtime, "setTimer">;
  connections: Connections;
  turns: RequestTurns;
  /** Left out or null: the server speaks plain HTTP. */
  tls?: HttpTls | null;
}

export interface HttpTls {
  certificates: CertificateSource;
  /** Count of the connections under TLS, which have not all ended their handshakes. */
  handshakes: Connections;
}

/** @param callers what tells callers apart; left out: nothing does */
export function boundsOf(
  { connections, peerConnections, reservedConnections, unknownConnections, tenantConnections }: HttpLimits,
  callers: Omit<CallerBounds, "unknown" | "perTenant"> | null = null,
): Connections {
  return new Connections(
    { total: connections, perPeer: peerConnections, reserved: reservedConnections },
    callers && { ...callers, unknown: unknownConnections, perTenant: tenantConnections },
  );
}

/**
 * Creates the HTTP server under the framework, which limits what connections hold before their requests are examined.
 */
export function createHttpServer(listener: Listener, handle: RequestListener): Server {
  const { limits, runtime, connections, turns, tls = null } = listener;
  const outstanding = new WeakMap<Socket, number>();
  const server = serverOf(
    tls,
    {
      IncomingMessage: withoutTunnels(gatheringMessages(turns, runtime)),
      maxHeaderSize: 16 * 1024,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // The framework answers such requests with problems.
      requireHostHeader: false,
    },
    (request, response) => {
      const { socket } = request;
      const count = (outstanding.get(socket) ?? 0) + 1;
      outstanding.set(socket, count);
      turns.heard();
      if (count > limits.pipelined + 1) return;
      if (count > limits.pipelined) {
        turns.leave(socket);
        readNoMore(socket);
        return refusePipeline(response);
      }
      response.once("close", () => outstanding.set(socket, (outstanding.get(socket) ?? 1) - 1));
      if (connections.isReserved(socket)) return serveHealth(request, response, handle);
      turns.enter(() => (request.method === "CONNECT" ? refuseTunnel(response) : handle(request, response)));
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = limits.requestTimeoutMs;
  server.setTimeout(SILENCE_MS);
  server.on(tls === null ? "connection" : "secureConnection", (socket: Socket) => {
    connections.admit(socket);
    const beyond = connections.oldestBeyond((one) => (outstanding.get(one) ?? 0) > 0);
    if (beyond !== null) endWith(beyond, UNKNOWN);
    turns.opened(socket);
    lingerAfterEnd(socket, { runtime, turns }, limits.lingerMs);
  });
  server.on("clientError", (error, socket: Socket) => {
    turns.heard();
    turns.enter(() => answerBrokenRequest(error, socket));
  });
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    lastWords(response, problem("expectation-failed"));
  });
  return server;
}

/** Creates a server that speaks HTTP, or HTTPS with the newest certificate. */
function serverOf(tls: HttpTls | null, options: ServerOptions, handle: RequestListener): Server {
  if (tls === null) return createServer(options, handle);
  const { certificates, handshakes } = tls;
  const { cert, key } = certificates.current;
  const own = { cert: cert ?? undefined, key: key ?? undefined };
  const server = createSecureServer({ ...options, ...own, handshakeTimeout: HANDSHAKE_MAX_MS }, handle);
  certificates.onChange((newest) => server.setSecureContext({ cert: newest.cert ?? "", key: newest.key ?? "" }));
  server.on("connection", (socket: Socket) => handshakes.admit(socket));
  return server;
}

/** Refuses further pipelined requests, because the answers to so many at once would fill the memory. */
function refusePipeline(response: ServerResponse): void {
  lastWords(
    response,
    problem("too-many-requests", "too many requests wait on this connection: wait for their answers"),
  );
}

/** Connections that may hold thousands of requests, so that each end of a request takes a turn of the event loop. */
const CROWDED = new WeakSet<Socket>();

/**
 * Stops reading after an overfull piece. The end of each request resumes reading. A piece of 64 KiB, which may hold
 * thousands of requests, is parsed completely in any case, and Node creates two errors for each of them when the
 * connection closes; their stack traces would take most of that time.
 */
function readNoMore(socket: Socket): void {
  CROWDED.add(socket);
  socket.on("resume", () => stopReading(socket)).pause();
  const { stackTraceLimit } = Error;
  socket.prependOnceListener("close", () => (Error.stackTraceLimit = 0));
  socket.once("close", () => (Error.stackTraceLimit = stackTraceLimit));
}

/** Answers a health check, and closes the connection to make room for others. */
function serveHealth(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void {
  const path = (request.url ?? "").replace(/\?.*$/s, "");
  if (!HEALTH_PATHS.includes(path)) {
    const detail = "the server has as many connections as it holds: close some, or ask again later";
    return lastWords(response, problem("too-many-requests", detail), { "retry-after": "5" });
  }
  response.setHeader("connection", "close");
  handle(request, response);
}

/**
 * Half-closes a connection after its last answer, and cuts it a little later. If it were cut at once while the peer
 * still sends, the answer would be lost; if it stayed open, a peer that never closes would hold it.
 */
function lingerAfterEnd(
  socket: Socket,
  { runtime, turns }: Pick<Listener, "runtime" | "turns">,
  lingerMs: number,
): void {
  const cutOffLater = () => {
    const timer = runtime.setTimer(lingerMs, () => {
      if (CROWDED.has(socket)) turns.enterAlone(() => socket.destroy());
      else turns.enter(() => socket.destroy());
    });
    socket.once("close", () => timer.cancel());
  };
  socket.once("finish", cutOffLater);
  // Node would destroy the connection as soon as the answer has left.
  socket.destroySoon = () => void socket.end();
}
