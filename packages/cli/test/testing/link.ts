import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A proxy address for a port of this machine, until the link is broken. */
export class TestLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isBroken = false;
  #port = 0;

  constructor() {
    this.#server = createServer((socket) => {
      if (this.#isBroken) return void socket.destroy();
      const target = connect(this.#port, "127.0.0.1");
      for (const [from, to] of [
        [socket, target],
        [target, socket],
      ] as const) {
        this.#sockets.add(from);
        from.pipe(to);
        from.on("error", () => undefined);
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
    });
  }

  /** Listens. @param port port to which connections lead. @returns address of the link, as host:port */
  async listen(port: number): Promise<string> {
    this.#port = port;
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Directs later connections to this port. */
  leadTo(port: number): void {
    this.#port = port;
  }

  break(): void {
    this.#isBroken = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isBroken = false;
  }

  close(): void {
    this.break();
    this.#server.close();
  }
}
