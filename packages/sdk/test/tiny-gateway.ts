import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Metadata, Server, ServerCredentials, type ServerDuplexStream, type StatusObject } from "@grpc/grpc-js";
import {
  type AssignSchema,
  type ServerMessage,
  ServerMessageSchema,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";

/** One worker's stream, as the gateway of a test sees it. */
export interface TinyStream {
  readonly metadata: Metadata;
  send(message: MessageInitShape<typeof ServerMessageSchema>): void;
  /** Ends the stream with that status. */
  refuse(status: Partial<StatusObject>): void;
  /** The next message that satisfies the condition; those before it are dropped. Fails where the worker left without it. */
  next(condition: (message: WorkerMessage) => boolean): Promise<WorkerMessage>;
  /** Does not answer the worker's goodbye. */
  ignoreGoodbye(): void;
  /** Takes nothing in any more. */
  stopReading(): void;
  /** When the worker has said goodbye or was cut off. */
  readonly ended: Promise<void>;
}

/** A real grpc-js server that leaves all that a gateway decides to the test. */
export class TinyGateway {
  readonly #server = new Server({ "grpc.max_receive_message_length": 8 * 1024 * 1024 });
  #streams: TinyStream[] = [];
  #wanted: ((stream: TinyStream) => void)[] = [];
  #port = 0;

  static async start(port = 0): Promise<TinyGateway> {
    const gateway = new TinyGateway();
    await gateway.#listen(port);
    return gateway;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  /** The next worker that connects. */
  stream(): Promise<TinyStream> {
    const waiting = this.#streams.shift();
    return waiting ? Promise.resolve(waiting) : new Promise((resolve) => this.#wanted.push(resolve));
  }

  /** Cuts all connections. */
  stop(): void {
    this.#server.forceShutdown();
  }

  async #listen(port: number): Promise<void> {
    this.#server.addService(SERVICE, { connect: (call: Call) => this.#accept(call) });
    this.#port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
  }

  #accept(call: Call): void {
    const stream = streamOf(call);
    const wanted = this.#wanted.shift();
    if (wanted) wanted(stream);
    else this.#streams.push(stream);
  }
}

type Call = ServerDuplexStream<WorkerMessage, ServerMessage>;

function streamOf(call: Call): TinyStream {
  const inbox: WorkerMessage[] = [];
  let wake: () => void = () => undefined;
  call.on("data", (message: WorkerMessage) => {
    inbox.push(message);
    wake();
  });
  call.on("error", () => undefined);
  let isDeaf = false;
  call.on("end", () => isDeaf || call.end());
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "cancelled", "close"]) call.once(event, () => resolve());
  }).then(() => {
    hasEnded = true;
    wake();
  });
  return {
    metadata: call.metadata,
    ended,
    send: (message) => call.write(create(ServerMessageSchema, message)),
    ignoreGoodbye: () => {
      isDeaf = true;
    },
    stopReading: () => void call.pause(),
    refuse: (status) => call.emit("error", { metadata: null, ...status }),
    async next(condition) {
      for (;;) {
        for (let message = inbox.shift(); message !== undefined; message = inbox.shift()) {
          if (condition(message)) return message;
        }
        if (hasEnded) throw new Error("the worker left without the message that is waited for");
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** A no-op Assign but for what is given. */
export function assign(
  executionId: string,
  init: Omit<MessageInitShape<typeof AssignSchema>, "$typeName"> = {},
): MessageInitShape<typeof AssignSchema> {
  return {
    token: { executionId, attempt: 1, shard: 7 },
    handler: "noop",
    timeoutMs: 60_000,
    cancelGraceMs: 1_000,
    maxAttempts: 5,
    ...init,
  };
}

const SERVICE = {
  connect: {
    path: "/mainspring.worker.v1.WorkerService/Connect",
    requestStream: true,
    responseStream: true,
    requestSerialize: (message: WorkerMessage) => Buffer.from(toBinary(WorkerMessageSchema, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(WorkerMessageSchema, bytes),
    responseSerialize: (message: ServerMessage) => Buffer.from(toBinary(ServerMessageSchema, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(ServerMessageSchema, bytes),
  },
};
