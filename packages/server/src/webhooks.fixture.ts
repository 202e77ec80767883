import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Secret of tests. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Data of the CloudEvent in the body. */
  data: { executionId: string; state: string; handler: string };
  type: string;
}

/** A receiver of webhooks on a free port of loopback. */
export class Receiver {
  readonly received: Received[] = [];
  /** Answers a request; default: 204. */
  answer: (response: ServerResponse, received: Received) => void = (response) => response.writeHead(204).end();
  url = "";
  readonly #waiting = new Set<() => void>();
  readonly #server = createServer((request, response) => {
    void request
      .setEncoding("utf8")
      .toArray()
      .then((chunks) => {
        const body = chunks.join("");
        const { data, type } = JSON.parse(body) as Pick<Received, "data" | "type">;
        const one = { path: request.url ?? "", headers: request.headers, body, data, type };
        this.received.push(one);
        this.answer(response, one);
        for (const look of this.#waiting) look();
      });
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  /** Resolves when the condition holds for what was received. */
  until(holds: (received: readonly Received[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds(this.received)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}
