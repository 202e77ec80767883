import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** TCP proxy to a server, which a test can pause and cut. */
export class Wire {
  readonly #listener: Server;
  readonly #pairs = new Set<[Socket, Socket]>();
  /** Number of connections that the proxy accepted. */
  connections = 0;

  constructor(targetPort: number) {
    this.#listener = createServer((near) => this.#join(near, targetPort));
  }

  async listen(port: number): Promise<string> {
    this.#listener.listen(port, "127.0.0.1");
    await once(this.#listener, "listening");
    return `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  reset(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  /** Holds back bytes that are on their way. */
  hold(): void {
    for (const [near, far] of this.#pairs) near.unpipe(far);
  }

  release(): void {
    for (const [near, far] of this.#pairs) near.pipe(far);
  }

  async close(): Promise<void> {
    const isClosed = this.#listener.listening ? once(this.#listener, "close") : Promise.resolve();
    this.#listener.close();
    this.reset();
    await isClosed;
  }

  #join(near: Socket, targetPort: number): void {
    near.on("error", () => undefined);
    // The connection was accepted while the proxy was being closed.
    if (!this.#listener.listening) return void near.destroy();
    this.connections++;
    const far = connect({ port: targetPort, host: "127.0.0.1" });
    const pair: [Socket, Socket] = [near, far];
    this.#pairs.add(pair);
    far.on("error", () => undefined);
    near.pipe(far).pipe(near);
    const part = () => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.on("end", part).on("close", part);
  }
}
