import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** A server that sends PostgreSQL's greeting and nothing else. */
export class ServerDouble {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  greeted = 0;

  private constructor(isStandby: boolean, farewell: Buffer | undefined) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket
        .on("error", () => undefined)
        .once("data", () => {
          this.greeted++;
          const status = `in_hot_standby\0${isStandby ? "on" : "off"}\0`;
          const greeting = [message("R", Buffer.alloc(4)), message("S", status), message("Z", "I")];
          if (farewell === undefined) socket.write(Buffer.concat(greeting));
          else socket.end(Buffer.concat([...greeting, farewell]));
        });
    });
  }

  /** @param farewell bytes that follow the greeting, before the connection ends */
  static async listen(isStandby: boolean, farewell?: Buffer): Promise<ServerDouble> {
    const double = new ServerDouble(isStandby, farewell);
    double.#server.listen(0, "127.0.0.1");
    await once(double.#server, "listening");
    return double;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Message with which PostgreSQL ends a connection. */
export function fatal(code: string, text: string): Buffer {
  return message("E", `SFATAL\0C${code}\0M${text}\0\0`);
}

/** A message of the protocol: its kind, the length of the rest, its content. */
function message(kind: string, content: string | Buffer): Buffer {
  const body = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}
