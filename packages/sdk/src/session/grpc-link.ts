import {
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  Metadata,
  type StatusObject,
} from "@grpc/grpc-js";
import { decodeServerMessage, encodeWorkerMessage, type ServerMessage, type WorkerMessage } from "@mainspring/proto";
import type { GrpcTarget } from "./grpc-target.ts";
import { troubleAt } from "./grpc-trouble.ts";
import type { Runtime, Timer } from "./runtime.ts";
import type { LinkConnection, LinkEvents, WorkerLink } from "./worker-link.ts";

const METHOD = "/mainspring.worker.v1.WorkerService/Connect";
/** How long the server may take to answer a goodbye. */
const GOODBYE_MAX_MS = 2_000;

const CHANNEL: ClientOptions = {
  "grpc.max_receive_message_length": 8 * 1024 * 1024,
  "grpc.max_send_message_length": 8 * 1024 * 1024,
  // A message of assignments is hundreds of kilobytes: with a window of 64, as it is otherwise, many trips there and back.
  "grpc-node.flow_control_window": 2 * 1024 * 1024,
  // A gateway that is held up keeps its connections. It is left 2.3 to 3.3 s after it fell silent: by then a node
  // has lost its shards as well, and sooner a passing stall would drive its workers to others. The platform answers these
  // pings by itself, so they cost a server with ten thousand workers little.
  "grpc.keepalive_time_ms": 1_000,
  "grpc.keepalive_timeout_ms": 2_300,
  // The session decides when to try again: no backoff of the channel's own, and none shared with an earlier channel.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
};

/**
 * Connections to gateways over gRPC: each goes to the next one, in an order of the worker's own. So workers spread, and those
 * of a gateway that ends do not all go to the same other one.
 */
export function grpcLink(targets: readonly GrpcTarget[], apiKey: string | null, runtime: Runtime): WorkerLink {
  const order = shuffled(targets, runtime);
  let turn = 0;
  return {
    open(events) {
      const target = order[turn++ % order.length] as GrpcTarget;
      const credentials = target.isTls ? ChannelCredentials.createSsl() : ChannelCredentials.createInsecure();
      const metadata = new Metadata();
      if (apiKey !== null) metadata.set("authorization", `Bearer ${apiKey}`);
      const client = new Client(target.address, credentials, CHANNEL);
      const call = client.makeBidiStreamRequest(METHOD, serialize, decodeServerMessage, metadata);
      return connectionOf(target, client, call, events, runtime);
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
  let patience: Timer | null = null;
  call.on("data", (message: ServerMessage) => events.message(message));
  // The status says the same and always comes; without a listener an error would be thrown.
  call.on("error", () => undefined);
  call.on("status", (status: StatusObject) => {
    isOver = true;
    patience?.cancel();
    client.close();
    events.closed({ code: status.code, message: troubleAt(target, status.details || `gRPC status ${status.code}`) });
  });
  return {
    peer: target.address,
    send(message) {
      if (!isOver) call.write(message);
    },
    close() {
      if (isOver) return;
      call.end();
      patience ??= runtime.setTimer(GOODBYE_MAX_MS, () => call.cancel());
    },
    isCongested: () => call.writableNeedDrain,
  };
}

function serialize(message: WorkerMessage): Buffer {
  const bytes = encodeWorkerMessage(message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
