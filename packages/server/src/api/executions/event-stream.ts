import type { ServerResponse } from "node:http";
import type { Runtime, Timer } from "../ports/runtime.ts";

/** Proxies and browsers give up on a silent answer after a minute or so; and a client that vanished is noticed. */
const KEEP_ALIVE_MS = 15_000;
/**
 * Greatest number of unread bytes of a reader. The server then closes the stream; the reader can come back and continue
 * after its last event.
 */
const UNREAD_MAX_BYTES = 1024 * 1024;

/** One answer of server-sent events. It is never waited for: what cannot be sent soon ends it. */
export class EventStream {
  readonly #raw: ServerResponse;
  readonly #runtime: Runtime;
  #keepAlive: Timer | null = null;

  constructor(raw: ServerResponse, runtime: Runtime) {
    this.#raw = raw;
    this.#runtime = runtime;
    raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // It has lasted long enough; one that is kept would hold up the server's stop.
      connection: "close",
      // Some proxies gather answers otherwise.
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    raw.once("close", () => this.#keepAlive?.cancel());
    this.#write("retry: 1000\n\n");
    this.#beat();
  }

  /** @param data what JSON can say; it has no line breaks then */
  send(event: string, id: string, data: unknown): void {
    this.#write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  end(): void {
    this.#keepAlive?.cancel();
    this.#raw.end();
  }

  #write(text: string): void {
    if (this.#raw.writableEnded || this.#raw.destroyed) return;
    this.#raw.write(text);
    if (this.#raw.writableLength > UNREAD_MAX_BYTES) this.#raw.destroy();
  }

  #beat(): void {
    this.#keepAlive = this.#runtime.setTimer(KEEP_ALIVE_MS, () => {
      this.#write(":\n\n");
      this.#beat();
    });
  }
}
