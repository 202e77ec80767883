import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request, as the server of a test saw it. */
export interface SeenRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** JSON, or a text that is sent as it is. */
  body?: unknown;
}

/** Reaction of the server to a request: an answer, silence, or a broken connection. */
type Reaction = Answer | "SILENCE" | "BREAK";

/** A real HTTP server that does what the test told it to, request by request. */
export class TinyApi {
  readonly seen: SeenRequest[] = [];
  readonly #reactions: Reaction[] = [];
  readonly #events = new EventEmitter();
  #abandoned = 0;
  readonly #server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { method = "", url: path = "", headers } = request;
    this.seen.push({ method, path, headers, body });
    response.once("close", () => {
      if (!response.writableFinished) this.#abandoned++;
      this.#events.emit("change");
    });
    this.#events.emit("change");
    react(response, this.#reactions.shift() ?? { status: 500, body: "the test expected no request" });
  });

  static async start(): Promise<TinyApi> {
    const api = new TinyApi();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Reactions to the next requests. */
  will(...reactions: Reaction[]): void {
    this.#reactions.push(...reactions);
  }

  /** Resolves when so many requests have come. */
  async saw(count: number): Promise<void> {
    while (this.seen.length < count) await once(this.#events, "change");
  }

  /** Resolves when so many requests were given up by their client. */
  async abandoned(count: number): Promise<void> {
    while (this.#abandoned < count) await once(this.#events, "change");
  }

  /** Reactions that are left over because no request came. */
  forget(): void {
    this.#reactions.splice(0);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function react(response: ServerResponse, reaction: Reaction): void {
  if (reaction === "SILENCE") return;
  if (reaction === "BREAK") {
    response.destroy();
    return;
  }
  const { status, headers = {}, body } = reaction;
  response.writeHead(status, headers);
  response.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
}
