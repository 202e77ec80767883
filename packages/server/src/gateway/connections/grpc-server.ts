import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import {
  type handleBidiStreamingCall,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerOptions,
  status,
} from "@grpc/grpc-js";
import { WorkerService } from "@mainspring/proto";
import type { Logger } from "pino";
import type { Runtime } from "../../ports/runtime.ts";
import type { Gateway } from "../gateway.ts";
import {
  CONNECTION_IDLE_MS,
  CONNECTIONS_MAX,
  GOODBYE_MAX_MS,
  KEEPALIVE_INTERVAL_MS,
  KEEPALIVE_TIMEOUT_MS,
  RECEIVED_MESSAGE_MAX_BYTES,
  STREAMS_MAX,
} from "../limits.ts";
import { GrpcConnection, type WorkerCall } from "./grpc-connection.ts";
import { WorkerIntake } from "./worker-intake.ts";

/** Further services of the server: streams that this file does not know. */
export interface GrpcService {
  path: string;
  /** It judges who is heard; left out: only peers that `isAuthorized` lets in. */
  admitsByItself?: boolean;
  serve(call: ServerDuplexStream<never, never>): void;
  read(bytes: Buffer): unknown;
  write(reply: never): Buffer;
}

export interface GrpcServerOptions {
  /** null: it takes no workers. */
  gateway: Gateway | null;
  /** Beside the workers' protocol; none by default. */
  services?: readonly GrpcService[];
  /** An address of this machine; `127.0.0.1` keeps it private. */
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Judges the metadata `authorization` of each connection. */
  isAuthorized(authorization: string | undefined): boolean;
  /** How long a connection may be without a stream; default 30_000 ms. */
  idleMs?: number;
  runtime: Runtime;
  log: Logger;
}

export interface GrpcServer {
  /** `host:port` in use. */
  readonly address: string;
  readonly port: number;
  /** Takes no more connections and ends those that are left; close the gateway first, so that workers hear why. */
  stop(): Promise<void>;
}

const OPTIONS: ServerOptions = {
  "grpc.max_receive_message_length": RECEIVED_MESSAGE_MAX_BYTES,
  "grpc.max_concurrent_streams": STREAMS_MAX,
  "grpc.keepalive_time_ms": KEEPALIVE_INTERVAL_MS,
  "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
  "grpc.enable_channelz": 0,
};

/**
 * Serves the worker protocol over gRPC. It listens itself and hands sockets to grpc-js, which has no other way to end a
 * stream that its peer does not read.
 * @throws NodeJS.ErrnoException where the address cannot be listened on, as EADDRINUSE
 */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { gateway, host, port, runtime, log, idleMs = CONNECTION_IDLE_MS } = options;
  const sockets = new Map<string, Socket>();
  const grpc = new Server({ ...OPTIONS, "grpc.max_connection_idle_ms": idleMs });
  if (gateway !== null) register(grpc, workerService(gateway, runtime, log, sockets), options);
  for (const service of options.services ?? []) register(grpc, service, options);
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer({ noDelay: true }, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.once("close", () => sockets.delete(peer));
    // grpc-js tells the streams of a broken socket about its end.
    socket.on("error", (error) => log.debug({ err: error, peer }, "a peer's socket broke"));
    injector.injectConnection(socket);
  });
  listener.maxConnections = CONNECTIONS_MAX;
  listener.listen(port, host);
  await once(listener, "listening");
  const bound = listener.address() as AddressInfo;
  return {
    port: bound.port,
    address: `${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`,
    async stop() {
      const isClosed = once(listener, "close");
      listener.close();
      const patience = runtime.setTimer(GOODBYE_MAX_MS, () => {
        for (const socket of sockets.values()) socket.destroy();
      });
      // Sessions end when their streams have.
      await new Promise<void>((resolve) => grpc.tryShutdown(() => resolve()));
      await isClosed;
      patience.cancel();
      grpc.forceShutdown();
    },
  };
}

/** The server refuses callers that do not show the key. */
function register(grpc: Server, service: GrpcService, { isAuthorized }: GrpcServerOptions): void {
  const { path, serve, read, write, admitsByItself = false } = service;
  const admit = (call: ServerDuplexStream<never, never>) => {
    if (admitsByItself || isAuthorized(call.metadata.get("authorization")[0]?.toString())) serve(call);
    else call.emit("error", { code: status.UNAUTHENTICATED, details: "send the metadata authorization: Bearer <key>" });
  };
  grpc.register(path, admit as handleBidiStreamingCall<unknown, never>, write, read, "bidi");
}

function workerService(
  gateway: Gateway,
  runtime: Runtime,
  log: Logger,
  sockets: ReadonlyMap<string, Socket>,
): GrpcService {
  return {
    path: `/${WorkerService.typeName}/${WorkerService.method.connect.name}`,
    serve: (call) => serve(call as unknown as WorkerCall, gateway, runtime, log, sockets),
    read: asIs,
    write: asIs,
  };
}

function serve(
  call: WorkerCall,
  gateway: Gateway,
  runtime: Runtime,
  log: Logger,
  sockets: ReadonlyMap<string, Socket>,
): void {
  const peer = call.getPeer();
  const connection = new GrpcConnection(
    call,
    runtime,
    (detail) => {
      log.warn({ peer, detail }, "the gateway closes the connection of a worker that does not read");
      worker.closed();
      connection.close("RESOURCE_EXHAUSTED", detail);
    },
    () => sockets.get(peer)?.destroy(),
  );
  const worker = gateway.connect(connection);
  const intake = new WorkerIntake(call, runtime, {
    take: (message) => worker.receive(message),
    refuse: (detail) => {
      log.warn({ peer, detail }, "the gateway refuses a worker's message and ends its connection");
      worker.closed();
      connection.close("INVALID_ARGUMENT", detail);
    },
  });
  call.on("data", (bytes: Buffer) => intake.hear(bytes));
  call.on("end", () => {
    intake.end();
    worker.closed();
    connection.finish();
  });
  // Comes at the end of every stream, however it ended.
  call.on("cancelled", () => {
    intake.end();
    worker.closed();
    connection.ended();
  });
}

/** Messages are serialised before they are written, and read after they arrived, so that their sizes are known. */
function asIs(bytes: Buffer): Buffer {
  return bytes;
}
