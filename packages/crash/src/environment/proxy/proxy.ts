import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { LinkFault, Target } from "./link-fault.ts";
import { Pair, type Sky } from "./pair.ts";

/**
 * A link between two parts of the system: a TCP address that leads to a server, through the present fault if there is
 * one.
 */
export class Proxy implements Sky {
  #target: Target;
  #fault: LinkFault = { kind: "CLEAR" };
  #hits = 0;
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();

  constructor(target: Target) {
    this.#target = target;
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const pair: Pair = new Pair(client, this.#target, this, () => this.#pairs.delete(pair));
      this.#pairs.add(pair);
    });
  }

  /** @param port port to listen on; default: any free one. @returns address, as host:port */
  async listen(port = 0): Promise<string> {
    this.#listener.listen(port, "127.0.0.1");
    await once(this.#listener, "listening");
    return `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** Number of present connections. */
  get connections(): number {
    return this.#pairs.size;
  }

  get linkFault(): LinkFault {
    return this.#fault;
  }

  /** Sets the fault for all present and later connections. */
  set linkFault(linkFault: LinkFault) {
    this.#fault = linkFault;
    this.#hits = 0;
    for (const pair of [...this.#pairs]) pair.changed(linkFault);
  }

  /** Number of connections that the fault has hit since it was set. */
  get hits(): number {
    return this.#hits;
  }

  hit(): void {
    this.#hits++;
  }

  /** Directs the link to another server, and ends all connections to the previous one. */
  lead(target: Target): void {
    this.#target = target;
    this.#resetAll();
  }

  async close(): Promise<void> {
    const isClosed = this.#listener.listening ? once(this.#listener, "close") : Promise.resolve();
    this.#listener.close();
    this.#resetAll();
    await isClosed;
  }

  #resetAll(): void {
    for (const pair of [...this.#pairs]) pair.reset();
  }
}
