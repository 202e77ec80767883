import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { Pair, type Sky } from "./pair.ts";
import type { Target, Weather } from "./weather.ts";

/** A link between two parts of the system: a TCP address that leads to a server, through whatever weather there is. */
export class Proxy implements Sky {
  #target: Target;
  #weather: Weather = { kind: "CLEAR" };
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

  /** @param port default: any that is free. @returns the address, as host:port */
  async listen(port = 0): Promise<string> {
    this.#listener.listen(port, "127.0.0.1");
    await once(this.#listener, "listening");
    return `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** How many connections go through it now. */
  get connections(): number {
    return this.#pairs.size;
  }

  get weather(): Weather {
    return this.#weather;
  }

  /** For all connections there are and all that come. */
  set weather(weather: Weather) {
    this.#weather = weather;
    this.#hits = 0;
    for (const pair of [...this.#pairs]) pair.changed(weather);
  }

  /** How often the weather did something to somebody since it came up. */
  get hits(): number {
    return this.#hits;
  }

  hit(): void {
    this.#hits++;
  }

  /** Leads to another server from now on, and ends all connections to the one before. */
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
