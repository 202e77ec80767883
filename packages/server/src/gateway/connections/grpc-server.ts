import { once } from "node:events";
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from "node:net";
import { createServer as createSecureServer, type PeerCertificate, TLSSocket, type TlsOptions } from "node:tls";
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
import { type ShownCertificate, workerCertificateFault } from "../../domain/cluster/certificate-names.ts";
import { type Authenticator, isRefusal, type Principal, type Refusal } from "../../ports/authenticator.ts";
import { type CertificateSource, type Credentials, HANDSHAKE_MAX_MS } from "../../ports/certificates.ts";
import { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { Refusals } from "../../ports/refusals.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
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

/** A further service of the server, whose streams this file does not interpret. */
export interface GrpcService {
  path: string;
  /**
   * Whether the service authenticates its callers itself; left out: the server admits only callers that `isAuthorized`
   * accepts.
   */
  admitsByItself?: boolean;
  /** @param socket connection of the call, unless that is closed */
  serve(call: ServerDuplexStream<never, never>, socket: Socket | undefined): void;
  read(bytes: Buffer): unknown;
  write(reply: never): Buffer;
}

/** Gateway of workers, and the checks of callers. */
interface WorkerDoor {
  gateway: Gateway;
  authenticator: Authenticator;
  refusals?: Refusals | undefined;
  /** Name of the cluster in the certificate of this node; null or left out: it has none. */
  cluster?: (() => string | null) | undefined;
}

export interface GrpcServerOptions {
  /** Gateway of workers, and the checks of callers; null: the server accepts no workers. */
  workers: WorkerDoor | null;
  /** Services in addition to the worker protocol; none by default. */
  services?: readonly GrpcService[];
  /** Address of this machine to listen on; `127.0.0.1` is reachable only from this machine. */
  host: string;
  /** Port to listen on; 0 picks a free one. */
  port: number;
  /** Checks the metadata `authorization` of a call to one of `services`. */
  isAuthorized(authorization: string | undefined): boolean;
  /** Certificate of the server, and the authorities of nodes; left out or null: the server speaks plain HTTP/2. */
  certificates?: CertificateSource | null;
  /** Time in ms after which a connection without a stream is closed; default 30_000. */
  idleMs?: number;
  runtime: Runtime;
  log: Logger;
}

export interface GrpcServer {
  /** `host:port` on which the server listens. */
  readonly address: string;
  readonly port: number;
  /**
   * Accepts no more connections and closes the open ones. The gateway must be closed first, so that workers receive the
   * reason.
   */
  stop(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;

const OPTIONS: ServerOptions = {
  "grpc.max_receive_message_length": RECEIVED_MESSAGE_MAX_BYTES,
  "grpc.max_concurrent_streams": STREAMS_MAX,
  "grpc.keepalive_time_ms": KEEPALIVE_INTERVAL_MS,
  "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
  "grpc.enable_channelz": 0,
};

/**
 * Serves the worker protocol over gRPC. The server owns the sockets and passes them to grpc-js, which cannot otherwise
 * end a stream that its peer does not read.
 * @throws NodeJS.ErrnoException if the server cannot listen on the address, such as EADDRINUSE
 */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { workers, host, port, runtime, log, idleMs = CONNECTION_IDLE_MS } = options;
  const sockets = new Map<string, Socket>();
  const grpc = new Server({ ...OPTIONS, "grpc.max_connection_idle_ms": idleMs });
  if (workers !== null) {
    const asksCertificates = () => (options.certificates?.current.ca ?? null) !== null;
    const parts = { ...workers, runtime, log, sockets, asksCertificates, warnings: new CountedWarnings(log, runtime) };
    register(grpc, workerService(parts), options, sockets);
  }
  for (const service of options.services ?? []) register(grpc, service, options, sockets);
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const open = new Set<Socket>();
  const listener = listenerOf(options.certificates ?? null, (socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.once("close", () => sockets.delete(peer));
    // grpc-js reports the end of a broken socket to its streams.
    socket.on("error", (error) => log.debug({ err: error, peer }, "a peer's socket broke"));
    if (socket instanceof TLSSocket) endWithCertificate(socket, runtime);
    injector.injectConnection(socket);
  });
  listener.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
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
      const goodbyeTimer = runtime.setTimer(GOODBYE_MAX_MS, () => {
        for (const socket of open) socket.destroy();
      });
      // The HTTP/2 sessions end when their streams have ended.
      await new Promise<void>((resolve) => grpc.tryShutdown(() => resolve()));
      await isClosed;
      goodbyeTimer.cancel();
      grpc.forceShutdown();
    },
  };
}

