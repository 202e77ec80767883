import type { Pool } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import { putPool } from "../store/reads.ts";
import type { StoreData } from "../store/store-data.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

const POOL = "default";
/** How long it is from one change of the limit to the next, about. */
const CHANGE_EVERY_MS = 600_000;

/** In some worlds the pool has limits from the beginning, and somebody changes them from time to time. */
export class PoolLimits {
  readonly #dice: Dice;
  readonly #server: () => SimServer | null;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, dice: Dice, server: () => SimServer | null) {
    this.#dice = dice;
    this.#server = server;
    this.#times = new NowAndThen(clock, dice);
  }

  start(data: StoreData): void {
    // Forks of neighbouring seeds begin alike.
    this.#dice.roll();
    if (!this.#dice.chance(0.4)) return;
    putPool(data, { name: POOL, ...this.#someLimits() });
    this.#times.start(CHANGE_EVERY_MS, () => this.#change(), CHANGE_EVERY_MS * 2);
  }

  /** Removes the rate limit, so that waiting work may run; the limit of running executions stays. */
  stop(data: StoreData): void {
    this.#times.stop();
    if (data.pools.get(POOL)?.ratePerSec != null) putPool(data, { name: POOL, ratePerSec: null });
  }

  #someLimits(): Pick<Pool, "maxRunning" | "ratePerSec"> {
    const dice = this.#dice;
    return {
      maxRunning: dice.chance(0.2) ? null : dice.between(1, 12),
      // A low rate shows best what is one start too many.
      ratePerSec: dice.chance(0.3) ? dice.pick([0.1, 0.1, 5]) : null,
    };
  }

  /** A change without an answer is not repeated; the store shows whether it was done. */
  #change(): void {
    this.#server()
      ?.store?.putPool({ name: POOL, ...this.#someLimits() })
      .catch(() => undefined);
  }
}
