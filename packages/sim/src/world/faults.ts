import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { SILENT_GATEWAY_MS } from "./connection.ts";
import type { Fleet } from "./fleet.ts";
import type { Network } from "./network.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { LeaseService } from "./sim-leases.ts";
import type { SimServer } from "./sim-server.ts";

/** Faults of the store's connections that start from here; see `store/`. */
export interface StoreTrouble {
  /** Nobody reaches it for a while. */
  down(forMs: number): void;
}

export interface FaultTargets {
  fleet: Fleet;
  store: StoreTrouble;
  network: Network;
  leases: LeaseService;
  /** Servers that live. */
  servers(): SimServer[];
  /** Machines, with or without a server at the moment. */
  machines: readonly string[];
  kill(server: SimServer): void;
}

const FAULTS = [
  "SERVER_KILLED",
  "SERVER_PAUSED",
  "STORE_DOWN",
  "WORKER_KILLED",
  "WORKER_PAUSED",
  "CONNECTION_BROKEN",
  "CLOCK_SKEWED",
  "NETWORK_CUT",
  "LEASES_DOWN",
  "LEASES_WRONG",
] as const;
type Fault = (typeof FAULTS)[number];

/** Does harm at times of the dice's choosing, until it is told to stop. */
export class Faults {
  readonly #dice: Dice;
  readonly #history: History;
  readonly #targets: FaultTargets;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, dice: Dice, history: History, targets: FaultTargets) {
    this.#dice = dice;
    this.#history = history;
    this.#targets = targets;
    this.#times = new NowAndThen(clock, dice);
  }

  /**
   * @param everyMs how long it is from one fault to the next, about
   * @param isWanted faults have numbers, from 0; what is left out leaves the others as they were
   */
  start(everyMs: number, isWanted: (fault: number) => boolean): void {
    let number = 0;
    this.#times.start(everyMs, () => {
      const dice = this.#dice.fork(`fault ${number}`);
      if (isWanted(number++)) this.#strike(dice.pick(FAULTS), dice);
    });
  }

  stop(): void {
    this.#times.stop();
    for (const server of this.#targets.servers()) server.process.skewMs = 0;
    this.#targets.network.heal();
    this.#targets.leases.heal();
  }

  #strike(fault: Fault, dice: Dice): void {
    const { fleet, servers } = this.#targets;
    const node = dice.pick([...servers(), null]);
    const worker = dice.pick(fleet.workers);
    const on = nameOf(fault, worker, node);
    if (on === null) return;
    const forMs = lasting(fault, dice);
    this.#history.add({ kind: "FAULT", fault, on, forMs });
    if (fault === "NETWORK_CUT") this.#cut(dice, forMs);
    else this.#hit(fault, worker, node, forMs);
    if (fault === "CLOCK_SKEWED" && node !== null) node.process.skewMs = dice.between(-60_000, 60_000);
  }

  #hit(fault: Fault, worker: SimProcess, node: SimServer | null, forMs: number): void {
    const { fleet, store, leases, kill } = this.#targets;
    if (fault === "STORE_DOWN") store.down(forMs);
    else if (fault === "WORKER_KILLED") fleet.kill(worker);
    else if (fault === "WORKER_PAUSED") worker.pause(forMs);
    else if (fault === "CONNECTION_BROKEN") fleet.breakConnections((connection) => connection.worker === worker);
    else if (fault === "LEASES_DOWN") leases.down(forMs);
    else if (node === null) return;
    else if (fault === "SERVER_KILLED") kill(node);
    else if (fault === "SERVER_PAUSED") this.#pause(node, forMs);
    else if (fault === "LEASES_WRONG") leases.mislead(node.machine, forMs);
  }

  #pause(node: SimServer, forMs: number): void {
    node.process.pause(forMs);
    if (forMs > SILENT_GATEWAY_MS) this.#targets.fleet.abandon(({ server }) => server === node.process);
  }

  /** One way or both; between two machines, or between one and all others. */
  #cut(dice: Dice, forMs: number): void {
    const { network, machines } = this.#targets;
    const [one, other, isBoth] = [dice.pick(machines), dice.pick(machines), dice.chance(0.5)];
    for (const to of dice.chance(0.5) ? machines : [other]) {
      if (to === one) continue;
      network.cut(one, to, forMs);
      if (isBoth) network.cut(to, one, forMs);
    }
  }
}

function lasting(fault: Fault, dice: Dice): number {
  if (fault === "STORE_DOWN") return dice.between(100, 20_000);
  if (["NETWORK_CUT", "LEASES_DOWN", "LEASES_WRONG"].includes(fault)) return dice.pick([300, 2_000, 10_000, 40_000]);
  return fault.endsWith("_PAUSED") ? dice.pick([200, 2_000, 8_000, 40_000]) : 0;
}

/** Name of the target; null: there is none. */
function nameOf(fault: Fault, worker: SimProcess, node: SimServer | null): string | null {
  if (fault.startsWith("WORKER") || fault.startsWith("CONNECTION")) return worker.name;
  if (fault === "STORE_DOWN") return "the store";
  if (fault === "NETWORK_CUT") return "the network";
  if (fault === "LEASES_DOWN") return "the leases";
  return node?.process.name ?? null;
}
