import type { MeshMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { Turns } from "../../ports/turns.ts";
import { AT_ONCE_BYTES, PACKET_MAX_BYTES, PACKET_MAX_PARTS } from "./limits.ts";
import { type Letter, type Understood, unpacking } from "./packet.ts";

export interface PacketEvents {
  /** Id of this node, which never writes to itself. */
  node: Incarnation;
  log: Logger;
  /** Turns of the event loop for the packets of all nodes: small packets do not wait for large ones. */
  turns: { small: Turns; large: Turns };
  receive(from: Incarnation, letters: readonly Letter[]): void;
}

/** The stream on which packets arrive. */
export interface PacketStream {
  /** Stops the stream from delivering until it is resumed. */
  pause(): void;
  resume(): void;
  /** Ends the stream because a packet that was read in later turns is invalid. */
  fail(error: unknown): void;
}

/**
 * Joins the parts of packets and reads each packet: a small one at once, a large one in several turns of the event
 * loop.
 */
export class PacketReader {
  readonly #from: Incarnation;
  readonly #events: PacketEvents;
  readonly #stream: PacketStream;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  /** Packets, in parts, that wait to be read in turns, in order. */
  readonly #waiting: Uint8Array[][] = [];
  #isReading = false;

  constructor(from: Incarnation, events: PacketEvents, stream: PacketStream) {
    this.#from = from;
    this.#events = events;
    this.#stream = stream;
  }

  /** @throws {Error} the bytes are no packet */
  take({ part, more }: MeshMessage): void {
    if (this.#from === this.#events.node) throw new Error("a stream that was opened under this node's own name");
    this.#pieces.push(part);
    this.#bytes += part.length;
    if (this.#bytes > PACKET_MAX_BYTES) throw new Error(`a packet is longer than ${PACKET_MAX_BYTES} bytes`);
    if (this.#pieces.length > PACKET_MAX_PARTS) throw new Error(`a packet has more than ${PACKET_MAX_PARTS} parts`);
    if (more) return;
    const isSmall = this.#pieces.length === 1 && this.#bytes <= AT_ONCE_BYTES;
    this.#waiting.push(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    if (this.#isReading) return;
    if (!isSmall || this.#events.turns.small.isOver) return void this.#readInTurns();
    this.#waiting.length = 0;
    let strange = 0;
    for (const step of unpacking(part)) strange += this.#tell(step);
    this.#warn(strange);
  }

  async #readInTurns(): Promise<void> {
    this.#isReading = true;
    this.#stream.pause();
    try {
      for (let parts = this.#waiting.shift(); parts !== undefined; parts = this.#waiting.shift())
        await this.#read(parts);
      this.#isReading = false;
      this.#stream.resume();
    } catch (error) {
      this.#stream.fail(error);
    }
  }

  async #read(parts: readonly Uint8Array[]): Promise<void> {
    const { small, large } = this.#events.turns;
    const turns = parts.length === 1 && (parts[0] as Uint8Array).length <= AT_ONCE_BYTES ? small : large;
    let strange = 0;
    for (const step of unpacking(await joined(parts, turns))) {
      strange += this.#tell(step);
      if (turns.isOver) await turns.next();
    }
    this.#warn(strange);
  }

  /** @returns number of letters that this node does not understand */
  #tell({ letters, strange }: Understood): number {
    if (letters.length > 0) this.#events.receive(this.#from, letters);
    return strange;
  }

  #warn(strange: number): void {
    if (strange === 0) return;
    this.#events.log.warn({ from: this.#from, strange }, "the mesh drops messages that it does not understand");
  }
}

async function joined(parts: readonly Uint8Array[], turns: Turns): Promise<Uint8Array> {
  const packet = Buffer.allocUnsafeSlow(parts.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of parts) {
    if (turns.isOver) await turns.next();
    packet.set(part, at);
    at += part.length;
  }
  return packet;
}
