import type { Dice } from "../dice.ts";
import { putPool } from "../store/reads.ts";
import type { StoreData } from "../store/store-data.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { SimServer } from "./sim-server.ts";

const POOL = "default";
/** How long it is from one change of the limit to the next, about. */
const CHANGE_EVERY_MS = 600_000;

/** In some worlds the pool has limits from the beginning, and somebody changes one of them from time to time. */
export class PoolLimits {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #server: () => SimServer | null;
  #isOver = false;

  constructor(clock: VirtualClock, dice: Dice, server: () => SimServer | null) {
    this.#clock = clock;
    this.#dice = dice;
    this.#server = server;
  }

  start(data: StoreData): void {
    const dice = this.#dice;
    // Forks of neighbouring seeds begin alike.
    dice.roll();
    const maxRunning = dice.chance(0.35) ? dice.between(1, 12) : null;
    const ratePerSec = dice.chance(0.12) ? dice.pick([0.4, 0.4, 5]) : null;
    if (maxRunning === null && ratePerSec === null) return;
    putPool(data, { name: POOL, maxRunning, ratePerSec });
    this.#changeLater();
  }

  /** It stays as it is. */
  stop(): void {
    this.#isOver = true;
  }

  #changeLater(): void {
    this.#clock.plan(CHANGE_EVERY_MS * 2 * this.#dice.roll(), () => {
      if (this.#isOver) return;
      const maxRunning = this.#dice.chance(0.2) ? null : this.#dice.between(1, 12);
      // Whoever gets no answer leaves it at that; what was done is seen in the store.
      this.#server()
        ?.store?.putPool({ name: POOL, maxRunning })
        .catch(() => undefined);
      this.#changeLater();
    });
  }
}
