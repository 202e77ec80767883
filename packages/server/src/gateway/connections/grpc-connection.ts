import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import { encodeServerMessage, type ServerMessage } from "@mainspring/proto";
import { atEndOfTurn, type Runtime, type Timer } from "../../ports/runtime.ts";
import { CONGESTED_BYTES, GOODBYE_MAX_MS, MESSAGE_MAX_TOKENS, UNREAD_MAX_BYTES, UNREAD_MAX_MS } from "../limits.ts";
import type { ConnectionRefusal, WorkerConnection } from "./connection.ts";

/** Both ways bytes, so that sizes are known and nothing is read before it is counted. */
export type WorkerCall = ServerDuplexStream<Buffer, Buffer>;

/** A worker's stream, with an account of what the worker has not read yet. */
export class GrpcConnection implements WorkerConnection {
  readonly #call: WorkerCall;
  readonly #runtime: Runtime;
  /** Tells that the worker does not read. */
  readonly #onStuck: (detail: string) => void;
  /** Ends the connection below the stream: a status waits behind unread messages, for ever where nobody reads. */
  readonly #cut: () => void;
  #unreadBytes = 0;
  /** When the last message was read, or the first that is unread was sent; by the monotonic clock. */
  #readAtMs = 0;
  /** Runs from the first message on that is not read at once; then while the goodbye is not taken. */
  #patience: Timer | null = null;
  #isClosing = false;
  /** Messages of thousands of tokens, each of which is written in a turn of its own, and those behind them. */
  readonly #later: ServerMessage[] = [];

  constructor(call: WorkerCall, runtime: Runtime, onStuck: (detail: string) => void, cut: () => void) {
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
    this.#patience ??= this.#waitForReading(UNREAD_MAX_MS);
    this.#call.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), () => this.#wasRead(bytes.length));
    if (this.#unreadBytes > UNREAD_MAX_BYTES) this.#onStuck(`it has not read ${this.#unreadBytes} bytes`);
  }

  close(code: ConnectionRefusal, detail: string): void {
    if (!this.#beginClosing()) return;
    this.#call.emit("error", { code: status[code], details: detail });
  }

  /** The worker has said goodbye. */
  finish(): void {
    for (const message of this.#later.splice(0)) this.#write(message);
    if (this.#beginClosing()) this.#call.end();
  }

  /** The stream is over. */
  ended(): void {
    this.#isClosing = true;
    this.#patience?.cancel();
  }

  #beginClosing(): boolean {
    if (this.#isClosing) return false;
    this.#isClosing = true;
    this.#patience?.cancel();
    this.#patience = this.#runtime.setTimer(GOODBYE_MAX_MS, this.#cut);
    return true;
  }

  /** It was handed to the network, which flow control allows only as the worker reads. */
  #wasRead(bytes: number): void {
    this.#unreadBytes -= bytes;
    this.#readAtMs = this.#runtime.monotonicMs();
  }

  /** A timer that looks when it rings costs less than one that is set for each message and cancelled when it was read. */
  #waitForReading(delayMs: number): Timer {
    return this.#runtime.setTimer(delayMs, () => {
      this.#patience = null;
      if (this.#unreadBytes === 0) return;
      const leftMs = this.#readAtMs + UNREAD_MAX_MS - this.#runtime.monotonicMs();
      if (leftMs > 0) this.#patience = this.#waitForReading(leftMs);
      else this.#onStuck(`it read nothing for ${UNREAD_MAX_MS / 1_000} s`);
    });
  }
}
