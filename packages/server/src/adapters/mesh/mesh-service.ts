import type { Socket } from "node:net";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import { countFields, type MeshMessage, MeshMessageSchema, type MeshReply, MeshReplySchema } from "@mainspring/proto";
import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Turns } from "../../ports/turns.ts";
import type { Settings } from "./alike-settings.ts";
import type { Door } from "./door.ts";
import { GREETING_MAX_BYTES, GREETING_WITHIN_MS, GREETINGS_MAX, MESSAGE_MAX_FIELDS } from "./limits.ts";
import { PATH } from "./mesh-link.ts";
import { type PeerProof, proofOf } from "./node-identity.ts";
import type { Letter } from "./packet.ts";
import { PacketReader } from "./packet-reader.ts";
import { Reception } from "./reception.ts";

/** A stream of bytes in both directions, so that nothing is parsed before its size is known. */
type Call = ServerDuplexStream<Buffer, Buffer>;

export interface MeshServiceDependencies {
  node: Incarnation;
  /** Feature level of this node. */
  level: number;
  door: Door;
  runtime: Runtime;
  log: Logger;
  /** Turns of the event loop for the packets of all nodes. */
  turns: { small: Turns; large: Turns };
  /** Called when a node has proved its identity. @param alike its settings that must be the same on all nodes */
  welcomed(from: Incarnation, alike: Settings): void;
  receive(from: Incarnation, letters: readonly Letter[]): void;
}

/** Part of this node's gRPC server that serves the streams of other nodes. */
export class MeshServer {
  readonly path = PATH;
  /** Whether the service checks its callers itself: nodes prove more than the API key. */
  readonly admitsByItself = true;
  readonly #deps: MeshServiceDependencies;
  readonly #calls = new Set<Call>();
  /** Streams that have not been welcomed yet, the oldest first. */
  readonly #greetings = new Set<IncomingStream>();
  #isClosed = false;

  constructor(deps: MeshServiceDependencies) {
    this.#deps = deps;
  }

  read = (bytes: Buffer): Buffer => bytes;

  write = (bytes: Buffer): Buffer => bytes;

  serve = (call: Call, socket?: Socket): void => {
    if (this.#isClosed) return refuse(call, "UNAVAILABLE", "this node is stopping");
    this.#calls.add(call);
    const stream = new IncomingStream(call, proofOf(socket), this.#deps, () => this.#greetings.delete(stream));
    this.#greetings.add(stream);
    this.#makeRoom();
    call.on("data", (bytes: Buffer) => stream.hear(bytes));
    call.on("cancelled", () => {
      stream.end();
      this.#calls.delete(call);
    });
    call.on("end", () => {
      stream.end();
      this.#calls.delete(call);
      call.end();
    });
  };

  /**
   * Ends the oldest greeting. A greeting takes moments, so the stream that has waited longest is the least likely to be
   * a node's.
   */
  #makeRoom(): void {
    const [oldest] = this.#greetings;
    if (this.#greetings.size > GREETINGS_MAX)
      oldest?.refuse("RESOURCE_EXHAUSTED", "too many streams wait for a welcome");
  }

  close(): void {
    this.#isClosed = true;
    for (const call of this.#calls) refuse(call, "UNAVAILABLE", "this node is stopping");
    this.#calls.clear();
  }
}

/** One stream of another node: a greeting, then packets. */
class IncomingStream {
  readonly #call: Call;
  readonly #deps: MeshServiceDependencies;
  readonly #reception: Reception;
  /** Ends the time limit of the greeting. */
  readonly #greeted: () => void;
  /** Reader of packets; null: the stream has not been welcomed yet. */
  #reader: PacketReader | null = null;
  #isOver = false;

  /**
   * @param shown proof of the other end by its certificate
   * @param greeted called once, when the stream no longer waits for a welcome
   */
  constructor(call: Call, shown: PeerProof, deps: MeshServiceDependencies, greeted: () => void) {
    const { node, level, door, runtime } = deps;
    this.#call = call;
    this.#deps = deps;
    let isGreeted = false;
    const timer = runtime.setTimer(GREETING_WITHIN_MS, () =>
      this.refuse("DEADLINE_EXCEEDED", "no greeting came in time"),
    );
    this.#greeted = () => {
      timer.cancel();
      if (!isGreeted) greeted();
      isGreeted = true;
    };
    this.#reception = new Reception({
      ...{ node, level, door, shown, authorization: call.metadata.get("authorization")[0]?.toString() },
      reply: (reply) => call.write(bytesOf(reply)),
      refuse: (code, details) => this.refuse(code, details),
      opened: (from, alike) => {
        this.#greeted();
        deps.welcomed(from, alike);
        this.#reader = new PacketReader(from, deps, this);
      },
    });
  }

  hear(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      const isGreeting = this.#reader === null;
      if (isGreeting && bytes.length > GREETING_MAX_BYTES) {
        return this.refuse("INVALID_ARGUMENT", `a greeting has at most ${GREETING_MAX_BYTES} bytes`);
      }
      const message = messageOf(bytes);
      if (this.#reader === null) this.#reception.hear(message);
      else this.#reader.take(message);
    } catch (error) {
      this.fail(error);
    }
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#deps.log.warn({ err: error }, "the mesh ends the stream of another node, which said what is no packet");
    this.refuse("INVALID_ARGUMENT", "that was no packet");
  }

  end(): void {
    this.#isOver = true;
    this.#greeted();
    this.#reception.end();
  }

  refuse(code: keyof typeof status, details: string): void {
    this.end();
    refuse(this.#call, code, details);
  }
}

/** @throws {Error} the bytes are no message */
function messageOf(bytes: Buffer): MeshMessage {
  if (countFields(MeshMessageSchema, bytes, MESSAGE_MAX_FIELDS) > MESSAGE_MAX_FIELDS)
    throw new Error("too many fields");
  return fromBinary(MeshMessageSchema, bytes);
}

function bytesOf(reply: MeshReply): Buffer {
  const bytes = toBinary(MeshReplySchema, reply);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function refuse(call: Call, code: keyof typeof status, details: string): void {
  call.emit("error", { code: status[code], details });
}
