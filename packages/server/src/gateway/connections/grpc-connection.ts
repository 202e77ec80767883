import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import { encodeServerMessage, type ServerMessage } from "@mainspring/proto";
import type { Principal } from "../../ports/authenticator.ts";
import { atEndOfTurn, type Runtime, type Timer } from "../../ports/runtime.ts";
import { CONGESTED_BYTES, GOODBYE_MAX_MS, MESSAGE_MAX_TOKENS, UNREAD_MAX_BYTES, UNREAD_MAX_MS } from "../limits.ts";
import type { ConnectionRefusal, WorkerConnection } from "./connection.ts";

/** A stream of bytes in both directions, so that sizes are known and no message is decoded before it is counted. */
export type WorkerCall = ServerDuplexStream<Buffer, Buffer>;

/** A worker's stream, which counts the bytes that the worker has not read yet. */
export class GrpcConnection implements WorkerConnection {
  readonly principal: Principal;
  readonly #call: WorkerCall;
  readonly #runtime: Runtime;
  /** Reports that the worker does not read. */
  readonly #onStuck: (detail: string) => void;
  /** Destroys the socket, because a status waits behind unread messages, for ever if the peer does not read. */
  readonly #cut: () => void;
  #unreadBytes = 0;
  /**
   * Time at which the worker last read a message, or at which its first unread message was sent; on the monotonic
   * clock.
   */
  #readAtMs = 0;
  /**
   * Timer that runs while messages are unread, and after closing until the peer has read the status; null: none runs.
   */
  #readTimer: Timer | null = null;
  #isClosing = false;
  /** Messages with thousands of tokens, each of which is written in a turn of its own, and the messages behind them. */
  readonly #later: ServerMessage[] = [];

  constructor(
    call: WorkerCall,
    principal: Principal,
    runtime: Runtime,
    onStuck: (detail: string) => void,
    cut: () => void,
  ) {
    this.principal = principal;
    this.#call = call;
    this.#runtime = runtime;
    this.#onStuck = onStuck;
    this.#cut = cut;
  }

  isCongested(): boolean {
    return this.#unreadBytes > CONGESTED_BYTES;
  }

  send(message: ServerMessage): void {
    if (this.#isClosing) return;
    const isLong = message.acks.length + message.refused.length >= MESSAGE_MAX_TOKENS;
    if (!isLong && this.#later.length === 0) this.#write(message);
    else if (this.#later.push(message) === 1) atEndOfTurn(this.#runtime, () => this.#writeNext());
  }

  #writeNext(): void {
    const next = this.#later.shift();
    if (next === undefined || this.#isClosing) return;
    this.#write(next);
    if (this.#later.length > 0) atEndOfTurn(this.#runtime, () => this.#writeNext());
  }

  #write(message: ServerMessage): void {
    const bytes = encodeServerMessage(message);
    if (this.#unreadBytes === 0) this.#readAtMs = this.#runtime.monotonicMs();
    this.#unreadBytes += bytes.length;
    this.#readTimer ??= this.#waitForReading(UNREAD_MAX_MS);
    this.#call.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), () => this.#wasRead(bytes.length));
    if (this.#unreadBytes > UNREAD_MAX_BYTES) this.#onStuck(`it has not read ${this.#unreadBytes} bytes`);
  }

  close(code: ConnectionRefusal, detail: string): void {
    if (!this.#beginClosing()) return;
    this.#call.emit("error", { code: status[code], details: detail });
  }

  /** Ends the stream after the worker has ended its side. */
  finish(): void {
    for (const message of this.#later.splice(0)) this.#write(message);
    if (this.#beginClosing()) this.#call.end();
  }

  /** Stops the timer, because the stream is over. */
  ended(): void {
    this.#isClosing = true;
    this.#readTimer?.cancel();
  }

  #beginClosing(): boolean {
    if (this.#isClosing) return false;
    this.#isClosing = true;
    this.#readTimer?.cancel();
    this.#readTimer = this.#runtime.setTimer(GOODBYE_MAX_MS, this.#cut);
    return true;
  }

  /** Counts bytes as read: they were handed to the network, whose flow control allows that only as the worker reads. */
  #wasRead(bytes: number): void {
    this.#unreadBytes -= bytes;
    this.#readAtMs = this.#runtime.monotonicMs();
  }

  /**
   * Starts a timer that checks for unread messages when it rings. That is cheaper than setting a timer for each message
   * and cancelling it when the message was read.
   */
  #waitForReading(delayMs: number): Timer {
    return this.#runtime.setTimer(delayMs, () => {
      this.#readTimer = null;
      if (this.#unreadBytes === 0) return;
      const leftMs = this.#readAtMs + UNREAD_MAX_MS - this.#runtime.monotonicMs();
      if (leftMs > 0) this.#readTimer = this.#waitForReading(leftMs);
      else this.#onStuck(`it read nothing for ${UNREAD_MAX_MS / 1_000} s`);
    });
  }
}
