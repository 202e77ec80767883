import { IncomingMessage } from "node:http";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";
import type { RequestTurns } from "./request-turns.ts";

/** Size in bytes from which a piece is passed on unchanged. */
const LARGE_BYTES = 1024;
/** Number of bytes after which small pieces are passed on together. */
const TOGETHER_BYTES = 16 * 1024;
/** Size of the buffer for small pieces; the last piece may exceed the limit. */
const ROOM_BYTES = TOGETHER_BYTES + LARGE_BYTES;
/** Number of small pieces, and of bytes of large pieces, that count as much as one request. */
const PIECES_PER_REQUEST = 16;
const BYTES_PER_REQUEST = 16 * 1024;

/**
 * Creates requests that gather small pieces of their bodies. A body may come in chunks of one byte: 64 KiB from the
 * network contain eleven thousand of them, and passing each on alone takes Node 50 ms. Small pieces are passed on
 * together, and count in the turns of the event loop. Each is copied as it comes: thousands of buffers that live until
 * the end of the turn would cost the garbage collector more than Node's reading.
 */
export function gatheringMessages(
  turns: Pick<RequestTurns, "heard">,
  runtime: Pick<Runtime, "defer" | "setTimer">,
): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** Small pieces that wait for the end of the turn; null: none. A single piece is not copied. */
    #together: Buffer | null = null;
    #bytes = 0;
    #count = 0;

    override push(piece: Buffer | null): boolean {
      if (piece === null || piece.length >= LARGE_BYTES) {
        this.#handOn();
        for (let bytes = piece?.length ?? 0; bytes > 0; bytes -= BYTES_PER_REQUEST) turns.heard();
        return super.push(piece);
      }
      if (++this.#count % PIECES_PER_REQUEST === 0) turns.heard();
      this.#gather(piece);
      return this.#bytes < TOGETHER_BYTES || this.#handOn();
    }

    #gather(piece: Buffer): void {
      if (this.#together === null) {
        this.#together = piece;
        this.#bytes = piece.length;
        return atEndOfTurn(runtime, () => void this.#handOn());
      }
      if (this.#together.length < ROOM_BYTES) this.#together = roomy(this.#together);
      this.#together.set(piece, this.#bytes);
      this.#bytes += piece.length;
    }

    #handOn(): boolean {
      const together = this.#together;
      this.#together = null;
      return together === null || super.push(together.subarray(0, this.#bytes));
    }
  };
}

function roomy(first: Buffer): Buffer {
  const room = Buffer.allocUnsafe(ROOM_BYTES);
  room.set(first);
  return room;
}