/** Creates a server of plain connections, or of TLS with the newest certificate. */
function listenerOf(certificates: CertificateSource | null, connected: (socket: Socket) => void): NetServer {
  if (certificates === null) return createServer({ noDelay: true }, connected);
  const asked = { noDelay: true, ALPNProtocols: ["h2"], handshakeTimeout: HANDSHAKE_MAX_MS };
  const server = createSecureServer({ ...asked, ...contextOf(certificates.current) }, connected);
  certificates.onChange((newest) => server.setSecureContext(contextOf(newest)));
  return server;
}

/**
 * Ends a connection when the certificate of its peer ends, if its peer has proved itself by one. Long times are waited for in parts.
 */
function endWithCertificate(socket: TLSSocket, runtime: Pick<Runtime, "now" | "setTimer">): void {
  // A certificate that is not good proves nothing, so the peer gets the refusals of one without a certificate.
  if (!socket.authorized) return;
  const { valid_to: validTo } = socket.getPeerCertificate() as { valid_to?: string };
  if (validTo === undefined) return;
  const endsAt = Date.parse(validTo);
  let timer: Timer | null = null;
  const wait = () => {
    const leftMs = endsAt - runtime.now();
    if (leftMs <= 0) socket.destroy();
    else timer = runtime.setTimer(Math.min(leftMs, DAY_MS), wait);
  };
  wait();
  socket.once("close", () => timer?.cancel());
}

/** Nodes and some workers prove themselves by certificates, so the server asks for one and accepts its absence. */
function contextOf({ cert, key, ca }: Credentials): TlsOptions {
  const own = { cert: cert ?? "", key: key ?? "" };
  return ca === null ? own : { ...own, ca, requestCert: true, rejectUnauthorized: false };
}

/** Registers a service. The server refuses callers without the key, unless the service authenticates callers itself. */
function register(
  grpc: Server,
  service: GrpcService,
  { isAuthorized }: GrpcServerOptions,
  sockets: ReadonlyMap<string, Socket>,
): void {
  const { path, serve, read, write, admitsByItself = false } = service;
  const admit = (call: ServerDuplexStream<never, never>) => {
    if (admitsByItself || isAuthorized(call.metadata.get("authorization")[0]?.toString()))
      serve(call, sockets.get(call.getPeer()));
    else call.emit("error", { code: status.UNAUTHENTICATED, details: "send the metadata authorization: Bearer <key>" });
  };
  grpc.register(path, admit as handleBidiStreamingCall<unknown, never>, write, read, "bidi");
}

interface WorkerParts extends WorkerDoor, Pick<GrpcServerOptions, "runtime" | "log"> {
  sockets: ReadonlyMap<string, Socket>;
  /** Whether the server asks its callers for certificates. */
  asksCertificates(): boolean;
  warnings: CountedWarnings;
}

function workerService(parts: WorkerParts): GrpcService {
  return {
    path: `/${WorkerService.typeName}/${WorkerService.method.connect.name}`,
    admitsByItself: true,
    serve: (given, socket) => {
      const call = given as unknown as WorkerCall;
      const judged = parts.authenticator.judge(authorizationOf(call), addressOf(call));
      const admit = (one: Principal | Refusal) => {
        const fault = isRefusal(one) ? null : rightsFault(one, socket, parts);
        noteRefusal(parts, addressOf(call), one, fault);
        admitWorker(call, one, fault, () => serve(call, one as Principal, parts));
      };
      if (judged instanceof Promise) void judged.then(admit);
      else admit(judged);
    },
    read: asIs,
    write: asIs,
  };
}

/** Reason why a worker is refused although its key is good. */
interface RightsFault {
  /** For the audit log. */
  reason: "missing-scope" | "worker-certificate";
  detail: string;
}

