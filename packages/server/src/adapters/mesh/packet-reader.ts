import type { MeshMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import { PACKET_MAX_BYTES, PACKET_MAX_PARTS } from "./limits.ts";
import { type Letter, unpacked } from "./packet.ts";

export interface PacketEvents {
  /** This node, which never writes to itself. */
  node: Incarnation;
  log: Logger;
  receive(from: Incarnation, letters: readonly Letter[]): void;
}

/** Puts the parts of packets together. */
export class PacketReader {
  readonly #from: Incarnation;
  readonly #events: PacketEvents;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(from: Incarnation, events: PacketEvents) {
    this.#from = from;
    this.#events = events;
  }

  /** @throws {Error} it is no packet */
  take({ part, more }: MeshMessage): void {
    if (this.#from === this.#events.node) throw new Error("a stream that was opened under this node's own name");
    this.#pieces.push(part);
    this.#bytes += part.length;
    if (this.#bytes > PACKET_MAX_BYTES) throw new Error(`a packet is longer than ${PACKET_MAX_BYTES} bytes`);
    if (this.#pieces.length > PACKET_MAX_PARTS) throw new Error(`a packet has more than ${PACKET_MAX_PARTS} parts`);
    if (more) return;
    const packet = this.#pieces.length === 1 ? part : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    const { letters, strange } = unpacked(packet);
    if (strange > 0)
      this.#events.log.warn({ from: this.#from, strange }, "messages were not understood and are dropped");
    this.#events.receive(this.#from, letters);
  }
}
