import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { Tables } from "../store/store-data.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { NowAndThen } from "./now-and-then.ts";

/**
 * - RESTORE: all servers are stopped, the store is put back by minutes, the servers are started again
 * - FAILOVER: the store loses its last commits, by milliseconds, while the servers live on
 */
export type WayBack = "RESTORE" | "FAILOVER";

export interface StoreWithPast {
  copy(): Tables;
  goBack(copy: Tables): void;
  /** All connections to the store break. */
  breakConnections(): void;
  /** Nobody reaches the store for a while. */
  down(forMs: number): void;
  /** Kills every server; each is started again by itself. */
  stopServers(): void;
}

/** From one time to the next, about. */
const EVERY_MS = 300_000;
/** How old a backup is. */
const BACKUP_MS = [60_000, 600_000] as const;
/** How far a standby is behind. */
const LAGS_MS = [1, 50, 500, 5_000, 30_000] as const;
/** How long a failover takes. */
const FAILOVER_MS = [50, 10_000] as const;

/** Puts the store back to an earlier state at times of the dice's choosing, in the ways that are wanted. */
export class GoingBack {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #store: StoreWithPast;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, dice: Dice, history: History, store: StoreWithPast) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#store = store;
    this.#times = new NowAndThen(clock, dice);
  }

  start(ways: readonly WayBack[]): void {
    let isUnderWay = false;
    this.#times.start(EVERY_MS, () => {
      const way = this.#dice.pick(ways);
      const behindMs = way === "RESTORE" ? this.#dice.between(...BACKUP_MS) : this.#dice.pick(LAGS_MS);
      const downMs = this.#dice.between(...FAILOVER_MS);
      // One backup at a time: a store never goes back to before it went back.
      if (isUnderWay) return;
      isUnderWay = true;
      const copy = this.#store.copy();
      this.#clock.plan(behindMs, () => {
        isUnderWay = false;
        if (!this.#times.isOver) this.#strike(way, copy, behindMs, downMs);
      });
    });
  }

  stop(): void {
    this.#times.stop();
  }

  #strike(way: WayBack, copy: Tables, behindMs: number, downMs: number): void {
    const fault = way === "RESTORE" ? "STORE_RESTORED" : "STORE_FAILED_OVER";
    this.#history.add({ kind: "FAULT", fault, on: `the store, by ${behindMs} ms`, forMs: downMs });
    if (way === "RESTORE") this.#store.stopServers();
    else this.#store.down(downMs);
    this.#store.breakConnections();
    this.#store.goBack(copy);
  }
}
