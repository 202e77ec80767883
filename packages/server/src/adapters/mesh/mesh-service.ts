import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import {
  MESH_PROTOCOL_VERSION,
  type MeshHello,
  type MeshMessage,
  MeshMessageSchema,
  type MeshReply,
  MeshReplySchema,
} from "@mainspring/proto";
import type { Logger } from "pino";
import { areAdjacent, FIRST_LEVEL } from "../../domain/feature-level.ts";
import type { Incarnation } from "../../domain/ids.ts";
import { PACKET_MAX_BYTES } from "./limits.ts";
import { PATH } from "./mesh-link.ts";
import { type Letter, unpacked } from "./packet.ts";

type Call = ServerDuplexStream<MeshMessage, MeshReply>;

export interface MeshServiceParts {
  node: Incarnation;
  /** What it understands. */
  level: number;
  log: Logger;
  receive(from: Incarnation, letters: readonly Letter[]): void;
}

/** What this node's gRPC server does with the streams of other nodes. */
export class MeshServer {
  readonly path = PATH;
  readonly #parts: MeshServiceParts;
  readonly #calls = new Set<Call>();
  #isClosed = false;

  constructor(parts: MeshServiceParts) {
    this.#parts = parts;
  }

  read = (bytes: Buffer): MeshMessage => fromBinary(MeshMessageSchema, bytes);

  write = (reply: MeshReply): Buffer => {
    const bytes = toBinary(MeshReplySchema, reply);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  };

  /** Takes a stream whose sender has shown the key. */
  serve = (call: Call): void => {
    if (this.#isClosed) return refuse(call, "UNAVAILABLE", "this node is stopping");
    this.#calls.add(call);
    call.on("cancelled", () => this.#calls.delete(call));
    call.on("end", () => {
      this.#calls.delete(call);
      call.end();
    });
    let reader: PacketReader | null = null;
    call.on("data", (message: MeshMessage) => {
      try {
        if (reader === null) reader = this.#welcome(call, message.hello);
        else reader.take(message);
      } catch (error) {
        this.#parts.log.warn({ err: error }, "another node said what is no packet");
        refuse(call, "INVALID_ARGUMENT", "that was no packet");
      }
    });
  };

  close(): void {
    this.#isClosed = true;
    for (const call of this.#calls) refuse(call, "UNAVAILABLE", "this node is stopping");
    this.#calls.clear();
  }

  #welcome(call: Call, hello: MeshHello | undefined): PacketReader | null {
    const { node, level } = this.#parts;
    // Who says none is of a time when there were none.
    const theirs = hello?.featureLevel || FIRST_LEVEL;
    if (hello === undefined || hello.from === "") refuse(call, "INVALID_ARGUMENT", "hello comes first");
    else if (hello.protocolVersion !== MESH_PROTOCOL_VERSION) {
      refuse(call, "FAILED_PRECONDITION", `this node speaks version ${MESH_PROTOCOL_VERSION} of the mesh`);
    } else if (!areAdjacent(level, theirs)) {
      refuse(call, "FAILED_PRECONDITION", `this node has feature level ${level}, and ${theirs} is too far from it`);
    } else if (hello.to !== node) refuse(call, "NOT_FOUND", `this is ${node}, and not ${hello.to}`);
    else {
      call.write(create(MeshReplySchema, { welcome: { protocolVersion: MESH_PROTOCOL_VERSION, featureLevel: level } }));
      return new PacketReader(hello.from, this.#parts);
    }
    return null;
  }
}

/** Puts the parts of packets together. */
class PacketReader {
  readonly #from: Incarnation;
  readonly #parts: MeshServiceParts;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(from: Incarnation, parts: MeshServiceParts) {
    this.#from = from;
    this.#parts = parts;
  }

  /** @throws {Error} it is no packet */
  take({ part, more }: MeshMessage): void {
    this.#pieces.push(part);
    this.#bytes += part.length;
    if (this.#bytes > PACKET_MAX_BYTES) throw new Error(`a packet is longer than ${PACKET_MAX_BYTES} bytes`);
    if (more) return;
    const packet = this.#pieces.length === 1 ? part : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    const { letters, strange } = unpacked(packet);
    if (strange > 0)
      this.#parts.log.warn({ from: this.#from, strange }, "messages were not understood and are dropped");
    this.#parts.receive(this.#from, letters);
  }
}

function refuse(call: Call, code: keyof typeof status, details: string): void {
  call.emit("error", { code: status[code], details });
}
