import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { Fleet } from "./fleet.ts";
import type { SimServer } from "./sim-server.ts";

/** What can be done to the store's connections from here; see `store/`. */
export interface StoreTrouble {
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

  /**
   * @param everyMs how long it is from one fault to the next, about
   * @param isWanted faults have numbers, from 0; what is left out leaves the others as they were
   */
  start(everyMs: number, isWanted: (fault: number) => boolean): void {
    let number = 0;
    const next = () => {
      if (this.#isOver) return;
      const dice = this.#dice.fork(`fault ${number}`);
      if (isWanted(number++)) this.#strike(dice.pick(FAULTS), dice);
      this.#clock.plan(everyMs * 2 * this.#dice.roll(), next);
    };
    this.#clock.plan(everyMs * this.#dice.roll(), next);
  }

  stop(): void {
    this.#isOver = true;
    const server = this.#targets.server();
    if (server !== null) server.process.skewMs = 0;
  }

  #strike(fault: Fault, dice: Dice): void {
    const { fleet, server } = this.#targets;
    const node = server();
    const worker = dice.pick(fleet.workers);
    const on = nameOf(fault, worker, node);
    if (on === null) return;
    const forMs = lasting(fault, dice);
    this.#history.add({ kind: "FAULT", fault, on, forMs });
    this.#hit(fault, worker, node, forMs);
    if (fault === "CLOCK_SKEWED" && node !== null) node.process.skewMs = dice.between(-60_000, 60_000);
  }

  #hit(fault: Fault, worker: SimProcess, node: SimServer | null, forMs: number): void {
    const { fleet, store, killServer } = this.#targets;
    if (fault === "STORE_DOWN") store.down(forMs);
    else if (fault === "WORKER_KILLED") fleet.kill(worker);
    else if (fault === "WORKER_PAUSED") worker.pause(forMs);
    else if (fault === "CONNECTION_BROKEN") fleet.breakConnections((connection) => connection.worker === worker);
    else if (fault === "SERVER_KILLED") killServer();
    else if (fault === "SERVER_PAUSED") node?.process.pause(forMs);
  }
}

function lasting(fault: Fault, dice: Dice): number {
  if (fault === "STORE_DOWN") return dice.between(100, 20_000);
  return fault.endsWith("_PAUSED") ? dice.pick([200, 2_000, 8_000, 40_000]) : 0;
}

/** Who is hit; null: nobody is there. */
function nameOf(fault: Fault, worker: SimProcess, node: SimServer | null): string | null {
  if (fault.startsWith("WORKER") || fault.startsWith("CONNECTION")) return worker.name;
  return fault === "STORE_DOWN" ? "the store" : (node?.process.name ?? null);
}
