import { IncomingMessage } from "node:http";
import { atEndOfTurn, type Runtime } from "../ports/runtime.ts";
import type { RequestTurns } from "./request-turns.ts";

/** Pieces of this size are handed on as they are. */
const LARGE_BYTES = 1024;
/** Small pieces are handed on together once they have so many bytes. */
const TOGETHER_BYTES = 16 * 1024;
/** The last of them may make it more. */
const ROOM_BYTES = TOGETHER_BYTES + LARGE_BYTES;
/** So many small pieces count as much as a request, and so many bytes of large ones. */
const PIECES_PER_REQUEST = 16;
const BYTES_PER_REQUEST = 16 * 1024;

/**
 * Requests whose body may come in chunks of a byte: 64 KiB from the network have eleven thousand of them, and to hand each on
 * by itself takes Node 50 ms. Small pieces are handed on together, and count in the turns of the event loop. Each is copied
 * as it comes: thousands of buffers that live until the end of the turn would cost the garbage collector more than Node's reading.
 */
export function gatheringMessages(
  turns: Pick<RequestTurns, "heard">,
  runtime: Pick<Runtime, "defer" | "setTimer">,
): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** Small pieces that wait for the end of the turn; null: none. One alone is not copied. */
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
