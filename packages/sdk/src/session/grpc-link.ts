import {
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  Metadata,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import { decodeServerMessage, encodeWorkerMessage, type ServerMessage, type WorkerMessage } from "@mainspring/proto";
import type { Runtime, Timer } from "../runtime.ts";
import type { GrpcTarget } from "./grpc-target.ts";
import { troubleAt } from "./grpc-trouble.ts";
import { renewed, type WorkerCertificate } from "./worker-certificate.ts";
import type { LinkConnection, LinkEvents, WorkerLink } from "./worker-link.ts";

const METHOD = "/mainspring.worker.v1.WorkerService/Connect";
/** Longest wait for the server's answer to a goodbye, in milliseconds. */
const GOODBYE_MAX_MS = 2_000;

const CHANNEL: ClientOptions = {
  "grpc.max_receive_message_length": 8 * 1024 * 1024,
  "grpc.max_send_message_length": 8 * 1024 * 1024,
  // A message of assignments has hundreds of kilobytes. With the default window of 64 KiB, such a message would take
  // many round trips.
  "grpc-node.flow_control_window": 2 * 1024 * 1024,
  // A gateway that stalls briefly keeps its connections. A worker leaves the gateway 2.3 to 3.3 s after the gateway
  // fell silent: by then a node has lost its shards as well, and a shorter limit would drive the workers to other nodes
  // at every passing stall. The platform answers these pings, so they cost little even for a server with ten thousand
  // workers.
  "grpc.keepalive_time_ms": 1_000,
  "grpc.keepalive_timeout_ms": 2_300,
  // The session decides when to connect again, so the channel has no backoff of its own and shares none with an earlier
  // channel.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
};

/** Gateways, and how a worker knows them. */
export interface GrpcAccess {
  targets: readonly GrpcTarget[];
  /** Authorities in PEM; null: those of the system. */
  ca: string | null;
  /** Certificate that the worker shows to gateways that speak TLS; null: none. */
  certificate: WorkerCertificate | null;
}

/**
 * Opens connections to gateways over gRPC. Each connection goes to the next gateway, in a random order of this worker.
 * So workers spread over the gateways, and the workers of a gateway that ends do not all go to the same other gateway.
 */
export function grpcLink({ targets, ca, certificate }: GrpcAccess, keys: LinkKeys, runtime: Runtime): WorkerLink {
  const authorities = ca === null ? null : Buffer.from(ca);
  const order = shuffled(targets, runtime);
  let turn = 0;
  let own = certificate;
  return {
    open(events) {
      const target = order[turn++ % order.length] as GrpcTarget;
      own = own && renewed(own);
      const credentials = target.isTls ? secure(authorities, own) : ChannelCredentials.createInsecure();
      const metadata = new Metadata();
      const { apiKey } = keys;
      if (apiKey !== null) metadata.set("authorization", `Bearer ${apiKey}`);
      const client = new Client(target.address, credentials, CHANNEL);
      const call = client.makeBidiStreamRequest(METHOD, serialize, decodeServerMessage, metadata);
      return connectionOf(
        target,
        client,
        call,
        withRefusals(events, () => keys.refused(apiKey)),
        runtime,
      );
    },
  };
}

function secure(authorities: Buffer | null, own: WorkerCertificate | null): ChannelCredentials {
  if (own === null) return ChannelCredentials.createSsl(authorities);
  const { key, cert } = own.pair;
  return ChannelCredentials.createSsl(authorities, Buffer.from(key), Buffer.from(cert));
}

/** API key of a link's connections. */
export interface LinkKeys {
  /** Key of the next connection; null: none. */
  readonly apiKey: string | null;
  /** Called when a server has refused a key. */
  refused(apiKey: string | null): void;
}

function withRefusals(events: LinkEvents, refused: () => void): LinkEvents {
  return {
    message: (message) => events.message(message),
    closed: (reason) => {
      if (reason.code === status.UNAUTHENTICATED) refused();
      events.closed(reason);
    },
  };
}

function shuffled<T>(items: readonly T[], runtime: Runtime): T[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(runtime.random() * left.length), 1)[0] as T);
}

function connectionOf(
  target: GrpcTarget,
  client: Client,
  call: ClientDuplexStream<WorkerMessage, ServerMessage>,
  events: LinkEvents,
  runtime: Runtime,
): LinkConnection {
  let isOver = false;
  let goodbyeTimer: Timer | null = null;
  call.on("data", (message: ServerMessage) => events.message(message));
  // The status event always follows and says the same. Without this listener, Node would throw the error.
  call.on("error", () => undefined);
  call.on("status", (end: StatusObject) => {
    isOver = true;
    goodbyeTimer?.cancel();
    client.close();
    events.closed({ code: end.code, message: troubleAt(target, end.details || `gRPC status ${end.code}`) });
  });
  return {
    peer: target.address,
    send(message) {
      if (!isOver) call.write(message);
    },
    close() {
      if (isOver) return;
      call.end();
      goodbyeTimer ??= runtime.setTimer(GOODBYE_MAX_MS, () => call.cancel());
    },
    isCongested: () => call.writableNeedDrain,
  };
}

function serialize(message: WorkerMessage): Buffer {
  const bytes = encodeWorkerMessage(message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