/** @returns null: the key admits the worker */
function rightsFault(principal: Principal, socket: Socket | undefined, parts: WorkerParts): RightsFault | null {
  const { scopes, keyId, certificateId = null } = principal;
  if (!scopes.has("worker:serve")) return { reason: "missing-scope", detail: "the key lacks the scope worker:serve" };
  if (certificateId === null) return null;
  const shown = certificateShown(socket, parts.asksCertificates());
  const detail = workerCertificateFault(certificateId, parts.cluster?.() ?? null, shown);
  if (detail === null) return null;
  parts.warnings.warn({ keyId, detail }, "the gateway refuses a worker for its certificate");
  return { reason: "worker-certificate", detail };
}

function certificateShown(socket: Socket | undefined, isAsked: boolean): ShownCertificate {
  if (!(socket instanceof TLSSocket)) return { kind: "PLAIN" };
  if (!isAsked) return { kind: "UNASKED" };
  const { subject, subjectaltname: names } = socket.getPeerCertificate() as Partial<PeerCertificate>;
  if (subject === undefined) return { kind: "NONE" };
  // Node has the code of OpenSSL there, although its type is that of an error.
  if (!socket.authorized) return { kind: "UNTRUSTED", code: String(socket.authorizationError) };
  return { kind: "TRUSTED", names };
}

function authorizationOf({ metadata }: Pick<WorkerCall, "metadata">): string | undefined {
  return metadata.get("authorization")[0]?.toString();
}

/** Address of a caller, without its port. */
function addressOf(call: WorkerCall): string {
  return call.getPeer().replace(/:\d+$/, "");
}

/** Has the refusal of a worker counted for the audit log. */
function noteRefusal(
  { refusals }: WorkerParts,
  address: string,
  judged: Principal | Refusal,
  fault: RightsFault | null,
): void {
  if (isRefusal(judged)) {
    const actor = { kind: "UNKNOWN", keyId: null, for: null } as const;
    const reason = judged.code.toLowerCase().replaceAll("_", "-");
    refusals?.note({ action: "connectWorker", reason, address, tenant: null, actor });
  } else if (fault !== null) {
    const { kind, keyId, tenant } = judged;
    const actor = { kind, keyId, for: null };
    refusals?.note({ action: "connectWorker", reason: fault.reason, address, tenant, actor });
  }
}

/** Calls `take`, or ends the call of a worker that is refused. */
function admitWorker(call: WorkerCall, judged: Principal | Refusal, fault: RightsFault | null, take: () => void): void {
  if (call.cancelled) return;
  if (isRefusal(judged)) call.emit("error", { code: CODES[judged.code], details: judged.detail });
  else if (fault === null) take();
  else call.emit("error", { code: status.PERMISSION_DENIED, details: fault.detail });
}

const CODES = {
  UNAUTHENTICATED: status.UNAUTHENTICATED,
  TOO_MANY_TRIES: status.RESOURCE_EXHAUSTED,
  UNAVAILABLE: status.UNAVAILABLE,
} as const satisfies Record<Refusal["code"], number>;

function serve(call: WorkerCall, principal: Principal, parts: WorkerParts): void {
  const { gateway, authenticator, runtime, log, sockets } = parts;
  const peer = call.getPeer();
  const connection = new GrpcConnection(
    call,
    principal,
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
  const release = authenticator.hold({
    principal,
    end: ({ code, detail }) => {
      log.warn(
        { peer, keyId: principal.keyId, detail },
        "the gateway ends the connection of a worker whose key is no longer good",
      );
      intake.end();
      worker.closed();
      connection.close(code === "UNAVAILABLE" ? code : "UNAUTHENTICATED", detail);
    },
  });
  call.on("data", (bytes: Buffer) => intake.hear(bytes));
  call.on("end", () => {
    intake.end();
    worker.closed();
    connection.finish();
  });
  // The event comes at the end of every stream, whatever ended it.
  call.on("cancelled", () => {
    release();
    intake.end();
    worker.closed();
    connection.ended();
  });
}

/**
 * Passes bytes through: messages are encoded before they are written and decoded after they arrived, so that their
 * sizes are known.
 */
function asIs(bytes: Buffer): Buffer {
  return bytes;
}
