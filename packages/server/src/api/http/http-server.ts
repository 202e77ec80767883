import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Runtime } from "../ports/runtime.ts";
import { Connections } from "./connections.ts";
import { answerBrokenRequest, lastWords } from "./error-answers.ts";
import { problem } from "./errors.ts";
import { type RequestTurns, stopReading } from "./request-turns.ts";
import { gatheringMessages } from "./small-pieces.ts";

/**
 * Bounds and timeouts of connections. A client that opens a connection must send its request in time; answers may take
 * long, because waiting is a feature.
 */
export interface HttpLimits {
  /** At once, for requests of every kind. */
  connections: number;
  /** Greatest number of these connections from one address. */
  peerConnections: number;
  /** Beyond both, for health checks alone. */
  reservedConnections: number;
  /** Requests of one connection that are sent before the first of them is answered. */
  pipelined: number;
  /** For all headers of a request to arrive, */
  headersTimeoutMs: number;
  /** and for the whole of it. */
  requestTimeoutMs: number;
  /** How often the two are looked at. */
  checkIntervalMs: number;
  /** From the last answer of a connection, which refuses more, until the connection is cut off. */
  lingerMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connections: 12_000,
  peerConnections: 8_000,
  reservedConnections: 100,
  pipelined: 32,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  checkIntervalMs: 5_000,
  lingerMs: 1_000,
};

/** Without a byte in either direction. */
const SILENCE_MS = 120_000;
const KEEP_ALIVE_MS = 65_000;
const HEALTH_PATHS: readonly string[] = ["/healthz", "/readyz", "/metrics"];

export interface Listener {
  limits: HttpLimits;
  runtime: Pick<Runtime, "setTimer">;
  connections: Connections;
  turns: RequestTurns;
}

export function boundsOf({ connections, peerConnections, reservedConnections }: HttpLimits): Connections {
  return new Connections({ total: connections, perPeer: peerConnections, reserved: reservedConnections });
}

/** The HTTP server under the framework: bounds what connections hold before a request of theirs is looked at. */
export function createHttpServer({ limits, runtime, connections, turns }: Listener, handle: RequestListener): Server {
  const outstanding = new WeakMap<Socket, number>();
  const server = createServer(
    {
      IncomingMessage: gatheringMessages(turns, runtime),
      maxHeaderSize: 16 * 1024,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      // The framework answers these as problems.
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
      turns.enter(() => handle(request, response));
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = limits.requestTimeoutMs;
  server.setTimeout(SILENCE_MS);
  server.on("connection", (socket: Socket) => {
    connections.admit(socket);
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

/** A client that sends so many requests at once fills the memory with answers. */
function refusePipeline(response: ServerResponse): void {
  lastWords(
    response,
    problem("too-many-requests", "too many requests wait on this connection: wait for their answers"),
  );
}

/** Connections that may hold thousands of requests, so that the end of each takes a turn of the event loop. */
const CROWDED = new WeakSet<Socket>();

/**
 * The end of each request reads on. A piece of 64 KiB, which may hold thousands of requests, is parsed to its end all the same, and Node
 * makes two errors for each of them when the connection closes; the stacks of the errors would take most of that time.
 */
function readNoMore(socket: Socket): void {
  CROWDED.add(socket);
  socket.on("resume", () => stopReading(socket)).pause();
  const { stackTraceLimit } = Error;
  socket.prependOnceListener("close", () => (Error.stackTraceLimit = 0));
  socket.once("close", () => (Error.stackTraceLimit = stackTraceLimit));
}

/** Answers a health check, and closes: others need the room. */
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
 * A connection is half closed with its last answer, and cut off a little later, whatever its peer does: the answer would be
 * lost if the connection were cut off at once while the peer still sends, and a peer that never closes would hold it.
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
