import { Proxy } from "../proxy/proxy.ts";
import type { Target } from "../proxy/weather.ts";

/** Two addresses that PostgreSQL servers stand at in turn: the primary at one, its next standby at the other. */
export class Seats {
  readonly #seats: readonly [Proxy, Proxy];
  readonly #addresses: readonly string[];
  /** Number of the seat that the youngest server has. */
  #taken = 0;

  private constructor(seats: readonly [Proxy, Proxy], addresses: readonly string[]) {
    this.#seats = seats;
    this.#addresses = addresses;
  }

  /** @param first the primary; the other seat leads nowhere else until somebody takes it */
  static async open(first: Target, nowhere: Target): Promise<Seats> {
    const seats = [new Proxy(first), new Proxy(nowhere)] as const;
    return new Seats(seats, await Promise.all(seats.map((seat) => seat.listen())));
  }

  /** Both addresses as the hosts of a URL. */
  get hosts(): string {
    return this.#addresses.join(",");
  }

  /** The seat that the youngest server does not have leads to this one from now on. */
  take(server: Target): void {
    this.#taken = 1 - this.#taken;
    this.#seats[this.#taken as 0 | 1].lead(server);
  }

  async close(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.close()));
  }
}
