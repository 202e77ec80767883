import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** An address that leads to a port of this machine, as long as the link is not broken. */
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

  /** @param port where it leads to. @returns its address, as host:port */
  async listen(port: number): Promise<string> {
    this.#port = port;
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that are made from now on lead to this port. */
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

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
