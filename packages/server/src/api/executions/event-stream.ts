import type { ServerResponse } from "node:http";
import type { Runtime, Timer } from "../../ports/runtime.ts";

/**
 * Interval of comments on a silent stream, in milliseconds. Most proxies give up on a silent answer after a minute, and
 * some after 30 seconds. A failed write shows that the client has vanished.
 */
const KEEP_ALIVE_MS = 25_000;
/**
 * Comments wait for the next multiple of this many milliseconds, so that one turn of the event loop serves all streams that
 * are due by then. A turn costs about as much as the write of a comment.
 */
const KEEP_ALIVE_STEP_MS = 50;
/**
 * Largest number of unread bytes of a client. Above it, the server closes the stream, and the client can continue after
 * its last event.
 */
const UNREAD_MAX_BYTES = 1024 * 1024;
/** Longest wait for a client to read what the server has sent, in milliseconds. After that, the server closes the stream. */
const DRAIN_MAX_MS = 15_000;

/**
 * One answer of server-sent events. Nothing has to wait for it: a client that reads too slowly is disconnected. A sender
 * of many events at once waits for `drained`.
 */
export class EventStream {
  readonly #raw: ServerResponse;
  readonly #runtime: Runtime;
  readonly #comment: () => string;
  #keepAlive: Timer | null = null;

  /** @param comment lines that keep a silent stream alive; default: an empty comment */
  constructor(raw: ServerResponse, runtime: Runtime, comment = () => ":\n\n") {
    this.#raw = raw;
    this.#runtime = runtime;
    this.#comment = comment;
    raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // The stream has lasted long enough; a kept connection would delay the server's stop.
      connection: "close",
      // Without this header, some proxies buffer the answer.
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    raw.once("close", () => this.#keepAlive?.cancel());
    this.#write("retry: 1000\n\n");
    this.#beat();
  }

  /** @param data value for JSON, which has no line breaks in its text */
  send(event: string, id: string, data: unknown): void {
    this.#write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** @param lines whole events, each with the empty line at its end */
  sendLines(lines: string): void {
    this.#write(lines);
  }

  /** Whether the client is still there. */
  get isOpen(): boolean {
    return !this.#raw.writableEnded && !this.#raw.destroyed;
  }

  /** Resolves when the client has read nearly all that was sent, or is disconnected, at the latest after 15 seconds. */
  async drained(): Promise<void> {
    if (!this.isOpen || !this.#raw.writableNeedDrain) return;
    const timer = this.#runtime.setTimer(DRAIN_MAX_MS, () => this.#raw.destroy());
    await new Promise<void>((resolve) => {
      const heard = () => {
        this.#raw.off("drain", heard).off("close", heard);
        resolve();
      };
      this.#raw.on("drain", heard).on("close", heard);
    });
    timer.cancel();
  }

  end(): void {
    this.#keepAlive?.cancel();
    this.#raw.end();
  }

  #write(text: string): void {
    if (!this.isOpen) return;
    this.#raw.write(text);
    if (this.#raw.writableLength > UNREAD_MAX_BYTES) this.#raw.destroy();
  }

  #beat(): void {
    const pastStepMs = this.#runtime.monotonicMs() % KEEP_ALIVE_STEP_MS;
    this.#keepAlive = this.#runtime.setTimer(KEEP_ALIVE_MS - pastStepMs, () => {
      this.#write(this.#comment());
      this.#beat();
    });
  }
}
