import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Order {
  idempotencyKey: string;
  body: string;
}

/** A server that has nothing to do with Mainspring, for the handler `http` to call. */
export class Shop {
  /** Requests to /orders. */
  readonly orders: Order[] = [];
  /** While it is out of order, /pay answers 503. */
  outOfOrder = true;
  readonly #server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      if (request.url === "/orders")
        this.orders.push({ idempotencyKey: String(request.headers["idempotency-key"]), body });
      response.statusCode = request.url === "/pay" && this.outOfOrder ? 503 : 200;
      response.end("thank you");
    });
  });

  /** @returns where it listens */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
