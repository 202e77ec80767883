import type { Pool, StoreData } from "@mainspring/server/testing";
import { putPool } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import { NowAndThen } from "./now-and-then.ts";
import type { SimServer } from "./sim-server.ts";

const POOL = "default";
/** Mean interval of changes of the limit, in simulated milliseconds. */
const CHANGE_EVERY_MS = 600_000;

/**
 * Limits of the pool. In some worlds the pool has limits from the beginning, and an operator changes them at random
 * times.
 */
export class PoolLimits {
  readonly #random: SeededRandom;
  readonly #server: () => SimServer | null;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, random: SeededRandom, server: () => SimServer | null) {
    this.#random = random;
    this.#server = server;
    this.#times = new NowAndThen(clock, random);
  }

  start(data: StoreData): void {
    // The first numbers of forks of adjacent seeds are alike.
    this.#random.next();
    if (!this.#random.chance(0.4)) return;
    putPool(data, { name: POOL, ...this.#someLimits() });
    this.#times.start(CHANGE_EVERY_MS, () => this.#change(), CHANGE_EVERY_MS * 2);
  }

  /** Removes the rate limit, so that waiting work may run; the limit of running executions stays. */
  stop(data: StoreData): void {
    this.#times.stop();
    if (data.pools.get(POOL)?.ratePerSec != null) putPool(data, { name: POOL, ratePerSec: null });
  }

  #someLimits(): Pick<Pool, "maxRunning" | "ratePerSec"> {
    const random = this.#random;
    return {
      maxRunning: random.chance(0.2) ? null : random.between(1, 12),
      // A low rate shows one start too many most clearly.
      ratePerSec: random.chance(0.3) ? random.pick([0.1, 0.1, 5]) : null,
    };
  }

  /** Changes the limit. A change without an answer is not repeated; the store shows whether it happened. */
  #change(): void {
    this.#server()
      ?.store?.putPool({ name: POOL, ...this.#someLimits() })
      .catch(() => undefined);
  }
}
