import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Order {
  idempotencyKey: string;
  body: string;
}

/** A server without any relation to Mainspring, which the handler `http` calls. */
export class Shop {
  /** Requests to /orders. */
  readonly orders: Order[] = [];
  /** Whether /pay answers 503. */
  outOfOrder = true;
  readonly #server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.url === "/orders")
        this.orders.push({ idempotencyKey: String(request.headers["idempotency-key"]), body });
      response.statusCode = request.url === "/pay" && this.outOfOrder ? 503 : 200;
      response.end("thank you");
    });
  });

  /** @returns address of the server */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
