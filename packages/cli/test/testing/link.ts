import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A proxy address for a port of this machine, until the link is broken. */
export class TestLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connection to the server by that of its client. */
  readonly #targets = new Map<Socket, Socket>();
  /** Connections to the server whose clients have left. */
  readonly #left = new Set<Socket>();
  #isBroken = false;
  #port = 0;

  constructor() {
    this.#server = createServer((socket) => {
      if (this.#isBroken) return void socket.destroy();
      const target = connect(this.#port, "127.0.0.1");
      this.#targets.set(socket, target);
      socket.on("close", () => this.#targets.delete(socket));
      for (const [from, to] of [
        [socket, target],
        [target, socket],
      ] as const) {
        this.#sockets.add(from);
        from.pipe(to);
        from.on("error", () => undefined);
        from.on("close", () => {
          this.#sockets.delete(from);
          if (!this.#left.delete(to)) to.destroy();
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

  /**
   * Breaks the connections of the clients, while the server only hears nothing from them.
   * @returns breaks the connections of the server, too
   */
  leave(): () => void {
    const left = [...this.#targets];
    for (const [socket, target] of left) {
      this.#left.add(target);
      socket.destroy();
    }
    return () => {
      for (const [, target] of left) target.destroy();
    };
  }

  mend(): void {
    this.#isBroken = false;
  }

  close(): void {
    this.break();
    this.#server.close();
  }
}
