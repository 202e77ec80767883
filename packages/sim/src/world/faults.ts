import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { Fleet } from "./fleet.ts";
import type { SimServer } from "./sim-server.ts";

/** What can be done to the store's connections from here; see `store/`. */
export interface StoreTrouble {
  /** Whether calls from now on meet faults. */
  setUnreliable(isUnreliable: boolean): void;
  /** Nobody reaches it for a while. */
  down(forMs: number): void;
}

export interface FaultTargets {
  fleet: Fleet;
  store: StoreTrouble;
  server(): SimServer | null;
  killServer(): void;
}

const FAULTS = [
  "SERVER_KILLED",
  "SERVER_PAUSED",
  "STORE_DOWN",
  "WORKER_KILLED",
  "WORKER_PAUSED",
  "CONNECTION_BROKEN",
  "CLOCK_SKEWED",
] as const;
type Fault = (typeof FAULTS)[number];

/** Does harm at times of the dice's choosing, until it is told to stop. */
export class Faults {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #targets: FaultTargets;
  #isOver = false;

  constructor(clock: VirtualClock, dice: Dice, history: History, targets: FaultTargets) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#targets = targets;
  }

  /** @param everyMs how long it is from one fault to the next, about */
  start(everyMs: number): void {
    this.#targets.store.setUnreliable(true);
    const next = () => {
      if (this.#isOver) return;
      this.#strike(this.#dice.pick(FAULTS));
      this.#clock.plan(everyMs * 2 * this.#dice.roll(), next);
    };
    this.#clock.plan(everyMs * this.#dice.roll(), next);
  }

  stop(): void {
    this.#isOver = true;
    this.#targets.store.setUnreliable(false);
    const server = this.#targets.server();
    if (server !== null) server.process.skewMs = 0;
  }

  #strike(fault: Fault): void {
    const on = this.#hit(fault);
    if (on !== null) this.#history.add({ kind: "FAULT", fault, on });
  }

  /** @returns who was hit; null: nobody was there */
  #hit(fault: Fault): string | null {
    const { fleet, store, server, killServer } = this.#targets;
    const node = server();
    const worker = this.#dice.pick(fleet.workers);
    const pauseMs = this.#dice.pick([200, 2_000, 8_000, 40_000]);
    if (fault === "STORE_DOWN") store.down(this.#dice.between(100, 20_000));
    else if (fault === "WORKER_KILLED") fleet.kill(worker);
    else if (fault === "WORKER_PAUSED") worker.pause(pauseMs);
    else if (fault === "CONNECTION_BROKEN") fleet.breakConnections((connection) => connection.worker === worker);
    else if (node === null) return null;
    else if (fault === "SERVER_KILLED") killServer();
    else if (fault === "SERVER_PAUSED") node.process.pause(pauseMs);
    else node.process.skewMs = this.#dice.between(-60_000, 60_000);
    return fault.startsWith("WORKER") || fault.startsWith("CONNECTION") ? worker.name : (fault.split("_")[0] ?? "");
  }
}
