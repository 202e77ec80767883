import { IncomingMessage } from "node:http";
import { atEndOfTurn, type Runtime } from "../ports/runtime.ts";
import type { RequestTurns } from "./request-turns.ts";

/** Pieces of this size are handed on as they are. */
const LARGE_BYTES = 1024;
/** Small pieces are handed on together once they have so many bytes. */
const TOGETHER_BYTES = 16 * 1024;
/** So many small pieces count as much as a request. */
const PIECES_PER_REQUEST = 16;

/**
 * Requests whose body may come in chunks of a byte: 64 KiB from the network have eleven thousand of them, and to hand each on
 * by itself takes Node 50 ms. What comes at once is handed on together, and counts in the turns of the event loop.
 */
export function gatheringMessages(
  turns: Pick<RequestTurns, "heard">,
  runtime: Pick<Runtime, "defer" | "setTimer">,
): typeof IncomingMessage {
  return class extends IncomingMessage {
    readonly #pieces: Buffer[] = [];
    #bytes = 0;
    #count = 0;

    override push(piece: Buffer | null): boolean {
      if (piece === null) {
        this.#handOn();
        return super.push(null);
      }
      if (piece.length >= LARGE_BYTES && this.#pieces.length === 0) return super.push(piece);
      if (++this.#count % PIECES_PER_REQUEST === 0) turns.heard();
      if (this.#pieces.push(piece) === 1) atEndOfTurn(runtime, () => this.#handOn());
      this.#bytes += piece.length;
      return this.#bytes < TOGETHER_BYTES || this.#handOn();
    }

    #handOn(): boolean {
      if (this.#pieces.length === 0) return true;
      const [first] = this.#pieces;
      const together = this.#pieces.length === 1 ? (first as Buffer) : Buffer.concat(this.#pieces, this.#bytes);
      this.#pieces.length = 0;
      this.#bytes = 0;
      return super.push(together);
    }
  };
}
