import type { Target } from "../proxy/link-fault.ts";
import { Proxy } from "../proxy/proxy.ts";

/** Two addresses for PostgreSQL servers in turn: the primary uses one, its next standby the other. */
export class Seats {
  readonly #seats: readonly [Proxy, Proxy];
  readonly #addresses: readonly string[];
  /** Number of the address that the youngest server uses. */
  #taken = 0;

  private constructor(seats: readonly [Proxy, Proxy], addresses: readonly string[]) {
    this.#seats = seats;
    this.#addresses = addresses;
  }

  /** @param first the primary; the other address leads to `nowhere` until a server takes it */
  static async open(first: Target, nowhere: Target): Promise<Seats> {
    const seats = [new Proxy(first), new Proxy(nowhere)] as const;
    return new Seats(seats, await Promise.all(seats.map((seat) => seat.listen())));
  }

  /** Both addresses as the hosts of a URL. */
  get hosts(): string {
    return this.#addresses.join(",");
  }

  /** Gives a new server the address that the youngest server does not use. */
  take(server: Target): void {
    this.#taken = 1 - this.#taken;
    this.#seats[this.#taken as 0 | 1].lead(server);
  }

  async close(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.close()));
  }
}
