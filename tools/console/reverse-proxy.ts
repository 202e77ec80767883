import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

/** A proxy that gives requests to servers in turn, and can serve them under a prefix, as `/ops`. It leaves the header Host as it came. */
export class ReverseProxy {
  /** Servers that get the next requests, as http://host:port. */
  targets: readonly string[];
  readonly #prefix: string;
  readonly #server: Server;
  #turn = 0;
  /** Number of open event streams of each server. */
  readonly #streams = new Map<string, number>();

  private constructor(targets: readonly string[], prefix: string) {
    this.targets = targets;
    this.#prefix = prefix;
    this.#server = createServer((asked, answer) => this.#pass(asked, answer));
  }

  static async start(targets: readonly string[], prefix = ""): Promise<ReverseProxy> {
    const proxy = new ReverseProxy(targets, prefix);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.#prefix}`;
  }

  /** Number of event streams that are open to a server. */
  streamsOf(target: string): number {
    return this.#streams.get(target) ?? 0;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    const { url = "/", method = "GET", headers } = asked;
    if (!url.startsWith(`${this.#prefix}/`)) return void answer.writeHead(404).end("the proxy knows no such path");
    const target = this.targets[this.#turn++ % this.targets.length] ?? "";
    const { hostname, port } = new URL(target);
    const passed = request({ hostname, port, path: url.slice(this.#prefix.length), method, headers }, (got) => {
      if (got.headers["content-type"]?.startsWith("text/event-stream")) this.#count(target, answer);
      answer.writeHead(got.statusCode ?? 502, got.headers);
      // A server that ends within its answer ends the connection to the browser too.
      pipeline(got, answer, () => undefined);
    });
    passed.on("error", () => {
      if (!answer.headersSent) answer.writeHead(502).end("the server does not answer");
    });
    answer.once("close", () => passed.destroy());
    asked.pipe(passed);
  }

  #count(target: string, answer: ServerResponse): void {
    this.#streams.set(target, this.streamsOf(target) + 1);
    answer.once("close", () => this.#streams.set(target, this.streamsOf(target) - 1));
  }
}
