import { EventEmitter, once } from "node:events";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type StatusObject } from "@grpc/grpc-js";
import { type ServerMessage, ServerMessageSchema, WorkerMessageSchema } from "@mainspring/proto";

/** The worker's end of a gRPC stream, over a real socket, on which a test can send any message. */
export class Peer {
  readonly #client: Client;
  readonly #call;
  readonly #received: ServerMessage[] = [];
  readonly #arrivals = new EventEmitter();
  readonly status: Promise<StatusObject>;

  /** @param apiKey API key for the stream; left out: none is sent */
  constructor(address: string, apiKey?: string) {
    const metadata = new Metadata();
    if (apiKey !== undefined) metadata.set("authorization", `Bearer ${apiKey}`);
    this.#client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    this.#call = this.#client.makeBidiStreamRequest<Uint8Array, ServerMessage>(
      "/mainspring.worker.v1.WorkerService/Connect",
      (bytes) => Buffer.from(bytes),
      (bytes) => fromBinary(ServerMessageSchema, bytes),
      metadata,
    );
    this.#call.on("data", (message: ServerMessage) => {
      this.#received.push(message);
      this.#arrivals.emit("message");
    });
    // The status contains the same error.
    this.#call.on("error", () => undefined);
    this.status = new Promise((resolve) => this.#call.once("status", resolve));
  }

  say(message: MessageInitShape<typeof WorkerMessageSchema>): void {
    this.sayBytes(toBinary(WorkerMessageSchema, create(WorkerMessageSchema, message)));
  }

  sayBytes(bytes: Uint8Array): void {
    this.#call.write(bytes);
  }

  async next(): Promise<ServerMessage> {
    while (this.#received.length === 0) await once(this.#arrivals, "message");
    return this.#received.shift() as ServerMessage;
  }

  stopReading(): void {
    this.#call.pause();
  }

  readOn(): void {
    this.#call.resume();
  }

  goodbye(): void {
    this.#call.end();
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }
}
