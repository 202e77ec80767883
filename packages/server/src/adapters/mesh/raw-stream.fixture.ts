import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, credentials, Metadata, type StatusObject } from "@grpc/grpc-js";
import { MESH_PROTOCOL_VERSION, MeshMessageSchema, type MeshReply, MeshReplySchema } from "@mainspring/proto";
import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import { PATH } from "./mesh-link.ts";

/** A stream to a node, on which a test can send any message. */
export class RawStream {
  readonly #client: Client;
  readonly #call: ClientDuplexStream<Uint8Array, MeshReply>;
  readonly #replies: MeshReply[] = [];
  #wake: () => void = () => undefined;
  readonly status: Promise<StatusObject>;

  /**
   * @param apiKey API key for the stream; absent: none is sent
   * @param ca authorities in PEM of a server with TLS; absent: the server has none
   */
  constructor(address: string, apiKey?: string, ca?: string) {
    const metadata = new Metadata();
    if (apiKey !== undefined) metadata.set("authorization", `Bearer ${apiKey}`);
    this.#client = new Client(
      address,
      ca === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca)),
      { "grpc.use_local_subchannel_pool": 1 },
    );
    this.#call = this.#client.makeBidiStreamRequest<Uint8Array, MeshReply>(
      PATH,
      (bytes) => Buffer.from(bytes),
      (bytes) => fromBinary(MeshReplySchema, bytes),
      metadata,
    );
    this.#call.on("data", (reply: MeshReply) => {
      this.#replies.push(reply);
      this.#wake();
    });
    this.#call.on("error", () => undefined);
    this.status = new Promise((resolve) => this.#call.once("status", resolve));
  }

  say(message: MessageInitShape<typeof MeshMessageSchema>): void {
    this.sayBytes(toBinary(MeshMessageSchema, create(MeshMessageSchema, message)));
  }

  sayBytes(bytes: Uint8Array): void {
    this.#call.write(bytes);
  }

  hello(from: string, to: string, nonce = ""): void {
    const version = { protocolVersion: MESH_PROTOCOL_VERSION, featureLevel: FEATURE_LEVEL };
    this.say({ hello: { ...version, from, to, nonce } });
  }

  async reply(): Promise<MeshReply> {
    for (;;) {
      const reply = this.#replies.shift();
      if (reply !== undefined) return reply;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }
}
